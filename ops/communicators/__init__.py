"""Ranks that call collectives, in programs and in training: who meets whom, what a library chooses, how that runs."""
