"""Measurements others have published, read from what their tools print, beside what the simulator says of the same."""
