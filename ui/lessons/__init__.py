"""Lessons, one module each."""
