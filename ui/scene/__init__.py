"""A request as a picture of its run, and the requests worth a look."""
