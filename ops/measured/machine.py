"""Which machine a table was measured on, by what it says of itself, and who its ranks are."""

import math
import re
from typing import NamedTuple

from ops.measured.rows import Table
from ops.measured.run_words import transport_of
from sim.errors import InputError, Message


class Rule(NamedTuple):
    """What texts call a machine, its name here, its GPUs per host, and the generation of its GPUs."""

    pattern: str
    machine: str
    gpus: int
    generation: str


def _gpu(name: str) -> str:
    """A GPU's name as a word of its own, or behind a count or a maker's prefix: `8xH100`, `dgxh100`, `H100-SXM5`."""
    return rf"(?<![a-z0-9])(?:\d{{1,6}} ?x ?)?(?:dgx|hgx|nvidia|amd)?{name}(?![0-9])"


GEFORCE = "geforce"
"""Cards on PCIe whose driver has no P2P."""
RULES: tuple[Rule, ...] = (
    Rule(_gpu("gb300"), "gb300_nvl72", 4, "Blackwell"),
    Rule(_gpu("gb200") + r"|(?<![a-z0-9])nvl72", "gb200_nvl72", 4, "Blackwell"),
    Rule(r"(?<![a-z0-9])p4de?(?![a-z0-9])", "aws_p4d", 8, "Ampere"),
    Rule(r"(?<![a-z0-9])p5(?:en|e)?(?![a-z0-9])", "aws_p5", 8, "Hopper"),
    Rule(r"(?<![a-z0-9])p6-b300", "aws_p6_b300", 8, "Blackwell"),
    Rule(r"(?<![a-z0-9])p6(?:-b200)?(?![a-z0-9])", "aws_p6", 8, "Blackwell"),
    Rule(r"(?<![a-z0-9])a4(?:-?high)?(?![a-z0-9])", "gcp_a4", 8, "Blackwell"),
    Rule(r"bm\.gpu\.?(?:gm)?4\.8|bm\.gpu\.a100", "oci_a100", 8, "Ampere"),
    Rule(r"bm\.gpu\.h[12]00", "oci_h100", 8, "Hopper"),
    Rule(r"bm\.gpu\.b200", "oci_b200", 8, "Blackwell"),
    Rule(r"(?<![a-z0-9])a3[- ]?mega", "gcp_a3_mega", 8, "Hopper"),
    Rule(r"(?<![a-z0-9])a3[- ]?ultra", "gcp_a3_ultra", 8, "Hopper"),
    Rule(r"(?<![a-z0-9])a3[- ]?high", "gcp_a3_high", 8, "Hopper"),
    Rule(_gpu("b300"), "dgx_b300", 8, "Blackwell"),
    Rule(_gpu("b200"), "dgx_b200", 8, "Blackwell"),
    Rule(_gpu("gb10") + r"|dgx[- ]spark", "gb10", 1, "GB10"),
    Rule(_gpu("mi355x?"), "mi355x", 8, "CDNA4"),
    Rule(_gpu("mi350x?") + r"|gfx950", "mi350x", 8, "CDNA4"),
    Rule(_gpu("mi3(?:00|25)x") + r"|gfx942", "mi300x", 8, "CDNA3"),
    Rule(_gpu("mi250x?") + r"|gfx90a", "mi250x", 8, "CDNA2"),
    Rule(r"(?<![a-z])alps(?![a-z])|" + _gpu("gh200"), "gh200_quad", 4, "Hopper"),
    Rule(r"(?<![a-z0-9])mn5.{0,80}(?:nccl|gpu)|marenostrum.{0,80}h100", "h100_quad", 4, "Hopper"),
    Rule(r"leonardo|lrdn|polaris|a100-sxm-64gb", "a100_quad", 4, "Ampere"),
    Rule(r"nc96ads|" + _gpu("a100") + r".{0,10}pci", "a100_pcie_pairs", 4, "Ampere"),
    Rule(r"nd96asr|ndm?v4|ndm?-?a100|" + _gpu("a100"), "dgx_a100", 8, "Ampere"),
    Rule(_gpu("h200"), "dgx_h200", 8, "Hopper"),
    Rule(_gpu("h20"), "h20", 8, "Hopper"),
    Rule(_gpu("h800"), "h800", 8, "Hopper"),
    Rule(_gpu("a800"), "a800", 8, "Ampere"),
    Rule(r"ndv5|nebius|nd-?h100|" + _gpu("h100"), "dgx_h100", 8, "Hopper"),
    Rule(r"(?<![a-z0-9])dgx[- ]?2(?![a-z0-9])|v100-sxm3", "dgx2", 16, "Volta"),
    Rule(r"ndv2|p3dn|(?<![a-z0-9])dgx[- ]?1v?(?![a-z0-9])|" + _gpu("v100"), "dgx1v", 8, "Volta"),
    Rule(_gpu("a40") + r"|" + _gpu("a6000"), "a40_pairs", 8, "Ampere"),
    Rule(_gpu("l40s"), "l40s", 8, "Ada"),
    Rule(_gpu("l20"), "l20", 8, "Ada"),
    Rule(r"(?:geforce[- ])?rtx[- ]?5090|" + _gpu("5090"), "rtx_5090", 8, "GeForce gen5"),
    Rule(r"rtx[- ]?pro[- ]?6000", "rtx_pro_6000", 8, "Blackwell PCIe"),
    Rule(r"rtx[- ]?(?:30|40|50)\d\d|geforce|" + _gpu("[345]090"), GEFORCE, 8, "PCIe"),
    Rule("|".join(map(_gpu, ("l40", "l4", "a10g?"))), "dual_socket_pcie", 8, "PCIe"),
)
"""The first that fits counts."""
MISSING: tuple[tuple[str, str], ...] = (
    (_gpu("h[12]00") + r".{0,12}(?:pci|nvl(?!ink|72))", "Hopper GPUs on PCIe"),
    (_gpu("v100") + r".{0,4}pci", "V100 on PCIe"),
    (_gpu("mi(?:100|210)"), "these GPUs of AMD"),
)
"""What texts name that no machine here is."""


