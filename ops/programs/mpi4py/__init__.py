"""MPI as mpi4py shows it to a Python program."""
