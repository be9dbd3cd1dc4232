"""Sweeps that are killed, flipped, cut and filled: every row right, or named and computed again; none lost, none wrong.

    python -m tests.attack.tables [kills] [flips] [cuts] [disk] [SEED]

`kills` ends real sweeps at random moments and goes on with them. The others carry out the same sweep with rows that
were made before: one bit of its journal or its table is flipped, a slice of one is cut out or zeroed, and
the disk ends after a random number of bytes. Prints what came of each; the status is 1 where a row was lost or wrong
without a word, or a process outlived its parent.
"""

import contextlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from unittest import mock

from ops.lab.cells import Row, name_of, row
from ops.lab.checksums import sealed
from ops.lab.grid import Grid
from ops.lab.journal import read_table
from ops.lab.pool import Pool
from ops.lab.sweep import Swept, sweep
from ops.plan import Plan
from sim.errors import InputError
from tests.ops.lab.clusters import AXES

ROOT = Path(__file__).resolve().parents[2]
GRID = Grid(**AXES)
COMMAND = [
    *("cli.py", "sweep", *AXES["algorithms"], "--sizes", ",".join(AXES["sizes"]), "--seeds", "1,2,3", "--jobs", "2"),
    *(word for text in AXES["machines"] for word in ("--machine", text)),
    *(word for text in AXES["faults"] for word in ("--fault", text)),
]
KILLS, FLIPS, CUTS, DISKS = 50, 200, 20, 50


class LostError(AssertionError):
    """A row is missing or wrong, and nobody said so."""


class Prepared:
    """The rows of the grid, and the table that an undisturbed sweep makes of them."""

    def __init__(self, grid: Grid = GRID) -> None:
        self.grid = grid
        made = [row(cell) for cell in grid.cells()]
        self.rows: dict[str, Row] = {str(one["cell"]): one for one in made}
        self.bytes = sum(len(sealed(one)) for one in self.rows.values())
        with tempfile.TemporaryDirectory() as folder:
            self.table = self.sweep(Path(folder) / "t.parquet").table

    def sweep(self, table: Path, after: int = 1 << 30) -> Swept:
        """The sweep, with these rows, a few at a time; it is interrupted when it has so many of them."""

        def submit(batch: Sequence[Plan]) -> Future[list[Row]]:
            done: Future[list[Row]] = Future()
            done.set_result([self.rows[name_of(cell)] for cell in batch[:5]])
            return done

        @contextlib.contextmanager
        def pool(jobs: int = 0) -> Iterator[Pool]:
            yield Pool(submit, jobs or 1, ())

        def progress(done: int, of: int) -> None:
            if done >= after:
                raise KeyboardInterrupt

        with mock.patch("ops.lab.sweep.cores", pool):
            return sweep(self.grid, table, jobs=1, progress=progress)

    def begun(self, folder: Path, draw: random.Random) -> Path:
        """A sweep that stopped somewhere, in a folder of its own."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        with contextlib.suppress(KeyboardInterrupt):
            self.sweep(folder / "t.parquet", draw.randrange(1, len(self.rows) - 5))
        return folder / "t.parquet"

    def check(self, swept: Swept, what: str) -> None:
        """Raise LostError for a table that is not the undisturbed one."""
        if not swept.table.equals(self.table):
            raise LostError(f"{what}: the table differs")


def journal_of(table: Path) -> Path:
    return table.with_name(table.name + ".journal")


def refused(table: Path) -> str:
    """What is said of a table that is damaged; nothing of one that is read as it was."""
    try:
        read_table(table)
    except InputError as error:
        said = str(error)
        if not said or "\n" in said:
            raise LostError(f"no sentence: {said!r}") from error
        return said
    return ""


def damage(data: bytes, draw: random.Random, kind: str) -> bytes:
    """Bytes with one bit flipped, or with a slice cut out, cut off or zeroed."""
    at = draw.randrange(len(data))
    if kind == "flip":
        return data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]
    end = min(len(data), at + draw.randrange(1, 1 + len(data) // 3))
    return data[:at] + {"end": b"", "slice": data[end:], "zeros": bytes(end - at) + data[end:]}[kind]


def disturbed(prepared: Prepared, folder: Path, draw: random.Random, kind: str) -> str:
    """Damage the journal or the table of a sweep, and go on. Returns what was said of it."""
    table = prepared.begun(folder, draw)
    if draw.random() < 0.5:
        path = journal_of(table)
        before = path.read_bytes()
        path.write_bytes(damage(before, draw, kind))
        gone = before.count(b"\n") - sum(line in before.splitlines() for line in path.read_bytes().splitlines())
        swept = prepared.sweep(table)
        prepared.check(swept, f"{kind} in a journal")
        if kind == "flip" and not swept.damaged:
            raise LostError("a flipped bit of a journal was not named")
        return f"journal: {len(swept.damaged)} named" if swept.damaged else f"journal: {gone > 0 and 'cut at a line'}"
    prepared.sweep(table)
    before = table.read_bytes()
    table.write_bytes(damage(before, draw, kind))
    if table.read_bytes() == before:
        return "table: the same bytes"
    said = refused(table)
    if not said:
        raise LostError(f"{kind}: a damaged table was read without a word")
    try:
        prepared.sweep(table)
        raise LostError(f"{kind}: a sweep went on with a damaged table")
    except InputError:
        pass
    table.rename(table.with_name("aside.parquet"))
    prepared.check(prepared.sweep(table), f"{kind} in a table")
    return "table: named, and computed again"


@contextlib.contextmanager
def ending_after(size: int) -> Iterator[None]:
    """Files of this process end after so many bytes, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, old)


