"""What a machine should reach: time, bandwidth and error band of NCCL's collectives by size."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from os import PathLike
from typing import Any

from ops.lab.grid import sizes_of
from ops.libraries.nccl.own.band import band_of
from ops.plan.call import placed_plan
from ops.plan.model import Plan
from ops.plan.notation import size_word
from sim.errors import InputError
from sim.machines import MACHINES
from sim.parameters import parse_spec, written
from sim.topology import Topology
from sim.units import fmt_bandwidth, fmt_object, fmt_size, fmt_time

USUAL = ("allreduce", "allgather", "reduce_scatter", "alltoall")
"""Collectives where none is named."""
SIZES = "1KiB..2GiB*8"
"""Sizes where none is given."""
PER_HOST = ("hosts", "nodes", "racks")
"""Parameters of machines that say how many hosts they have, first match first."""


@dataclass(frozen=True)
class ExpectedRow:
    """What one collective of one size should take.

    Parameters
    ----------
    collective : str
        Name of the collective.
    ranks : int
        Number of ranks.
    hosts : int
        Number of hosts that these ranks are on.
    size : int
        Bytes as nccl-tests counts them.
    time : float
        Expected time, s.
    algbw : float
        Size over time, B/s.
    busbw : float
        Bus bandwidth, B/s.
    band : float
        Four of five measurements differ by this share at most; None where no data stands behind a band.
    bound : float
        Lower bound of the time, s; None where none is has.
    link : str
        The busiest link, `A -> B`; empty where nothing moves.
    algorithm : str
        NCCL's algorithm.
    protocol : str
        NCCL's protocol.
    """

    collective: str
    ranks: int
    hosts: int
    size: int
    time: float
    algbw: float
    busbw: float
    band: float | None
    bound: float | None
    link: str
    algorithm: str
    protocol: str

    @property
    def least_busbw(self) -> float | None:
        """The lower end of the band, B/s; None without one."""
        return None if self.band is None else self.busbw / (1 + self.band)

    @property
    def most_busbw(self) -> float | None:
        """The upper end of the band, B/s; None without one."""
        return None if self.band is None else self.busbw * (1 + self.band)

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**asdict(self), "least_busbw": self.least_busbw}

    def __repr__(self) -> str:
        within = "" if self.band is None else f" within {self.band:.0%}"
        words = f"{self.collective} {fmt_size(self.size)} on {self.ranks} ranks: {fmt_time(self.time)}{within}"
        return fmt_object("ExpectedRow", f"{words}, busbw {fmt_bandwidth(self.busbw)}, by {self.link or 'no link'}")


def expected(
    machine: str | PathLike[str] | Topology,
    collectives: Sequence[str] | str = USUAL,
    sizes: Sequence[int | str] | str = SIZES,
    *,
    ranks: int = 0,
    calibration: str = "",
) -> tuple[ExpectedRow, ...]:
    """Predict NCCL's collectives on a machine: time, bandwidth, error band, lower bound and limiting link.

    Parameters
    ----------
    machine : str, path or Topology
        The machine: a name like `dgx_h100:hosts=4`, the text or the path of a capture, or a Topology.
    collectives : list of str or str
        Names of collectives, like `allreduce`.
    sizes : list of int or str
        Bytes as nccl-tests counts them, like `64MiB`, or a range `1KiB..1GiB*4`.
    ranks : int
        Number of ranks; 0 for all.
    calibration : str
        Numbers measured on the machine, as `calibrate` fits them: `hop_4.2us,share_0.93`.

    Returns
    -------
    tuple of ExpectedRow
        A row per collective and size.

    Raises
    ------
    InputError
        If a value cannot be used.

    Examples
    --------
    >>> expected("dgx_h100", "allreduce", "64MiB")[0]
    <ExpectedRow allreduce 64 MiB on 8 ranks: 334.2 µs within 7%, busbw 351.4 GB/s, by GPU0 -> NVS0>
    """
    plan, topology = placed_plan(Plan(ranks=ranks, calibration=calibration), machine)
    return tuple(rows_of(plan, topology, _listed(collectives), _sizes(sizes)))


def rows_of(plan: Plan, topology: Topology, collectives: Iterable[str], sizes: Sequence[int]) -> list[ExpectedRow]:
    """A row for every collective and size of a plan's machine. Raises InputError."""
    return [_row(plan, topology, name, size) for name in collectives for size in sizes]


def with_hosts(spec: str, hosts: int) -> str:
    """A machine's spec with so many hosts. Raises InputError for a machine without such a parameter.

    >>> with_hosts("dgx_h100", 4), with_hosts("nodes:nodes=2,gpus=4", 8)
    ('dgx_h100:hosts=4', 'nodes:gpus=4,nodes=8')
    """
    name, arguments = parse_spec(spec)
    has = MACHINES.parameters(name)
    key = next((key for key in PER_HOST if key in has), None)
    if key is None:
        raise InputError("expected.hosts", machine=name, choices=list(has))
    rest = {word: value for word, value in arguments.items() if word != key}
    return f"{name}:{written({**rest, key: str(hosts)})}"


def _row(plan: Plan, topology: Topology, collective: str, size: int) -> ExpectedRow:
    plan_of_row = replace(plan, algorithm=f"nccl.{collective}", size=size_word(size))
    run = plan_of_row.prepare(topology).run(written=0)
    settings: dict[str, Any] = dict(run.work.settings)
    busiest, ranks = run.bottleneck, run.timing.ranks
    return ExpectedRow(
        collective,
        ranks,
        len({int(topology.nodes[device]) for device in topology.ranks[:ranks]}),
        size,
        run.time,
        run.algbw,
        run.busbw,
        band_of(topology, settings, size, run.timing.faults),
        run.bound or None,
        f"{busiest.src} -> {busiest.dst}" if busiest else "",
        settings["nccl"],
        settings["protocol"],
    )


def _listed(names: Sequence[str] | str) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _sizes(sizes: Sequence[int | str] | str) -> list[int]:
    texts = [sizes] if isinstance(sizes, str) else list(sizes)
    return sizes_of([size_word(size) if isinstance(size, int) else size for size in texts])
