"""A run as a file of any kind."""
