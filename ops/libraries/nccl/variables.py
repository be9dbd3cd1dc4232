"""Environment variables of NCCL as parameters of a run: their values, NCCL's defaults, and how files set them.

Names, ranges and defaults are those of NCCL 2.30: `src/graph/tuning.cc` (ALGO, PROTO, NTHREADS), `src/graph/connect.cc`
(MIN_NCHANNELS, MAX_NCHANNELS), `src/init.cc` (BUFFSIZE), `src/graph/paths.cc` (P2P_LEVEL, P2P_DISABLE, NET_GDR_LEVEL,
PXN_DISABLE), `src/transport/shm.cc` (SHM_DISABLE), `src/transport/net_ib/init.cc` (IB_HCA), `src/graph/search.cc`
(CROSS_NIC), `src/transport/nvls.cc` (NVLS_ENABLE), `src/transport/net_socket.cc` (SOCKET_NTHREADS, NSOCKS_PERTHREAD).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

from ops.libraries.nccl.constants import ALGORITHMS, PROTOCOLS
from ops.libraries.nccl.releases import NEWEST, RELEASES, release_of
from sim.errors import InputError
from sim.machines.through_memory import through_memory, without_gpudirect
from sim.parameters import Bounds, Choice, bind
from sim.topology import Topology
from sim.units import KiB, MiB, Size

LEVELS = ("LOC", "NVL", "PIX", "PXB", "PHB", "SYS")
"""How far apart two devices may be, nearest first: topoPathTypeStr without the ways through other GPUs."""
_BY_NUMBER = ("LOC", "PIX", "PXB", "PHB", "SYS", "SYS")
"""Levels as releases before 2.4 numbered them: levelsOldToNew."""
MOST_CHANNELS, MOST_THREADS, WARP, MOST_SOCKETS = 64, 640, 32, 64
"""MAXCHANNELS, NCCL_MAX_NTHREADS, threads of a warp, and MAX_SOCKETS, sockets of a connection."""
_PXN_SINCE = "2.12"
_NAMES = {
    "ALGO": "algorithm",
    "PROTO": "protocol",
    "MIN_NCHANNELS": "min_channels",
    "MAX_NCHANNELS": "max_channels",
    "MIN_NRINGS": "min_channels",
    "MAX_NRINGS": "max_channels",
    "MIN_CTAS": "min_channels",
    "MAX_CTAS": "max_channels",
}
"""Variables whose parameter has another name than theirs in small letters."""
_LISTS = {"algorithm": ALGORITHMS, "protocol": PROTOCOLS}
NOT_SIMULATED = ("socket_nthreads", "nsocks_perthread")
"""Variables that are read and change nothing."""
_FUNCTIONS = {
    "allreduce": "allreduce",
    "allgather": "allgather",
    "reducescatter": "reduce_scatter",
    "broadcast": "broadcast",
    "reduce": "reduce",
}
"""ncclFuncStr, which may stand before a list, and the collective here."""

_AFTER_SEARCH = ("algorithm", "protocol", "nthreads", "buffsize", "nvls_enable", "socket_nthreads", "nsocks_perthread")

_Level = Annotated[str, Choice(("", *LEVELS))]
_Channels = Annotated[int, Bounds(0, MOST_CHANNELS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variables:
    """What a person set of NCCL, and whose tables it has; 0 and empty words leave the choice to NCCL.

    Raises InputError for a value that NCCL does not have.
    """

    algorithm: Annotated[str, Choice(("", *ALGORITHMS), is_open=True)] = ""
    """NCCL_ALGO: names to choose from, `^` before those to leave out, as in NCCL by collective where it says so."""
    protocol: Annotated[str, Choice(("", *PROTOCOLS), is_open=True)] = ""
    nccl: Annotated[str, Choice(tuple(RELEASES))] = NEWEST
    min_channels: _Channels = 0
    max_channels: _Channels = 0
    nthreads: Annotated[int, Bounds(0, MOST_THREADS)] = 0
    buffsize: Annotated[Size, Bounds(8 * KiB, 1024 * MiB)] = 4 * MiB
    """Bytes of a connection's buffer with Simple."""
    p2p_level: _Level = ""
    p2p_disable: bool = False
    shm_disable: bool = False
    net_gdr_level: _Level = ""
    ib_hca: str = ""
    """NICs to use by name or the beginning of it; `=` before whole names, `^` before those to leave out."""
    cross_nic: Annotated[int, Bounds(0, 2)] = 2
    """May a ring or tree change the rail between hosts: 0 never, 1 always, 2 where the search finds better."""
    pxn_disable: bool = False
    nvls_enable: Annotated[int, Bounds(0, 2)] = 2
    socket_nthreads: Annotated[int, Bounds(0, 16)] = 0
    nsocks_perthread: Annotated[int, Bounds(0, MOST_SOCKETS)] = 0

    def __post_init__(self) -> None:
        for name in _LISTS:
            if text := getattr(self, name):
                object.__setattr__(self, name, _listed(name, text))
        if self.nthreads and (self.nthreads < 2 * WARP or self.nthreads % WARP):
            raise InputError("nccl.threads", value=self.nthreads, warp=WARP, low=2 * WARP, high=MOST_THREADS)
        if self.max_channels and self.min_channels > self.max_channels:
            raise InputError("nccl.channels", low=self.min_channels, high=self.max_channels)
        if self.socket_nthreads * self.nsocks_perthread > MOST_SOCKETS:
            sockets = self.socket_nthreads * self.nsocks_perthread
            raise InputError("nccl.sockets", sockets=sockets, most=MOST_SOCKETS)

    @property
    def changed(self) -> dict[str, Any]:
        """The parameters that are not as NCCL has them by itself."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value != getattr(FREE, name)}

    @property
    def of_search(self) -> "Variables":
        """These as far as NCCL's search for rings, trees and NICs depends on them."""
        return replace(self, **{name: getattr(FREE, name) for name in _AFTER_SEARCH})

    @property
    def uses_pxn(self) -> bool:
        """Whether a GPU may send by the NIC of another one over NVLinks; releases before 2.12 cannot."""
        order = [*RELEASES]
        return not self.pxn_disable and order.index(self.nccl) >= order.index(_PXN_SINCE)

    @property
    def peers(self) -> str:
        """How far apart two GPUs may be that write to each other's memory; empty where nobody said."""
        return "LOC" if self.p2p_disable else self.p2p_level

    def algorithms(self, collective: str) -> tuple[str, ...]:
        """The algorithms that are left for a collective."""
        return _left(self.algorithm, collective, ALGORITHMS)

    def protocols(self, collective: str) -> tuple[str, ...]:
        """The protocols that are left for a collective.

        >>> forced = Variables(protocol="^ll128;reduce:Simple")
        >>> forced.protocols("allreduce"), forced.protocols("reduce")
        (('LL', 'Simple'), ('Simple',))
        """
        return _left(self.protocol, collective, PROTOCOLS)

    def takes_nic(self, number: int, name: str = "") -> bool:
        """Whether NCCL_IB_HCA leaves a host's NIC of this number, and of this name where it has one of its own.

        A number at the end of a listed name stands for the NIC's where the machine has other names.

        >>> [Variables(ib_hca="mlx5_0,mlx5_1").takes_nic(k) for k in (0, 1, 2)], Variables(ib_hca="^=ib0").takes_nic(0)
        ([True, True, False], False)
        """
        listed = self.ib_hca
        without, listed = listed.startswith("^"), listed.removeprefix("^")
        exact, listed = listed.startswith("="), listed.removeprefix("=")
        if not listed:
            return True
        names = [entry.partition(":")[0] for entry in listed.split(",")]
        return any(_is_called(entry, number, name, exact=exact) for entry in names) != without


