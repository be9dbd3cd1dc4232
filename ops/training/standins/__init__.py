"""Worlds in which some ranks stand for others that do and see the same."""
