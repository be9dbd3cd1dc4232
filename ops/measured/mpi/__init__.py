"""The clock of MPI libraries: what their named algorithms do, and what that costs on a system by three numbers."""

from ops.measured.mpi.pace import Judged, MpiPace, Priced, fit_mpi, fit_table, is_mpi, judged, priced, system_of

__all__ = ["Judged", "MpiPace", "Priced", "fit_mpi", "fit_table", "is_mpi", "judged", "priced", "system_of"]
