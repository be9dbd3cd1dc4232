"""What the Learn page is made of: the runs of a step, the picture of a training step, what somebody predicted."""
