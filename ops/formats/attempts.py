"""The form of a written program that is closest to the schedule's own time, within what the runtimes take."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sim.errors import Message
from sim.machines import build
from sim.schedule import Schedule
from sim.topology import Topology
from sim.units import MiB, fmt_time


@dataclass(frozen=True, slots=True)
class Attempt:
    """A text without its remarks, the limits it breaks by runtime, and the seconds it takes."""

    text: str
    broken: dict[str, Message]
    time: float
    distance: float
    """How far its time is from the schedule's, as a share of it."""


class Attempts:
    """What is written of a schedule, held against its time on a machine, or on an ideal switch."""

    def __init__(self, schedule: Schedule, machine: Topology | None, read: Callable[[str, str], Schedule]) -> None:
        if machine is None or len(machine.ranks) != schedule.n:
            machine = build(f"switch:ranks={schedule.n}")
        self.schedule, self.machine, self._read = schedule, machine, read
        self.time = self._seconds(schedule)

    def attempt(self, text: str, broken: dict[str, Message]) -> Attempt:
        """A text that was written, with the limits it breaks; its chunks are as large as the schedule's."""
        written = self._read(text, self.schedule.name)
        time = self._seconds(written, MiB * self.schedule.unit_share / written.unit_share)
        distance = round(abs(time / self.time - 1), 9) if self.time else 0
        return Attempt(text, broken, time, distance)

    def closest(self, texts: Iterable[tuple[str, dict[str, Message]]]) -> Attempt | None:
        """The first that takes the schedule's time, or the one that comes closest to it."""
        best: Attempt | None = None
        for text, broken in texts:
            made = self.attempt(text, broken)
            if best is None or made.distance < best.distance:
                best = made
            if not best.distance:
                break
        return best

    def remarks(self, made: Attempt) -> list[str]:
        """What the file says of itself: limits, and both times where they differ."""
        remarks = [f"{limit}: write fewer ranks for it" for limit in made.broken.values()]
        if made.distance:
            remarks.append(
                f"1 MiB takes {fmt_time(made.time)} on {self.machine.name} as written here, and {fmt_time(self.time)}"
                " as scheduled: lines of a thread block follow each other, and messages wait at their receiver"
            )
        return remarks

    def _seconds(self, schedule: Schedule, size: float = MiB) -> float:
        from sim.engine import simulate  # SimPy is for those who write, not for those who list formats

        return simulate(self.machine, schedule, size=size).time
