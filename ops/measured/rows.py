"""One measured time, wherever it comes from."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sim.base.files.textfile import check_names


@dataclass(frozen=True, slots=True)
class Measured:
    """So many bytes, as nccl-tests counts them, took so many seconds; `line` is where that stands in the file.

    `ranks` is 0 and `collective` empty where the file does not tell. `in_place` is the second time nccl-tests prints,
    0 where there is none. `algorithm` is what the file calls the algorithm, if it does.
    """

    collective: str
    ranks: int
    size: int
    seconds: float
    in_place: float = 0.0
    algorithm: str = ""
    line: int = 0


Seats = tuple[tuple[str, int], ...]
"""Host and device by rank."""


def apart(seats: Sequence[tuple[str, int]], ranks: int) -> Seats:
    """Where so many ranks run; nothing where that does not tell each from all others."""
    return tuple(seats) if len(set(seats)) == len(seats) == ranks else ()


@dataclass(frozen=True)
class Table:
    """Rows that were measured together on one machine.

    `gpus_per_host` is one more than the largest device the file lists, 0 where it lists none; `words` everything in it
    that may name the machine, best first; `unread` tells why lines were left out, and which; `messages` is how many
    messages of the size are under way at once in one of these times.
    """

    source: str
    kind: str
    rows: tuple[Measured, ...]
    ranks: int = 0
    gpus_per_host: int = 0
    words: tuple[str, ...] = ()
    unread: tuple[tuple[str, tuple[int, ...]], ...] = ()
    messages: int = 1
    devices: Seats = ()
    """Where every rank runs, if the file tells that of all of them."""
    forced: Mapping[str, str] = field(default_factory=dict)
    """What is told of the run: NCCL_ALGO as `algorithm`, NCCL_PROTO as `protocol`, the two GPUs of a test as `pair`,
    NCCL's release as `nccl`, and `transport`, by which its ranks were joined: socket, shm, ib or no-gdr."""

    notes: tuple[str, ...] = ()
    """What was read otherwise than the file says in one place, as it says in others."""

    def __post_init__(self) -> None:
        check_names([self.source], "table")
        check_names((host for host, _ in self.devices), "host")
        check_names((row.algorithm for row in self.rows), "algorithm")
        check_names(self.forced.values(), "setting")

    @property
    def each(self) -> int:
        """GPUs that take part on the fullest host; 0 untold."""
        return max(Counter(host for host, _ in self.devices).values(), default=self.gpus_per_host)

    @property
    def file(self) -> str:
        """The name of the file alone, wherever it lies."""
        return self.source.replace("\\", "/").rpartition("/")[2]

    @property
    def of_system(self) -> bool:
        """Whether it is one of several systems' tables in a file, of which the first of `words` is this one's."""
        return self.kind == "nccl-tests" and self.file.endswith(".csv") and bool(self.words)
