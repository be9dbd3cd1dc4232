"""What mpi4py has and is not simulated: the names are there, as in an mpi4py whose MPI lacks them, and calling says so.

Programs that probe for a feature and catch NotImplementedError go on.
"""

import concurrent.futures
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from ops.programs.mpi4py.handles.handle import Handle

HANDLE = "f2py fromhandle fromint py2f toint"
WORDS = {
    "Win": (
        "Accumulate Allocate Allocate_shared Attach Call_errhandler Compare_and_swap Complete Create Create_dynamic"
        " Create_errhandler Create_keyval Delete_attr Detach Fence Fetch_and_op Flush Flush_all Flush_local"
        " Flush_local_all Free Free_keyval Get Get_accumulate Get_attr Get_errhandler Get_group Get_info Get_name Lock"
        " Lock_all Post Put Raccumulate Rget Rget_accumulate Rput Set_attr Set_errhandler Set_info Set_name"
        " Shared_query Start Sync Test Unlock Unlock_all Wait tomemory"
    ),
    "File": (
        "Call_errhandler Close Create_errhandler Delete Get_amode Get_atomicity Get_byte_offset Get_errhandler"
        " Get_group Get_info Get_position Get_position_shared Get_size Get_type_extent Get_view Iread Iread_all"
        " Iread_at Iread_at_all Iread_shared Iwrite Iwrite_all Iwrite_at Iwrite_at_all Iwrite_shared Open Preallocate"
        " Read Read_all Read_all_begin Read_all_end Read_at Read_at_all Read_at_all_begin Read_at_all_end Read_ordered"
        " Read_ordered_begin Read_ordered_end Read_shared Seek Seek_shared Set_atomicity Set_errhandler Set_info"
        " Set_size Set_view Sync Write Write_all Write_all_begin Write_all_end Write_at Write_at_all"
        " Write_at_all_begin Write_at_all_end Write_ordered Write_ordered_begin Write_ordered_end Write_shared"
    ),
    "Session": (
        "Attach_buffer Call_errhandler Create_errhandler Create_group Detach_buffer Finalize Flush_buffer"
        " Get_errhandler Get_info Get_nth_pset Get_num_psets Get_pset_info Iflush_buffer Init Set_errhandler"
    ),
    "Intercomm": "Create_from_groups Get_remote_group Get_remote_size Merge",
    "Graphcomm": "Get_dims Get_neighbors Get_neighbors_count Get_topo",
    "Distgraphcomm": "Get_dist_neighbors Get_dist_neighbors_count",
    "Grequest": "Complete Start complete",
    "buffer": "fromaddress",
    "Comm": (
        "Ack_failed Agree Alltoallw Alltoallw_init Attach_buffer Call_errhandler Create_errhandler Detach_buffer"
        " Flush_buffer Get_failed Iagree Ialltoallw Iflush_buffer Is_revoked Ishrink Join Precv_init Psend_init Revoke"
        " Shrink"
    ),
    "Intracomm": (
        "Accept Cart_map Connect Create_dist_graph Create_dist_graph_adjacent Create_from_group Create_graph"
        " Create_intercomm Graph_map Spawn Spawn_multiple"
    ),
    "Topocomm": " ".join(
        f"{word}{end}"
        for kind in ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")
        for word, end in (("Neighbor_" + kind, ""), ("Ineighbor_" + kind, ""), ("Neighbor_" + kind, "_init"))
    )
    + " neighbor_allgather neighbor_alltoall",
    "Datatype": (
        "Create_darray Create_f90_complex Create_f90_integer Create_f90_real"
        " Pack_external Pack_external_size Unpack_external"
    ),
    "Request": (
        "Get_status_all Get_status_any Get_status_some get_status_all get_status_any get_status_some " + HANDLE
    ),
    "Prequest": "Parrived Pready Pready_list Pready_range",
    "Status": "f2py py2f tomemory",
    "Group": "Create_from_session_pset",
    "Pickle": "dumps_oob loads_oob",
}
"""The methods of every class."""
FUNCTIONS = (
    "Add_error_class Add_error_code Add_error_string Close_port Get_abi_fortran_info Get_abi_info Get_abi_version"
    " Get_hw_resource_info Iflush_buffer Lookup_name Open_port Publish_name Register_datarep Remove_error_class"
    " Remove_error_code Remove_error_string Unpublish_name _addressof _handleof"
)
WHOLE = ("Win", "File", "Session", "Intercomm", "Graphcomm", "Distgraphcomm", "Grequest")
"""Classes of which nothing is simulated."""
POOLS = (
    "MPICommExecutor MPIPoolExecutor ProcessPoolExecutor SerialPoolExecutor ThreadPoolExecutor collect compose"
    " get_comm_workers"
)
"""What `mpi4py.futures` has of its own."""
NULLS = {"WIN_NULL": "Win", "FILE_NULL": "File", "SESSION_NULL": "Session"}


def _absent(name: str, module: str = "MPI") -> Callable[..., NoReturn]:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(f"{module}.{name} is not simulated: docs/programs.md lists what is")

    refuse.__name__ = refuse.__qualname__ = name.rpartition(".")[2]
    refuse.__doc__ = "Not simulated."
    return refuse


def pools() -> dict[str, Any]:
    """The names of `mpi4py.futures`: Python's for what is to come, and its own pools of processes."""
    names = {name: getattr(concurrent.futures, name) for name in concurrent.futures.__all__ if "Pool" not in name}
    return names | {name: _absent(name, "mpi4py.futures") for name in POOLS.split()}


def fill_in(classes: Mapping[str, type]) -> None:
    """Give classes the methods that they lack."""
    for name, kind in classes.items():
        for word in f"{WORDS.get(name, '')} {HANDLE if issubclass(kind, Handle) else ''}".split():
            if not hasattr(kind, word):
                setattr(kind, word, staticmethod(_absent(f"{name}.{word}")))


def stand_ins(bases: Mapping[str, type]) -> dict[str, Any]:
    """The classes, null handles and functions that there are in name only."""
    parents = {"Intercomm": "Comm", "Graphcomm": "Topocomm", "Distgraphcomm": "Topocomm", "Grequest": "Request"}
    made: dict[str, Any] = {}
    for name in WHOLE:
        made[name] = type(
            name, (bases.get(parents.get(name, ""), Handle),), {"kind": name} if name not in parents else {}
        )
        for word in WORDS[name].split():
            setattr(made[name], word, staticmethod(_absent(f"{name}.{word}")))
    fill_in({name: made[name] for name in WHOLE})
    nulls = {name: made[kind]() for name, kind in NULLS.items()}
    return made | nulls | {name: _absent(name) for name in FUNCTIONS.split()}
