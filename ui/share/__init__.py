"""A run passed on: as a file, a film, a frame in another page, a scene of a talk."""
