"""What libraries choose: which algorithm Open MPI, MPICH or NCCL would run for a collective of this size."""