@contextlib.contextmanager
def small_disk(folder: Path, size: int) -> Iterator[None]:
    """A file system of so many bytes in a folder, where we may make one; otherwise files that end there."""
    pages = max(4, size // 4096)
    mounted = shutil.which("mount") and os.geteuid() == 0
    done = mounted and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={pages * 4096}", "none", str(folder)], capture_output=True, check=False
    )
    if done and not done.returncode:
        try:
            yield
        finally:
            copy = folder.with_name(folder.name + "-copy")
            shutil.copytree(folder, copy)
            subprocess.run(["umount", str(folder)], check=True)
            shutil.rmtree(folder)
            copy.rename(folder)
        return
    with ending_after(size):
        yield


def full(prepared: Prepared, folder: Path, draw: random.Random) -> str:
    """Sweep on a disk that is too small, then with room. Returns what was said of it."""
    table = prepared.begun(folder, draw)
    old = draw.random() < 0.3
    if old:
        prepared.sweep(table)
        before = table.read_bytes()
        journal_of(table).write_bytes(b"")
    shutil.move(folder, folder.with_name("kept"))
    folder.mkdir()
    with small_disk(folder, draw.randrange(4 << 10, 2 * prepared.bytes)):
        with contextlib.suppress(OSError, shutil.Error):
            for path in folder.with_name("kept").iterdir():
                shutil.copy(path, folder)
        try:
            prepared.check(prepared.sweep(table), "a small disk")
            said = "there was room"
        except InputError as error:
            said = "told in one sentence"
            if "cannot be written" not in str(error) and "damaged" not in str(error):
                raise LostError(f"a full disk is told as {error}") from error
    shutil.rmtree(folder.with_name("kept"))
    if old and table.exists() and not refused(table) and not read_table(table).equals(prepared.table):
        raise LostError("a table was overwritten by a part of itself")
    if table.exists() and refused(table):  # it was copied on the full disk, by us
        table.unlink()
    if old:
        table.write_bytes(before)
    prepared.check(prepared.sweep(table), "after a full disk")
    left = [path.name for path in folder.iterdir() if path.name.endswith(".writing")]
    if left:
        raise LostError(f"{left} was left behind")
    return said


def group_of(process: subprocess.Popen[bytes]) -> list[int]:
    """The processes of a session that still run."""
    found = subprocess.run(
        ["ps", "-o", "pid=,stat=", "--sid", str(process.pid)], capture_output=True, text=True, check=False
    )
    return [int(line.split()[0]) for line in found.stdout.splitlines() if "Z" not in line.split()[1]]


