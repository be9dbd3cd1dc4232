"""What a log says of a run beside its times: NCCL's release, and by which transports its ranks were joined."""

import re

from ops.measured.rows import Table

_PRINTED = re.compile(r"NCCL version[ :]{1,4}(\d{1,2}\.\d{1,3}(?:\.\d{1,3})?)")
_NUMBER = re.compile(r"nccl-(?:library|headers)=(\d{4,6})\b")
"""The header of nccl-tests since 2.17: 22703 is 2.27.3."""
_SEES = re.compile(r"via (P2P|SHM|NET/[A-Za-z]{1,20})|NET/(IB|Socket|OFI|[A-Z][A-Za-z]{1,20}) : Using|(GDRDMA)")
_VIA_IB = re.compile(r"via NET/IB/\d{1,3}")
_MTU = re.compile(r"(?<![a-z0-9])mtu[-_ =]?(256|512|1024|2048|4096)(?!\d)")
_NAMED = (
    ("socket", re.compile(r"(?<![a-z0-9])(?:net-socket|sockets?|tcp|ipoib)(?![a-z0-9])")),
    ("shm", re.compile(r"(?<![a-z0-9])(?:shm|p2p-?disabled?)(?![a-z0-9])")),
)


def run_words(text: str) -> dict[str, str]:
    """`nccl`, the release, and `transport`: socket, shm, ib, or no-gdr where no NIC reaches into a GPU.

    >>> run_words("NCCL version 2.27.3+cuda12.9"), run_words("# nccl-headers=22809 nccl-library=22809")
    ({'nccl': '2.27.3'}, {'nccl': '2.28.9'})
    >>> run_words("Channel 00/0 : 1[1] -> 0[0] via SHM/direct/direct"), run_words("NET/Socket : Using [0]eth0")
    ({'transport': 'shm'}, {'transport': 'socket'})
    >>> run_words("Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0"), run_words("[send] via NET/IB/0/GDRDMA")
    ({'transport': 'no-gdr'}, {'transport': 'ib'})
    """
    words = {}
    printed, number = _PRINTED.search(text), _NUMBER.search(text)
    if printed:
        words["nccl"] = printed[1]
    elif number:
        words["nccl"] = _release(int(number[1]))
    seen = {(match[1] or match[2] or match[3]).removeprefix("NET/").upper() for match in _SEES.finditer(text)}
    if "SOCKET" in seen and not seen & {"IB", "OFI", "GDRDMA"}:
        words["transport"] = "socket"
    elif "SHM" in seen and "P2P" not in seen:
        words["transport"] = "shm"
    elif "GDRDMA" not in seen and _VIA_IB.search(text):
        words["transport"] = "no-gdr"
    elif seen & {"IB", "GDRDMA"}:
        words["transport"] = "ib"
    return words


def transport_of(table: Table) -> str:
    """How the ranks of a table were joined, by its log, else by its devices' and its file's words; empty if untold."""
    if transport := table.forced.get("transport"):
        return transport
    words = " ".join((*table.words, table.file)).lower().replace("_", "-")
    return next((name for name, pattern in _NAMED if pattern.search(words)), "")


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
