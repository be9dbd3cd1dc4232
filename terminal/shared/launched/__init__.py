"""What the commands that launch programs share."""