FREE = Variables()
"""Nothing set: NCCL chooses."""


def machine_with(topology: Topology, variables: Variables) -> Topology:
    """The machine as NCCL uses it with these variables: which messages go through host memory.

    Raises InputError where that leaves GPUs of a host no way to each other.
    """
    if variables.shm_disable and variables.peers not in ("", "SYS"):
        raise InputError("nccl.no_path")
    if variables.peers not in ("", "SYS"):
        topology = through_memory(topology, level=variables.peers)
    if variables.net_gdr_level:
        topology = without_gpudirect(topology, level=variables.net_gdr_level)
    idle = [f"NCCL_{name.upper()}" for name in NOT_SIMULATED if name in variables.changed]
    note = f"{' and '.join(idle)} change{'s' * (len(idle) == 1)} nothing here: sockets are not simulated"
    return topology.but(assumed=(*topology.assumed, note), router=topology.routes) if idle else topology


def as_nccl_writes(word: str) -> str:
    """An algorithm or a protocol in NCCL's own spelling, a version as the release that has its tables.

    >>> as_nccl_writes("tree"), as_nccl_writes("simple"), as_nccl_writes("bogus"), as_nccl_writes("2.21.5")
    ('Tree', 'Simple', 'bogus', '2.18')
    """
    if re.fullmatch(r"v?2\.\d{1,3}(\.\d{1,3})?([+-].{0,40})?", word):
        return release_of(word)
    return next((name for name in (*ALGORITHMS, *PROTOCOLS) if name.casefold() == word.casefold()), word)


