"""`mpi4py` as the ranks import it: a package with the module `MPI`, made anew for every run."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ops.programs.mpi4py import collectives  # noqa: F401  gives communicators their collectives
from ops.programs.mpi4py.absent import fill_in, pools, stand_ins
from ops.programs.mpi4py.cartesian import Cartcomm, Intracomm, Topocomm, compute_dims
from ops.programs.mpi4py.communicator import Comm
from ops.programs.mpi4py.handles.constants import CONSTANTS
from ops.programs.mpi4py.handles.datatypes import BY_CODE, DATATYPES, NULL, Datatype
from ops.programs.mpi4py.handles.errors import CLASSES, SAME, MPIError, text_of, wrong
from ops.programs.mpi4py.handles.groups import RankGroup
from ops.programs.mpi4py.handles.handle import publish
from ops.programs.mpi4py.handles.info import ERRHANDLERS, Errhandler, Info
from ops.programs.mpi4py.handles.status import Status
from ops.programs.mpi4py.matched import NO_PROC, PICKLE, Matched, Pickle
from ops.programs.mpi4py.memory import BOTTOM, IN_PLACE, Memory, Placeholder, address_of, alloc_mem
from ops.programs.mpi4py.reductions import OPS, Op
from ops.programs.mpi4py.requests import NULL as NO_REQUEST
from ops.programs.mpi4py.requests import MpiRequest, Prequest
from ops.programs.runtime.rendezvous import ProcessGroup
from ops.programs.runtime.transport import Transport

VERSION = CONSTANTS["VERSION"], CONSTANTS["SUBVERSION"]


def serve(world: Transport) -> dict[str, ModuleType]:
    """The modules that stand in for mpi4py during a run."""
    package, mpi, rc = ModuleType("mpi4py"), ModuleType("mpi4py.MPI"), _Settings("mpi4py.rc")
    futures = ModuleType("mpi4py.futures")
    futures.__dict__.update(pools())
    package.__dict__.update(
        __path__=[], __version__="4.1.2", MPI=mpi, rc=rc, futures=futures, get_include=lambda: "", get_config=dict,
        profile=lambda *_, **__: None,
    )  # fmt: skip
    mpi.__dict__.update(_names(world, rc))
    return {"mpi4py": package, "mpi4py.MPI": mpi, "mpi4py.rc": rc, "mpi4py.futures": futures}


class _Settings(ModuleType):
    """`mpi4py.rc`: takes every setting, of which `initialize` and `thread_level` show."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.initialize = self.finalize = self.threads = True
        self.thread_level = "multiple"

    def __call__(self, **settings: Any) -> None:
        self.__dict__.update(settings)


class _Lifetime:
    """Which ranks have called Init and Finalize; importing MPI is as good as Init unless rc says otherwise."""

    def __init__(self, world: Transport, rc: _Settings) -> None:
        self._world, self._rc = world, rc
        self._begun: set[int] = set()
        self._ended: set[int] = set()

    def is_initialized(self) -> bool:
        return bool(self._rc.initialize) or self._world.me.rank in self._begun

    def is_finalized(self) -> bool:
        return self._world.me.rank in self._ended

    def init(self) -> None:
        if self.is_initialized():
            wrong("ERR_OTHER", "Cannot call MPI_INIT or MPI_INIT_THREAD more than once")
        self._begun.add(self._world.me.rank)

    def init_thread(self, required: int = CONSTANTS["THREAD_MULTIPLE"]) -> int:
        self.init()
        return min(required, self.query_thread())

    def query_thread(self) -> int:
        """What is there: a rank may have threads, but its own one alone communicates."""
        return min(CONSTANTS[f"THREAD_{str(self._rc.thread_level).upper()}"], CONSTANTS["THREAD_FUNNELED"])

    def finalize(self) -> None:
        if not self.is_initialized() or self.is_finalized():
            wrong("ERR_OTHER", "MPI_FINALIZE is called once, after MPI_INIT")
        self._ended.add(self._world.me.rank)


