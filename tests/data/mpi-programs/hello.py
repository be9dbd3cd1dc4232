"""Everyone says hello; rank 0 prints in rank order."""

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
greetings = comm.gather(f"hello from rank {rank} of {size}", root=0)
if rank == 0:
    print("\n".join(greetings))
