"""What share of its machine a measured run reaches, and which link limits the machine."""

from collections.abc import Sequence
from dataclasses import dataclass

from ops.expected import rows_of
from ops.libraries.nccl.own.band import band_at
from ops.measured.comparison import Compared
from ops.plan import Plan
from sim.errors import InputError
from sim.topology import Topology


@dataclass(frozen=True)
class Reached:
    """The largest row of a table beside what is expected, as bus bandwidths, B/s.

    `band` is the share within which four of five healthy rows lie, None where none is known. `link` limits the
    machine, `kind` is that link's; both are empty where they are unknown.
    """

    row: Compared
    measured: float
    expected: float
    band: float | None
    link: str
    kind: str

    @property
    def share(self) -> float:
        """The measured share of the expected bandwidth."""
        return self.measured / self.expected

    @property
    def least(self) -> float:
        """The lower end of the band."""
        return self.expected / (1 + (self.band or 0.0))

    @property
    def most(self) -> float:
        """The upper end of the band."""
        return self.expected * (1 + (self.band or 0.0))

    @property
    def verdict(self) -> str:
        """`below`, `inside` or `above` the band; `untold` without a band."""
        if self.band is None:
            return "untold"
        return "below" if self.measured < self.least else "above" if self.measured > self.most else "inside"


def reached(topology: Topology, rows: Sequence[Compared]) -> Reached | None:
    """What a table reaches at its largest size; None for a table of what NCCL does not run by itself."""
    row = max(rows, key=lambda each: each.size, default=None)
    if row is None or row.algorithm:
        return None
    try:
        (expected,) = rows_of(Plan(ranks=row.ranks), topology, [row.collective], [row.size])
    except InputError:
        return None
    kinds = {f"{link.src} -> {link.dst}": link.kind for link in topology.links}
    bytes_of_bus = expected.busbw * expected.time
    return Reached(
        row,
        bytes_of_bus / row.measured,
        bytes_of_bus / row.simulated,
        band_at(topology, row.size, row.ranks),
        expected.link,
        kinds.get(expected.link, ""),
    )
