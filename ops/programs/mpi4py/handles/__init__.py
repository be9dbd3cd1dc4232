"""Handles: groups, types, hints, what is attached to them, and the numbers and errors that all of them share."""
