"""What there is to look at, in one list, and the answers to the questions in it."""
