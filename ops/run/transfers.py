"""The transfers of a run by the names of their ends: one by one, or as a table."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sim.schedule import REDUCE
from sim.schedule.switch_devices import switch_devices
from sim.topology.devices import names_of
from sim.trace import Trace
from sim.units import fmt_object, fmt_size, fmt_time

if TYPE_CHECKING:
    import pandas as pd


class Transfer(NamedTuple):
    """One transfer: ranks and devices at its ends, and its times in seconds from the beginning of the run.

    `step` counts from 1, `op` is `copy` or `reduce`, `bytes` is its size. It flows from `start_s` on, and its data is
    in place, and reduced, at `end_s`.
    """

    step: int
    src: int
    dst: int
    src_device: str
    dst_device: str
    op: str
    bytes: float
    start_s: float
    end_s: float

    def __repr__(self) -> str:
        ends = f"rank {self.src} ({self.src_device}) -> rank {self.dst} ({self.dst_device})"
        load = f"{self.op} {fmt_size(self.bytes)}" if self.bytes else self.op
        return fmt_object("Transfer", f"{ends}: {load}, {fmt_time(self.start_s)} to {fmt_time(self.end_s)}")


def named(trace: Trace, numbers: Sequence[int]) -> list[Transfer]:
    """Return some transfers of a trace, given by their numbers, in that order."""
    table = columns(trace, np.asarray(numbers, np.int64))
    return [Transfer(*row) for row in zip(*(column.tolist() for column in table.values()), strict=True)]


def frame(trace: Trace) -> "pd.DataFrame":
    """Return all transfers of a trace as a table. Raises ImportError where pandas is missing."""
    try:
        import pandas as pd
    except ModuleNotFoundError:
        raise ImportError("a table of transfers needs pandas: run `pip install pandas`") from None
    return pd.DataFrame(columns(trace))


def columns(trace: Trace, rows: Any = slice(None)) -> Mapping[str, Any]:
    """Return the fields of `Transfer` as arrays, of all transfers or of some rows."""
    schedule, machine = trace.schedule, trace.topology
    playing = list(machine.ranks[: schedule.n])
    devices = np.array([*playing, *switch_devices(machine, schedule, playing)], np.int64)
    names = np.array([*names_of(machine.devices)])
    src, dst = schedule.src[rows], schedule.dst[rows]
    return {
        "step": schedule.step_of[rows] + 1,
        "src": src,
        "dst": dst,
        "src_device": names[devices[src]],
        "dst_device": names[devices[dst]],
        "op": np.where(schedule.op[rows] == REDUCE, "reduce", "copy"),
        "bytes": trace.bytes[rows],
        "start_s": trace.start[rows] - trace.began,
        "end_s": trace.end[rows] - trace.began,
    }
