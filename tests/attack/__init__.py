"""Hostile input: texts made to be slow, large or endless."""
