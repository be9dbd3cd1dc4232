"""The page on which somebody times a training step."""
