"""A machine that is drawn by hand, from an empty page."""
