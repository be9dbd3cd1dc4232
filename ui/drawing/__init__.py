"""A run as a picture: where devices and blocks are at an instant, drawn for files."""