def parameter_of(name: str) -> str:
    """The parameter that a variable is, by its name with NCCL_ or without; any other name as it is.

    >>> parameter_of("NCCL_ALGO"), parameter_of("nccl_p2p_level"), parameter_of("protocol")
    ('algorithm', 'p2p_level', 'protocol')
    """
    plain = name.upper().removeprefix("NCCL_")
    parameter = _NAMES.get(plain, plain.lower())
    return parameter if parameter in PARAMETERS else name


def set_variables(settings: Mapping[str, str], owner: str, start: Variables = FREE) -> Variables:
    """Variables from words in any spelling, beside those of `start`. Raises InputError for what NCCL does not have.

    >>> set_variables({"NCCL_ALGO": "ring", "nccl_p2p_level": "3"}, "run").changed
    {'algorithm': 'Ring', 'p2p_level': 'PHB'}
    """
    return replace(start, **bind(Variables, as_parameters(settings), owner))


def as_parameters(settings: Mapping[str, str]) -> dict[str, str]:
    """Words in any spelling as the parameters have them.

    >>> as_parameters({"NCCL_ALGO": "tree", "NCCL_NET_GDR_LEVEL": "2"})
    {'algorithm': 'Tree', 'net_gdr_level': 'PXB'}
    """
    words = {parameter_of(key): value for key, value in settings.items()}
    return {key: _as_written(key, value) for key, value in words.items()}


def read(text: str) -> Variables:
    """The variables that commands, job files and logs in a text set. Values that NCCL would not take are left out.

    >>> read("mpirun -x NCCL_ALGO=Ring -x NCCL_P2P_LEVEL=SYS ./all_reduce_perf").changed
    {'algorithm': 'Ring', 'p2p_level': 'SYS'}
    >>> read("srun --export=ALL,NCCL_CROSS_NIC=1,NCCL_IB_HCA==mlx5_0:1,mlx5_1:1 ./all_reduce_perf -g 1").changed
    {'ib_hca': '=mlx5_0:1,mlx5_1:1', 'cross_nic': 1}
    """
    variables = FREE
    for name, value in set_in(text).items():
        if parameter_of(f"NCCL_{name}") in PARAMETERS:
            try:
                variables = set_variables({name: value}, "NCCL", variables)
            except InputError:
                continue
    return variables


