"""NCCL's tuner beside the simulation of what it takes, on every machine of several hosts.

Run `python -m tests.benchmarks.choice [machine …]`. Both reckon with NCCL's own constants; a factor above `MOST` is
marked. The last column is the simulation with the machine's calibration, where measurements made one.
"""

import argparse
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ops.libraries.nccl.choice import choose, work_of
from ops.libraries.nccl.constants import POST_AMD
from ops.libraries.nccl.own.pace import Pace
from ops.run import execute
from sim.machines import MACHINES, build
from sim.parameters import parameters
from sim.units import GiB, MiB, fmt_size, fmt_time, parse_size

MOST = 1.5
HOSTS = (2, 4, 8, 16, 32)
SIZES = (1 * MiB, 32 * MiB, 1 * GiB, 8 * GiB)
COLLECTIVES = ("allreduce", "allgather", "reduce_scatter")
COUNTED = ("hosts", "racks", "nodes")
"""Parameters that say how many hosts a machine has."""

STOCK = Pace(amd_post=POST_AMD)
"""NCCL's own constants."""


class Cell(NamedTuple):
    """One size on one machine: s by the tuner, by the simulation with the same constants and with calibrated ones."""

    machine: str
    collective: str
    size: int
    algorithm: str
    tuner: float
    simulated: float
    calibrated: float

    @property
    def factor(self) -> float:
        """How far apart the two are, 1 or more."""
        return max(self.tuner / self.simulated, self.simulated / self.tuner)


def several(names: Sequence[str] = (), hosts: Sequence[int] = HOSTS) -> Iterator[str]:
    """Return the machines that have several hosts, with as many as are asked for."""
    for name, machine in MACHINES.items():
        counted = next((word for word in COUNTED if word in parameters(machine)), "")
        if counted and (not names or name in names):
            yield from (f"{name}:{counted}={count}" for count in hosts)


def cell(spec: str, collective: str, size: int) -> Cell:
    """Compare the two for one size."""
    machine = build(spec)
    choice = choose(machine, collective, size)
    chosen = choice.chosen
    times = [execute(machine, work_of(machine, choice, pace=pace), size).time for pace in (STOCK, None)]
    return Cell(spec, collective, size, f"{chosen.algorithm} {chosen.protocol}", chosen.time, *times)


def main() -> None:
    """Print the table and how many cells are too far apart."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.choice", description=__doc__)
    parser.add_argument("machines", nargs="*")
    parser.add_argument("--hosts", type=lambda text: [*map(int, text.split(","))], default=HOSTS)
    parser.add_argument("--sizes", type=lambda text: [*map(parse_size, text.split(","))], default=SIZES)
    asked = parser.parse_args()
    far = count = 0
    for spec in several(asked.machines, asked.hosts):
        for collective in COLLECTIVES:
            for size in asked.sizes:
                row = cell(spec, collective, size)
                far, count = far + (row.factor > MOST), count + 1
                print(
                    f"{spec:24} {collective:14} {fmt_size(size):>8}  {row.algorithm:16} {fmt_time(row.tuner):>9}"
                    f" {fmt_time(row.simulated):>9}  {row.factor:5.2f} {'<-' if row.factor > MOST else '  '}"
                    f" {fmt_time(row.calibrated):>9}",
                    flush=True,
                )
    print(f"{count - far} of {count} within a factor of {MOST}")


if __name__ == "__main__":
    main()
