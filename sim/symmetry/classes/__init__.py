"""Ranks of one kind, simulated once: those that do the same at the same moments, found by what is beside them."""