TRAYS, WHOLE, PAIR = 18, 8, 2
"""Trays of a rack, GPUs of most hosts, hosts that one link joins: what machines have by themselves."""
_BARE = re.compile(
    r"(?<![a-z0-9])(?:\d{1,6} ?x ?)?(?:nvidia|amd)?(?:g?[abh]\d{2,3}s?|gb[23]00|mi\d{3}x?|v100)(?![0-9])"
)
"""A GPU's name alone: where it was, and what joined its hosts, is anybody's guess."""


def names_system(table: Table) -> bool:
    """Whether a file's name says more of the machine than its GPUs: a cloud's, a cluster's or a vendor's name for it.

    >>> [names_system(Table(name, "nccl-tests", ())) for name in ("azure-ndv4-2n.txt", "2x8xA100.txt")]
    [True, False]
    """
    rest = _BARE.sub(" ", _plain(table.file))
    return any(re.search(rule.pattern, rest) for rule in RULES)


NOT_SIMULATED: dict[str, str] = {
    "socket": "untold.sockets",
    "loop": "untold.interfaces",
    "shared": "untold.several_ranks",
}
"""Ways to join ranks that no machine has, and what is said of a table that was measured so."""
_NAMELESS, _NAMELESS_GPUS = "amd radeon graphics", ("mi250x", "mi300x", "mi350x", "mi355x")
"""What ROCm calls several GPUs whose name its tables lack."""
_MODEL = re.compile(r"[a-z]\d{1,4}|\b\d{3,4}d?\b|\btitan\b")
"""What a GPU's name has, where it tells which one it is."""


class UntoldError(InputError):
    """A table does not tell `missing`, its machine or its ranks; `why` leaves out how the terminal mends that."""

    def __init__(self, why: str, missing: str, /, **values: object) -> None:
        self.why, self.missing = Message(why, **values), missing
        by_name = why == "untold.machine"
        super().__init__("untold.add_name" if by_name else "untold.add", why=self.why, missing=missing)


