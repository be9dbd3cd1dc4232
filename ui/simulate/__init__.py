"""The page on which somebody simulates a run."""
