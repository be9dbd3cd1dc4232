"""A set-up's own numbers, fitted to its tables."""
