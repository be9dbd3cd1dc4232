"""What numba makes of kernels, on disk."""
