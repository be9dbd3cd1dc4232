"""What a log says of a run beside its times: NCCL's release, and by which transports its ranks were joined."""

import re
from dataclasses import replace

from ops.libraries.nccl.releases import release_of
from ops.libraries.nccl.variables import PARAMETERS, Variables, read, set_in, set_variables
from ops.measured.rows import Table

_PRINTED = re.compile(r"NCCL version[ :]{1,4}(\d{1,2}\.\d{1,3}(?:\.\d{1,3})?)")
_NUMBER = re.compile(r"nccl-(?:library|headers)=(\d{4,6})\b")
"""The header of nccl-tests since 2.17: 22703 is 2.27.3."""
_SEES = re.compile(r"(via (?:P2P|SHM|NET/[A-Za-z]{1,20}))|NET/(IB|Socket|OFI|[A-Z][A-Za-z]{1,20}) : Using|(GDRDMA)")
_VIA_IB = re.compile(r"via NET/IB/\d{1,3}")
_COMMUNICATOR = re.compile(r"\bcomm 0x[0-9a-f]{1,16} rank \d{1,6} nranks (\d{1,6})\b")
_LAUNCHES = re.compile(r"\bnGpus\s{0,4}[=:]?\s{1,4}(\d{1,4})\b|_perf\b[^\n]{0,400}?\s(?:-g|--ngpus)[ =](\d{1,4})\b")
_GRAPHS = re.compile(r"\bgraph:\s{0,4}[1-9]|_perf\b[^\n]{0,400}?\s(?:-G|--cudagraph)[ =][1-9]")
_MTU = re.compile(r"(?<![a-z0-9])mtu[-_ =]?(256|512|1024|2048|4096)(?!\d)")
_HCA = re.compile(r"[a-z][a-z0-9_]{0,30}?_?\d{1,3}(?::\d{1,2})?")
"""A NIC by its whole name; `mlx5` alone means all that begin so, and a list behind ^ those that are left out."""
_NETWORK = re.compile(r"(?<![a-z0-9])(?:ib|infiniband|roce|rdma|efa|slingshot|[hnx]dr|connectx)(?![a-z0-9])")
_NAMED = (
    ("socket", re.compile(r"(?<![a-z0-9])(?:net-socket|sockets?|tcp|ipoib)(?![a-z0-9])")),
    ("shm", re.compile(r"(?<![a-z0-9])(?:shm|p2p-?disabled?)(?![a-z0-9])")),
)


def ranks_of_log(text: str) -> int:
    """How many ranks the largest communicator has that NCCL tells of; 0 where it tells of none.

    >>> ranks_of_log("[0] NCCL INFO comm 0x5f70 rank 1 nranks 16 cudaDev 0 busId 2000 - Init COMPLETE")
    16
    """
    return max((int(number) for number in _COMMUNICATOR.findall(text)), default=0)


