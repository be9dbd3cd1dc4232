"""Charts of the lab and of training steps, on the page and in files."""
