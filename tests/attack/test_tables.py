"""A small seeded part of `python -m tests.attack.tables`: damage is named, and what it took is computed again."""

import random
import subprocess
import sys

import pytest

from ops.lab.grid import Grid
from tests.attack.tables import (
    COMMAND,
    ROOT,
    Prepared,
    disturbed,
    end,
    ending_after,
    full,
    journal_of,
    refused,
    small_disk,
)
from tests.ops.lab.clusters import lines, wait_for

TWO = Grid(algorithms=["allreduce.ring"], machines=["switch:ranks=2"], sizes=["1KiB..1GiB"])


@pytest.fixture(scope="module")
def prepared():
    return Prepared(TWO)


@pytest.mark.parametrize("kind", ["flip", "end", "slice", "zeros"])
def test_a_damaged_sweep_loses_no_row_and_takes_none_for_right(kind, prepared, tmp_path):
    draw = random.Random(kind)
    said = [disturbed(prepared, tmp_path / "sweep", draw, kind) for _ in range(6)]
    assert any(line.startswith("journal: 1 named") for line in said)
    assert "table: named, and computed again" in said


def test_a_disk_that_fills_is_one_sentence_and_loses_no_row(prepared, tmp_path, monkeypatch):
    monkeypatch.setattr("tests.attack.tables.small_disk", lambda folder, size: ending_after(size))  # needs no rights
    draw = random.Random(2)
    said = {full(prepared, tmp_path / "sweep", draw) for _ in range(8)}
    assert said == {"there was room", "told in one sentence"}


def test_every_kind_of_place_of_a_table_is_watched(prepared, tmp_path):
    """The pages, both marks, the checksum between them, the footer, its length and the last four letters."""
    table = tmp_path / "t.parquet"
    prepared.sweep(table)
    data = table.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    for at in (
        0,
        4,
        footer // 2,
        footer - 64,
        footer - 40,
        footer - 1,
        footer,
        footer + 500,
        *range(len(data) - 8, len(data)),
    ):
        table.write_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])
        assert refused(table), at
    table.write_bytes(data)
    assert not refused(table)


def test_a_small_disk_is_one(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    with small_disk(folder, 8192), pytest.raises(OSError, match=r"No space left|File too large"):
        (folder / "file").write_bytes(bytes(1 << 20))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["SIGTERM", "SIGKILL"])
def test_processes_end_with_the_sweep_that_started_them_and_hold_no_output(kind, tmp_path):
    table, pipe = tmp_path / "t.parquet", subprocess.PIPE
    command = [sys.executable, *COMMAND, "-o", str(table)]
    running = subprocess.Popen(command, cwd=ROOT, start_new_session=True, stdout=pipe, stderr=subprocess.STDOUT)
    wait_for(lambda: lines(journal_of(table)), running)
    end(running, kind)