def run_words(text: str) -> dict[str, str]:
    """Parameters of NCCL that are set, by name (`ops.libraries.nccl.variables`), and what else tells of the run.

    `nccl` is its release and `transport` socket, shm, ib, or no-gdr where no NIC reaches into a GPU.

    `launches` is for how many GPUs a thread launches NCCL's kernels, where that is not done by a CUDA graph.
    `network` is socket where that is what hosts would be joined by: one host has no use for it. `collnet` is asked
    where NCCL was to add in the network's switches, and `nics` is how many NICs of a host it was given by name.

    >>> run_words("NCCL version 2.27.3+cuda12.9"), run_words("# nccl-headers=22809 nccl-library=22809")
    ({'nccl': '2.27.3'}, {'nccl': '2.28.9'})
    >>> run_words("Channel 00/0 : 1[1] -> 0[0] via SHM/direct/direct"), run_words("[send] via NET/Socket/0")
    ({'transport': 'shm'}, {'transport': 'socket'})
    >>> run_words("NET/Socket : Using [0]eth0"), run_words("NCCL_P2P_DISABLE=1 ./all_reduce_perf -g 2")
    ({'network': 'socket'}, {'p2p_disable': 'True', 'transport': 'shm', 'launches': '2'})
    >>> run_words("# nThread 1 nGpus 8 minBytes 8 graph: 0"), run_words("./all_reduce_perf -g 8 -G 1")
    ({'launches': '8'}, {})
    >>> run_words("Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0"), run_words("[send] via NET/IB/0/GDRDMA")
    ({'transport': 'no-gdr'}, {'transport': 'ib'})
    >>> run_words("mpirun -x NCCL_COLLNET_ENABLE=1 -x NCCL_IB_HCA=mlx5_0,mlx5_3 ./all_reduce_perf")
    {'ib_hca': 'mlx5_0,mlx5_3', 'collnet': 'asked', 'nics': '2'}
    """
    words = {name: str(value) for name, value in read(text).changed.items()}
    printed, number = _PRINTED.search(text), _NUMBER.search(text)
    if printed:
        words["nccl"] = printed[1]
    elif number:
        words["nccl"] = _release(int(number[1]))
    matches = list(_SEES.finditer(text))
    used = {match[1].removeprefix("via ").removeprefix("NET/").upper() for match in matches if match[1]}
    seen = used | {(match[2] or match[3]).upper() for match in matches if not match[1]}
    settings = set_in(text)
    no_peers, no_memory = (settings.get(f"{name}_DISABLE") == "1" for name in ("P2P", "SHM"))
    others = seen & {"IB", "OFI", "GDRDMA"}
    if "SOCKET" in used and not others:
        words["transport"] = "socket"
    elif ("SHM" in seen and "P2P" not in seen) or (no_peers and not no_memory and not used):
        words["transport"] = "shm"
    elif no_peers and no_memory and not used:
        words["transport"] = "socket" if settings.get("NET") == "Socket" else "loop"
    elif "GDRDMA" not in seen and _VIA_IB.search(text):
        words["transport"] = "no-gdr"
    elif seen & {"IB", "GDRDMA"}:
        words["transport"] = "ib"
    if ("SOCKET" in seen or settings.get("NET") == "Socket") and not others and words.get("transport") != "socket":
        words["network"] = "socket"
    launches = next((int(match[1] or match[2]) for match in _LAUNCHES.finditer(text)), 1)
    if launches > 1 and not _GRAPHS.search(text):
        words["launches"] = str(launches)
    return words | _between_hosts(settings)


def _between_hosts(settings: dict[str, str]) -> dict[str, str]:
    """What NCCL was told of the network."""
    words = {"collnet": "asked"} if settings.get("COLLNET_ENABLE") == "1" else {}
    nics = settings.get("IB_HCA", "").lstrip("=").split(",")
    if all(_HCA.fullmatch(name) for name in nics):
        words["nics"] = str(len(set(nics)))
    return words


def forced(table: Table) -> Variables:
    """What the job forced, by its environment or by the name of the file, and the release of NCCL that it names."""
    words = {name: word for name, word in table.forced.items() if name in PARAMETERS}
    variables = set_variables(words | {"nccl": release_of(table.forced.get("nccl", ""))}, table.source)
    named = re.search(r"\b(ring|tree)-(?:allreduce|all_reduce)", table.file.lower())
    if named and not variables.algorithm:
        return replace(variables, algorithm=named[1].title())
    return replace(variables, algorithm="") if variables.algorithm.startswith("CollNet") else variables


def transport_of(table: Table) -> str:
    """How the ranks of a table were joined, by its log, else by its devices' and its file's words; empty if untold."""
    if table.forced.get("network") == "socket" and not _is_one_host(table):
        return "socket"
    if transport := table.forced.get("transport"):
        return transport
    words = " ".join((*table.words, table.file)).lower().replace("_", "-")
    return next((name for name, pattern in _NAMED if pattern.search(words)), "")


def names_network(table: Table) -> bool:
    """Whether a table's log or its file's name says what joins its hosts."""
    return transport_of(table) in ("ib", "no-gdr") or _NETWORK.search(table.file.lower().replace("_", "-")) is not None


def _is_one_host(table: Table) -> bool:
    """Whether a table says that all of its ranks are on one host."""
    return 0 < table.ranks <= table.each


def mtu_of(table: Table) -> int:
    """Bytes of a packet as the devices' or the file's words tell, `mtu256` or `MTU=1024`; 0 if untold."""
    match = _MTU.search(" ".join((*table.words, table.file)).lower())
    return int(match[1]) if match else 0


def _release(number: int) -> str:
    """NCCL_VERSION_CODE as people write it.

    >>> _release(2804), _release(22703)
    ('2.8.4', '2.27.3')
    """
    unit = 10000 if number >= 10000 else 1000
    return f"{number // unit}.{number % unit // 100}.{number % 100}"
