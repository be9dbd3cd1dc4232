"""Texts that repeat one thing: whoever looks for a pattern in them must not look from every place to the end.

`python -m tests.attack.repeated [CHARACTERS]` reads all of them with every reader and prints what takes over a second
of the processor, what is told in more than 400 characters and what is no sentence.
"""

import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from ops.formats import check_schedule
from ops.measured.files import read_tables
from ops.request import scenario
from ops.training.layers import parse_layers
from sim.errors import LONGEST, InputError
from sim.formats import read_topology

PATIENCE = 20.0
"""Seconds of the processor after which a text is given up."""
READERS: dict[str, Callable[[str], Any]] = {
    "a topology": lambda text: read_topology(text, "it"),
    "a schedule": lambda text: check_schedule(text, "it"),
    "measurements": lambda text: read_tables(text, "it"),
    "layers": parse_layers,
    "a scenario": lambda text: scenario.from_yaml(text, "it"),
}
HEADS = (
    "", "x\n", "<system version='1'>\n", "\tGPU0\tGPU1\n", "ringside: 1\n", "npus_count: [4]\n", "num_ranks 2\n",
    '{"gpus": [', "<algo ", "# nccl-tests\n#       size\n", "# OSU MPI Allreduce Latency Test\n",
    "collective,bytes,median_us\n",
)  # fmt: skip
TOKENS = (
    *(
        "\n",
        " ",
        "\t",
        "\r\n",
        "  \n",
        "=",
        "-",
        "|",
        "| ",
        "#",
        "# ",
        "/*",
        "/* ",
        "//",
        "<",
        "<!--",
        "[",
        "{",
        "(",
        '"',
    ),
    *(
        "'",
        "`",
        "0",
        "1,",
        "1 ",
        "-1",
        "9",
        "e",
        ":",
        " :",
        "+",
        ">",
        "> ",
        "&nbsp;",
        "<br>",
        "\x1b[",
        "\x1b[0m",
        "\ud800",
    ),
    *("<topology ", "<system ", "<platform ", "<topology>", "<object ", "<!DOCTYPE ", "²", "–", "é", "中", "\x00"),
    *("GPU", "GPU0 ", "GPU0\t", "GPU0\n", "GPU[0]\t: ", "NV1 ", "NV12", "mlx5_0 ", "X ", "Legend:", "CPU Affinity "),
    *("rank ", "Rank 0 ", "num_ranks ", "l1: ", "requires ", "# OSU MPI ", "npus_count", "ringside", " ringside "),
    *(
        "a: ",
        "- ",
        "  - a\n",
        "a: b\n",
        "a,b,c\n",
        "x 1x1 1ms 1ms\n",
        "1x1x",
        "[1,0]<stdout>: ",
        "node1: ",
        "worker-1  | ",
    ),
    *(
        "2026-01-01T00:00:00 ",
        "====== Weight between two GPUs =",
        "out-of-place ",
        "1048576 ",
        "GPU: 0\n",
        "ACCESS TABLE:",
    ),
)


class LateError(BaseException):
    """A text takes too long; not an Exception, so that no reader takes it for a slip."""


def seconds(read: Callable[[str], Any], text: str) -> float:
    """The processor's time for a text, which is read or refused in a sentence. Raises LateError, and what is none."""

    def late(*_: object) -> None:
        raise LateError

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
    began = time.process_time()
    try:
        read(text)
    except InputError as error:
        if len(str(error)) > LONGEST:
            raise ValueError(f"a refusal of {len(str(error)):,} characters") from error
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return time.process_time() - began


def main(length: int = 100_000) -> int:
    """Every text with every reader; returns how many were wrong."""
    wrong = 0
    for what, read in READERS.items():
        for head in HEADS:
            for token in TOKENS:
                said = ""
                try:
                    took = seconds(read, head + token * (length // len(token)))
                    said = f"{took:.1f} s" if took > 1 else ""
                except LateError:
                    said = "too long"
                except Exception as error:  # noqa: BLE001  whatever a reader lets through is what is looked for
                    said = repr(error)[:200]
                if said:
                    print(f"{what}: {head!r} and many {token!r}: {said}", flush=True)
                    wrong += not said.endswith(" s")
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main(*map(int, sys.argv[1:]))))
