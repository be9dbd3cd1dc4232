from mpi4py import MPI

comm = MPI.COMM_WORLD
total = comm.allreduce(comm.rank)
if comm.rank == 0:
    print("total", total)
