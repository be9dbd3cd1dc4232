"""A plan as a picture of its run, and the examples."""