_VALUE = (
    r"[=^]{0,2}[A-Za-z0-9_][A-Za-z0-9_:-]{0,64}"
    r"(?:(?:,(?![A-Za-z0-9_]{2,64}=)|;(?=[A-Za-z]{2,20}:))[\^A-Za-z0-9_][A-Za-z0-9_:^-]{0,64}){0,40}"
)
_SETTING = re.compile(
    rf"""NCCL_([A-Z0-9][A-Z0-9_]{{1,40}})["']?(?:\s{{0,8}}[=:]\s{{0,8}}|( set by environment to ))["']?({_VALUE})"""
)
_BEFORE_IT = re.compile(r"""(?:^|[>$"',(]|\S#|\b(?:export|env|ENV)|-x|-e|--env|=\S{0,200})\s{0,40}$""")
_COMMAND = re.compile(r"_(?:perf|test)\b")
_LISTED = ("ALGO", "PROTO", "IB_HCA")


def set_in(text: str) -> dict[str, str]:
    """Values by variable, without NCCL_, as commands, job files, JSON and logs set them, not as sentences name them.

    >>> set_in("mpirun -x NCCL_P2P_DISABLE=1 -x NCCL_NET=Socket ./all_reduce_perf")
    {'P2P_DISABLE': '1', 'NET': 'Socket'}
    >>> set_in("we can use `NCCL_P2P_DISABLE=1`, or leave NCCL_NET=Socket out"), set_in("# NCCL_NET=Socket")
    ({}, {})
    """
    values = {}
    for line in text.splitlines():
        is_command = False
        for at, match in enumerate(_SETTING.finditer(line)):
            is_command = is_command if at else _COMMAND.search(line) is not None
            before = line[max(0, match.start() - 200) : match.start()]
            root = before.lstrip().startswith("# ") and is_command  # root's prompt, else a comment
            commented = before.lstrip().startswith("#") and not root
            if match[2] or (not commented and (root or _BEFORE_IT.search(before))):
                values[match[1]] = match[3] if match[1] in _LISTED else match[3].partition(",")[0]
    return values


def _as_written(key: str, value: str) -> str:
    """A value as the parameter has it: numbers of levels and versions by name, words in NCCL's letters."""
    if key in ("p2p_level", "net_gdr_level"):
        return _BY_NUMBER[min(int(value), len(_BY_NUMBER) - 1)] if re.fullmatch(r"\d{1,3}", value) else value.upper()
    return as_nccl_writes(value) if key in ("nccl", *_LISTS) else value


def _listed(key: str, text: str) -> str:
    """A list of algorithms or protocols in NCCL's spelling. Raises InputError for a name NCCL does not have."""
    names = _LISTS[key]
    parts = []
    for part in text.split(";"):
        function, colon, listed = part.rpartition(":")
        if colon and function.lower() not in _FUNCTIONS:
            raise InputError("parameter.choice", owner="NCCL", name=key, value=text, choices=[*_FUNCTIONS])
        without, listed = listed.startswith("^"), listed.removeprefix("^")
        words = [as_nccl_writes(word.strip()) for word in listed.split(",")]
        if not set(words) <= set(names):
            raise InputError("parameter.choice", owner="NCCL", name=key, value=text, choices=names)
        parts.append(f"{function.lower()}{colon}{'^' * without}{','.join(words)}")
    return ";".join(parts)


def _left(text: str, collective: str, names: Sequence[str]) -> tuple[str, ...]:
    """The names that a list leaves for a collective: the last entry that is for it counts (parseList)."""
    left = tuple(names)
    for part in text.split(";") if text else []:
        function, _, listed = part.rpartition(":")
        if not function or _FUNCTIONS[function] == collective:
            words = listed.removeprefix("^").split(",")
            left = tuple(name for name in names if (name in words) != listed.startswith("^"))
    return left


def _is_called(entry: str, number: int, name: str, *, exact: bool) -> bool:
    if name:
        return name == entry if exact else name.startswith(entry)
    digits = re.search(r"\d{1,3}$", entry)
    return digits is None or int(digits[0]) == number


PARAMETERS = tuple(field.name for field in fields(Variables))
