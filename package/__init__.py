"""Makes what is shipped: the package `ringside`, and the kernel compiled ahead of time."""