def _names(world: Transport, rc: _Settings) -> dict[str, Any]:
    everyone = ProcessGroup(world, range(world.size), "MPI_COMM_WORLD")
    selves = tuple(ProcessGroup(world, (rank,), "MPI_COMM_SELF") for rank in range(world.size))
    nobody = Comm()
    nobody.name = "MPI_COMM_NULL"
    PICKLE.__init__()  # type: ignore[misc]
    classes = {
        "Comm": Comm, "Intracomm": Intracomm, "Topocomm": Topocomm, "Cartcomm": Cartcomm, "Group": RankGroup,
        "Request": MpiRequest, "Prequest": Prequest, "Status": Status, "Datatype": Datatype, "Op": Op,
        "Exception": MPIError, "Message": Matched, "Info": Info, "Errhandler": Errhandler, "Pickle": Pickle,
        "InPlaceType": Placeholder, "BottomType": Placeholder, "buffer": Memory,
    }  # fmt: skip
    fill_in(classes)
    return {"memory": Memory} | publish({
        **DATATYPES, **OPS, **CLASSES, **SAME, **CONSTANTS, **ERRHANDLERS, **classes, **stand_ins(classes),
        "COMM_WORLD": Intracomm.over(everyone, "MPI_COMM_WORLD"), "COMM_SELF": Intracomm.over(selves, "MPI_COMM_SELF"),
        "COMM_NULL": nobody, "REQUEST_NULL": NO_REQUEST, "GROUP_NULL": RankGroup(),
        "GROUP_EMPTY": RankGroup.over(world, ()), "DATATYPE_NULL": NULL, "OP_NULL": Op(),
        "ERRHANDLER_NULL": Errhandler(), "INFO_NULL": Info(), "INFO_ENV": Info.Create(), "MESSAGE_NULL": Matched(),
        "MESSAGE_NO_PROC": NO_PROC, "IN_PLACE": IN_PLACE, "BOTTOM": BOTTOM, "pickle": PICKLE,
        "_typedict": BY_CODE | {t.base.char: t for t in BY_CODE.values() if t.name != "MPI_CHAR"}
        | {"c": DATATYPES["CHAR"]},
        **_functions(world, _Lifetime(world, rc)), "ERR_LASTCODE": 1073741823, "UNWEIGHTED": None, "WEIGHTS_EMPTY": (),
    })  # fmt: skip


def _functions(world: Transport, life: _Lifetime) -> dict[str, Callable[..., Any]]:
    buffers: dict[int, Any] = {}

    def processor() -> str:
        return f"node{world.topology.devices[world.device(world.me.rank)].host}"

    def attach(buf: Any) -> None:
        buffers[world.me.rank] = buf

    return {
        "Alloc_mem": alloc_mem, "Free_mem": lambda mem: None, "Get_address": address_of,
        "Aint_add": lambda base, disp: base + disp, "Aint_diff": lambda a, b: a - b,
        "Wtime": world.clock, "Wtick": lambda: 1e-9, "Get_processor_name": processor, "Get_version": lambda: VERSION,
        "get_vendor": lambda: ("Ringside", (0, 1, 0)), "Get_library_version": lambda: "Ringside, a simulated cluster",
        "Init": life.init, "Init_thread": life.init_thread, "Finalize": life.finalize,
        "Is_initialized": life.is_initialized, "Is_finalized": life.is_finalized, "Query_thread": life.query_thread,
        "Is_thread_main": lambda: world.inside, "Compute_dims": compute_dims, "Pcontrol": lambda level: None,
        "Attach_buffer": attach, "Detach_buffer": lambda: buffers.pop(world.me.rank, None),
        "Flush_buffer": lambda: None, "Get_error_string": text_of, "Get_error_class": lambda code: code,
        "_sizeof": lambda datatype: datatype.extent, "_typecode": lambda datatype: datatype.tocode(),
    }  # fmt: skip
