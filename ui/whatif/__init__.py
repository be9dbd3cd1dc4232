"""The list of what-ifs of a visit: what was tried, and what one does with it."""
