"""`mpi4py` as the ranks import it: a package with the module `MPI`, made anew for every run."""

import pickle
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from ops.programs.mpi4py import collectives  # noqa: F401  gives communicators their collectives
from ops.programs.mpi4py.buffers import IN_PLACE
from ops.programs.mpi4py.cartesian import Cartcomm, Intracomm, compute_dims
from ops.programs.mpi4py.communicator import CONGRUENT, IDENT, SIMILAR, UNEQUAL, Comm, RankGroup
from ops.programs.mpi4py.datatypes import DATATYPES, Datatype
from ops.programs.mpi4py.errors import CLASSES, MPIError
from ops.programs.mpi4py.point_to_point import NO_PROC, TAG_UB, Matched
from ops.programs.mpi4py.reductions import OPS, Op
from ops.programs.mpi4py.requests import PROC_NULL, UNDEFINED, MpiRequest, Prequest, Status
from ops.programs.runtime.messages import ANY_SOURCE, ANY_TAG
from ops.programs.runtime.rendezvous import ProcessGroup
from ops.programs.runtime.transport import Transport

VERSION = (4, 1)


def serve(world: Transport) -> dict[str, ModuleType]:
    """The modules that stand in for mpi4py during a run."""
    package, mpi = ModuleType("mpi4py"), ModuleType("mpi4py.MPI")
    package.__dict__.update(
        __path__=[], __version__="4.1.0", MPI=mpi, rc=_Settings(), get_include=lambda: "", get_config=dict
    )
    mpi.__dict__.update(_names(world))
    mpi.__dict__["__getattr__"] = _not_there
    return {"mpi4py": package, "mpi4py.MPI": mpi}


class _Settings:
    """`mpi4py.rc`: takes every setting and needs none."""

    def __init__(self) -> None:
        self.initialize = self.finalize = self.threads = True
        self.thread_level = "multiple"

    def __call__(self, **settings: Any) -> None:
        self.__dict__.update(settings)


def _not_there(name: str) -> NoReturn:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"MPI.{name} is not simulated: docs/programs.md lists what is")


def _names(world: Transport) -> dict[str, Any]:
    everyone = ProcessGroup(world, range(world.size), "MPI_COMM_WORLD")
    selves = [ProcessGroup(world, (rank,), "MPI_COMM_SELF") for rank in range(world.size)]
    host = [world.topology.devices[world.device(rank)].host for rank in range(world.size)]
    return {
        **DATATYPES, **OPS, **CLASSES,
        "Comm": Comm, "Intracomm": Intracomm, "Cartcomm": Cartcomm, "Group": RankGroup, "Request": MpiRequest,
        "Prequest": Prequest, "Status": Status, "Datatype": Datatype, "Op": Op, "Exception": MPIError,
        "COMM_WORLD": Intracomm(everyone), "COMM_SELF": _Self(selves), "COMM_NULL": Comm(),
        "REQUEST_NULL": MpiRequest(), "GROUP_EMPTY": RankGroup(world, ()),
        "DATATYPE_NULL": Datatype("DATATYPE_NULL", np.dtype("V0")), "GROUP_NULL": None, "OP_NULL": None,
        "IN_PLACE": IN_PLACE, "BOTTOM": None, "ANY_SOURCE": ANY_SOURCE,
        "ANY_TAG": ANY_TAG, "PROC_NULL": PROC_NULL, "UNDEFINED": UNDEFINED, "TAG_UB": TAG_UB, "ROOT": -3,
        "IDENT": IDENT, "CONGRUENT": CONGRUENT, "SIMILAR": SIMILAR, "UNEQUAL": UNEQUAL, "MESSAGE_NULL": None,
        "MESSAGE_NO_PROC": NO_PROC, "Message": Matched, "Alloc_mem": bytearray, "Free_mem": lambda mem: None,
        "COMM_TYPE_SHARED": 1, "ORDER_C": 0, "ORDER_FORTRAN": 1, "ORDER_F": 1, "INFO_NULL": None,
        "ERRORS_RETURN": "return", "ERRORS_ARE_FATAL": "fatal", "MAX_PROCESSOR_NAME": 255, "MAX_ERROR_STRING": 512,
        "THREAD_SINGLE": 0, "THREAD_FUNNELED": 1, "THREAD_SERIALIZED": 2, "THREAD_MULTIPLE": 3,
        "Wtime": world.clock, "Wtick": lambda: 1e-9, "Get_processor_name": lambda: f"node{host[world.me.rank]}",
        "Get_version": lambda: VERSION,
        "get_vendor": lambda: ("Ringside", (0, 1, 0)), "Get_library_version": lambda: "Ringside, a simulated cluster",
        "Get_address": id, "Init": lambda: None, "Init_thread": lambda required=3: 3, "Finalize": lambda: None,
        "Is_initialized": lambda: True, "Is_finalized": lambda: False, "Query_thread": lambda: 3,
        "Is_thread_main": lambda: True, "Compute_dims": compute_dims, "VERSION": VERSION[0], "SUBVERSION": VERSION[1],
        "BSEND_OVERHEAD": 0, "Attach_buffer": lambda buf: None, "Detach_buffer": lambda: None, "pickle": pickle,
    }  # fmt: skip


class _Self(Intracomm):
    """COMM_SELF: each rank alone."""

    def __init__(self, groups: list[ProcessGroup]) -> None:
        super().__init__(groups[0])
        self._groups = groups

    @property
    def group(self) -> ProcessGroup:
        """The rank that asks."""
        return self._groups[self._groups[0].world.me.rank]