def find_machine(table: Table) -> tuple[str, str]:
    """The spec of the machine with as many hosts as the ranks need, and what told it.

    Devices that the table lists are believed first, then the name of the file. Raises UntoldError where neither tells.
    """
    if table.kind == "named" and not any(row.algorithm.startswith("nccl_") for row in table.rows):
        raise UntoldError("untold.mpi", "machine", source=table.source)
    ranks = table.ranks
    pair = [int(word) for word in table.forced.get("pair", "").split(",") if word]
    ranks = max(ranks, *(gpu + 1 for gpu in pair), 0)
    if not ranks:
        raise UntoldError("untold.ranks", "ranks", source=table.source)
    if why := NOT_SIMULATED.get(transport_of(table)):
        raise UntoldError(why, "machine", source=table.source)
    sources = [("the devices it lists", " ".join(table.words)), ("the name of the file", table.file)]
    for where, text in sources if table.kind == "nccl-tests" else sources[::-1]:
        plain = _plain(text)
        for pattern, what in MISSING:
            if re.search(pattern, plain):
                raise UntoldError("untold.measured_on", "machine", source=table.source, what=Message(what))
        rule = next((rule for rule in RULES if re.search(rule.pattern, plain)), None)
        if rule is not None:
            if where.startswith("the devices"):
                rule = _more_exact(table.file, rule)
            each = table.each if 0 < table.each <= rule.gpus else rule.gpus
            return _spec(rule.machine, ranks, each, max(each, min(table.gpus_per_host, rule.gpus)), table), where
        if where.startswith("the devices"):
            _expect_known(table, plain)
    raise UntoldError("untold.machine", "machine", source=table.source)


def _expect_known(table: Table, plain: str) -> None:
    """Raise UntoldError for devices that no rule names: models no machine has, and AMD's without a name."""
    if _NAMELESS in plain and not any(re.search(rule.pattern, _plain(table.file)) for rule in RULES):
        raise UntoldError("untold.which_gpu", "machine", source=table.source, choices=_NAMELESS_GPUS)
    if table.kind == "nccl-tests" and _MODEL.search(plain):
        named = ", ".join(table.words)[:80]
        raise UntoldError("untold.measured_on", "machine", source=table.source, what=named)


def _words(**words: int | str) -> str:
    """Parameters that are given, as a spec has them behind the machine's name."""
    text = ",".join(f"{name}={value}" for name, value in words.items() if value)
    return f":{text}" if text else ""


def _plain(text: str) -> str:
    """In small letters, with hyphens for underscores, which would count as letters."""
    return text.lower().replace("_", "-")


def _more_exact(file: str, rule: Rule) -> Rule:
    """A cloud's machine with the same GPUs, if the file is named after one, where its devices only tell the GPU."""
    plain = ("dgx_a100", "dgx_h100", "dgx_h200", "dgx_b200")
    others = [other for other in RULES if other.generation == rule.generation and other.machine not in plain]
    if rule.machine not in plain:
        return rule
    return next((other for other in others if re.search(other.pattern, _plain(file))), rule)


def _spec(name: str, ranks: int, each: int, gpus: int, table: Table) -> str:
    """The machine's name with parameters that make room for the ranks, `each` on a host, among so many GPUs.

    Who sets NCCL_P2P_LEVEL for cards whose driver has no P2P has another driver.
    """
    hosts = math.ceil(ranks / each)
    several, cards = hosts if hosts > 1 else 0, gpus if gpus != WHOLE else 0
    reaches = table.forced.get("p2p_level") in ("PHB", "SYS")
    if name in ("gb200_nvl72", "gb300_nvl72"):
        racks = math.ceil(hosts / TRAYS)
        trays = math.ceil(hosts / racks)
        return name + _words(trays=trays if trays != TRAYS else 0, racks=racks if racks > 1 else 0)
    if name in ("dual_socket_pcie", GEFORCE) and hosts > 1 and each == 1:
        return f"geforce_rdma:hosts={hosts}"
    match name:
        case "gb10":
            return name + _words(hosts=hosts if hosts != PAIR else 0)
        case "rtx_5090":
            return name + _words(gpus=cards, p2p="yes" if reaches else "", hosts=several)
        case "l20":
            return name + _words(gpus=cards, p2p="all" if reaches else "")
        case "dual_socket_pcie":
            return name + _words(gpus=gpus, nics=1, hosts=several)
        case "geforce":
            return "dual_socket_pcie" + _words(gpus=gpus, nics=1, p2p="" if reaches else "no", hosts=several)
    return name + _words(hosts=several)