def killed(running: subprocess.Popen[bytes], draw: random.Random, table: Path, whole: float) -> bool:
    """Wait for a random moment of `whole` seconds, or until a random number of rows are there; False if it ended."""
    until, rows_there = time.monotonic() + draw.uniform(0.2, whole), 0
    if draw.random() < 0.5:
        until, rows_there = time.monotonic() + 2 * whole, draw.randrange(1, len(GRID.cells()) + 1)
    while running.poll() is None and time.monotonic() < until:
        with contextlib.suppress(FileNotFoundError):
            if rows_there and journal_of(table).read_bytes().count(b"\n") >= rows_there:
                time.sleep(draw.uniform(0, 0.05))
                break
        time.sleep(0.002)
    return running.poll() is None


def end(running: subprocess.Popen[bytes], kind: str) -> None:
    """Kill a sweep. Raises LostError where a process of it outlives its parent, or holds its output."""
    if kind == "SIGKILL to all":
        os.killpg(running.pid, signal.SIGKILL)
    else:
        running.send_signal(getattr(signal, kind))
    running.communicate(timeout=20)
    until = time.monotonic() + 20
    while group_of(running):
        if time.monotonic() > until:
            raise LostError(f"{group_of(running)} outlived {kind} of their parent")
        time.sleep(0.1)


def kills(prepared: Prepared, folder: Path, draw: random.Random, count: int) -> Iterator[str]:
    """Kill sweeps at random moments, and go on until each is done; each must come to the undisturbed table."""
    table, ended, whole = folder / "t.parquet", 0, 0.0
    while ended < count:
        begun = time.monotonic()
        running = subprocess.Popen(
            [sys.executable, *COMMAND, "-o", str(table)], cwd=ROOT, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        kind = draw.choice(("SIGKILL", "SIGTERM", "SIGKILL to all"))
        if whole and killed(running, draw, table, whole):
            end(running, kind)
            ended += 1
            yield f"{kind} {'among rows' if journal_of(table).exists() else 'before or after all rows'}"
            continue
        said, _ = running.communicate()
        if running.returncode:
            raise LostError(f"a sweep ended with {running.returncode}: {said[:300]!r}")
        whole = whole or time.monotonic() - begun
        if not read_table(table).equals(prepared.table):
            raise LostError("a sweep that was killed has another table")
        table.unlink()
        yield "done"
    prepared.check(sweep(GRID, table, jobs=2), "the last sweep")


def seen(said: Iterator[str]) -> Iterator[str]:
    """What is said, on the side as well: kills take minutes."""
    for number, line in enumerate(said, 1):
        print(f"{number}: {line}", file=sys.stderr, flush=True)
        yield line


def carry_out(what: list[str], seed: int) -> dict[str, Counter[str]]:
    """All that was asked for, and what came of it."""
    prepared, draw = Prepared(), random.Random(seed)
    found: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "sweep"
        folder.mkdir()
        if "kills" in what:
            found["kills"] = Counter(seen(kills(prepared, folder, draw, KILLS)))
        if "flips" in what:
            found["flips"] = Counter(disturbed(prepared, folder, draw, "flip") for _ in range(FLIPS))
        if "cuts" in what:
            shapes = ("end", "slice", "zeros")
            found["cuts"] = Counter(disturbed(prepared, folder, draw, draw.choice(shapes)) for _ in range(CUTS))
        if "disk" in what:
            found["disk"] = Counter(full(prepared, folder, draw) for _ in range(DISKS))
    return found


def main(words: list[str]) -> int:
    seed = next((int(word) for word in words if word.isdigit()), 1)
    what = [word for word in words if not word.isdigit()] or ["kills", "flips", "cuts", "disk"]
    try:
        for name, counts in carry_out(what, seed).items():
            print(f"{name}: {', '.join(f'{count} x {said}' for said, count in counts.most_common())}")
    except LostError as lost:
        print(f"LOST: {lost}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
