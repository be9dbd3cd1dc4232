"""Flows that cross one entrance and one exit each, kept as a table of who crosses whom."""
