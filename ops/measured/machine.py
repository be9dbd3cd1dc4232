"""Which machine a table was measured on, by what it says of itself, and who its ranks are."""

import math
import re

from ops.measured.rows import Table
from sim.errors import InputError

RULES: tuple[tuple[str, str, int], ...] = (
    (r"gb200|gb300|nvl72", "gb200_nvl72", 4),
    (r"p4de?\b|p4d", "aws_p4d", 8),
    (r"\bp5(?:en|e)?\b|p5\.48", "aws_p5", 8),
    (r"a3.?mega", "gcp_a3_mega", 8),
    (r"a3.?ultra", "gcp_a3_ultra", 8),
    (r"a3.?high", "gcp_a3_high", 8),
    (r"\ba4\b|a4.?high|b200|b300", "dgx_b200", 8),
    (r"mi300x|mi325x", "mi300x", 8),
    (r"mi250", "mi250x", 8),
    (r"alps|gh200", "gh200_quad", 4),
    (r"mn5.*(?:nccl|gpu)|marenostrum.*h100", "h100_quad", 4),
    (r"leonardo|lrdn|polaris|a100-sxm-64gb", "a100_quad", 4),
    (r"nc96ads|a100.*pcie|a100-pci", "a100_pcie_pairs", 4),
    (r"nd96asr|ndv4|ndmv4|dgx.?a100|a100", "dgx_a100", 8),
    (r"h200", "dgx_h200", 8),
    (r"ndv5|nebius|h100", "dgx_h100", 8),
    (r"dgx.?2\b", "dgx2", 16),
    (r"v100|ndv2|p3dn|dgx.?1", "dgx1v", 8),
    (r"\ba40\b|a6000", "a40_pairs", 8),
    (r"rtx.?(?:30|40|50)|geforce|l40|a10g|4090|3090", "dual_socket_pcie", 8),
)
"""What texts call machines, the name here, and its GPUs per host; the first that fits counts."""
BY_DEVICE = {"h100": {4: "h100_quad"}, "a100": {4: "a100_quad"}}
"""Device names that several machines share, told apart by GPUs per host."""


class UntoldError(InputError):
    """A table does not tell `missing`, its machine or its ranks; `why` leaves out how the terminal mends that."""

    def __init__(self, why: str, missing: str, example: str = "") -> None:
        super().__init__(f"{why}: add --{missing}{example}")
        self.why, self.missing = why, missing


def find_machine(table: Table) -> tuple[str, str]:
    """The spec of the machine with as many hosts as the ranks need, and what told it.

    Devices that the table lists are believed first, then the name of the file. Raises UntoldError where neither tells.
    """
    if table.kind == "named" and not any(row.algorithm.startswith("nccl_") for row in table.rows):
        raise UntoldError(f"{table.source} measures MPI libraries, for which no machine is calibrated", "machine")
    ranks = table.ranks
    pair = [int(word) for word in table.forced.get("pair", "").split(",") if word]
    ranks = max(ranks, *(gpu + 1 for gpu in pair), 0)
    if not ranks:
        raise UntoldError(f"{table.source} does not tell how many ranks took part", "ranks")
    file = table.source.replace("\\", "/").rpartition("/")[2]
    if re.search(r"[-_ ]shm\b|p2p.?disable", " ".join((*table.words, file)).lower()):
        raise UntoldError(
            f"{table.source} went through host memory, for which no machine here is calibrated", "machine"
        )
    sources = [("the devices it lists", " ".join(table.words)), ("the name of the file", file)]
    for where, text in sources if table.kind == "nccl-tests" else sources[::-1]:
        for pattern, name, gpus in RULES:
            if re.search(pattern, text.lower()):
                if where.startswith("the devices") and (better := _more_exact(file, name)):
                    name, gpus = better
                each = table.gpus_per_host if 0 < table.gpus_per_host <= gpus else gpus
                return _spec(name, ranks, each, gpus), where
    raise UntoldError(f"{table.source} does not tell its machine", "machine", " NAME, see `list machines`")


def _more_exact(file: str, name: str) -> tuple[str, int] | None:
    """A cloud's machine that the file is named after where its devices only tell the GPU."""
    plain = ("dgx_a100", "dgx_h100", "dgx_h200", "dgx_b200")
    for pattern, other, gpus in RULES:
        if name in plain and other not in plain and re.search(pattern, file.lower()):
            return other, gpus
    return None


def _spec(name: str, ranks: int, each: int, gpus: int) -> str:
    """The machine's name with parameters that make room for the ranks."""
    hosts = math.ceil(ranks / each)
    if name == "gb200_nvl72":
        return name if hosts >= 18 else f"{name}:trays={hosts}"
    if name == "dual_socket_pcie" and hosts > 1 and each == 1:
        return f"geforce_rdma:hosts={hosts}"
    if name == "dual_socket_pcie":
        return f"{name}:gpus={each},nics=1" + (f",hosts={hosts}" if hosts > 1 else "")
    return name if hosts == 1 else f"{name}:hosts={hosts}"
