"""The server around the page: who may talk to it, what browsers may load from where, and how it is doing."""
