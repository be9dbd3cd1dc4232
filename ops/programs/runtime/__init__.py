"""What programs run on: tasks that take turns, messages, collectives that ranks enter, and the time they take."""
