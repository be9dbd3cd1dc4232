"""Bytes in motion: links shared max-min fairly, advanced from one completion to the next by compiled kernels."""
