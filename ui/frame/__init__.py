"""What is around every page: the way to the others, and what is dropped on any of them."""
