"""Journals and tables that are not what was written, locks two sweeps reach for, and the order in which is synced."""

import errno
import fcntl
import json
import os
from contextlib import suppress
from hashlib import blake2b
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.lab import journal as module
from ops.lab.checksums import LONGEST_LINE, DamageError, checked_table, opened, sealed
from ops.lab.journal import SCHEMA, Journal, read_table
from sim.errors import InputError


def row(k: int, **other) -> dict:
    words = {"cell": f"c{k}", "collective": "allreduce", "algorithm": "allreduce.ring", "settings": "segments=3"}
    words |= {"machine": "switch:ranks=4", "ranks": 4, "size_bytes": k, "fault": "", "seed": None, "time_s": 1e-05}
    return words | {"verified": True, "reason": None} | other


def plain(k: int, **other) -> bytes:
    """A row as it was written before lines had checksums."""
    return json.dumps(row(k, **other)).encode() + b"\n"


def sealed_at_its_end(k: int, **other) -> bytes:
    """A row as it was written while a line's checksum was its last key."""
    body = json.dumps(row(k, **other))[:-1]
    return f'{body}, "check": "{blake2b(body.encode(), digest_size=8).hexdigest()}"}}\n'.encode()


HUGE = b'{"cell": "' + b"x" * (3 * LONGEST_LINE) + b'"}\n'
BAD = {
    "a flipped digit": (sealed(row(1)).replace(b"1e-05", b"3e-05"), "its checksum does not fit"),
    "a flipped checksum": (sealed(row(1)).replace(b'"check": "', b'"check": "g', 1), "its checksum does not fit"),
    "a checksum of something else": (plain(1)[:-2] + b', "check": 5}\n', "its checksum does not fit"),
    "no checksum in its place": (plain(1)[:-2] + b', "check": null}\n', "its checksum does not fit"),
    "NULs": (bytes(4096) + b"\n", "it is no JSON"),
    "an empty line": (b"\n", "it is no JSON"),
    "no UTF-8": (b'{"cell": "\xff\xfe"}\n', "it is no JSON"),
    "NaN": (plain(1).replace(b"1e-05", b"NaN"), "it is no JSON"),
    "a number without end": (plain(1).replace(b"1e-05", b"1" * 5000), "it is no JSON"),
    "deep nesting": (b"[" * 100_000 + b"\n", "it is no JSON"),
    "a list": (b"[1, 2]\n", "it is no row"),
    "no cell": (b'{"ranks": 4}\n', "it names no cell"),
    "a cell that is a list": (b'{"cell": [1]}\n', "it names no cell"),
    "a text for a number": (plain(1, ranks="four"), "ranks is no int64"),
    "a number for a text": (plain(1, machine=7), "machine is no string"),
    "yes for a number": (plain(1, transfers=True), "transfers is no int64"),
    "beyond 64 bits": (plain(1, size_bytes=1 << 63), "size_bytes is no int64"),
    "a whole time beyond 64 bits": (plain(1, time_s=1 << 63), "time_s is no double"),
    "a whole time that no double can hold": (plain(1, time_s=(1 << 53) + 1), "time_s is no double"),
    "an endless time": (plain(1).replace(b"1e-05", b"1e999"), "time_s is no double"),
    "half a letter": (plain(1, reason="\ud800"), "reason is no string"),
    "another field": (plain(1, colour="red"), "a table has no column 'colour'"),
    "a line without end": (HUGE, "it is far too long"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_damaged_row_is_named_and_set_aside_and_the_others_stay(name, tmp_path):
    bad, why = BAD[name]
    path = tmp_path / "t.parquet.journal"
    path.write_bytes(sealed_at_its_end(0) + bad + plain(2) + sealed(row(3)))
    journal = Journal(tmp_path / "t.parquet")
    (damaged,) = journal.damaged
    assert (damaged.line, str(damaged.why)) == (2, why)
    assert list(journal.done) == ["c0", "c2", "c3"]
    assert (tmp_path / "t.parquet.journal.damaged").read_bytes() == bad
    journal.add([row(1)])
    with pytest.raises(InputError, match="another sweep"):
        Journal(tmp_path / "t.parquet")  # what took the journal's place is locked as well
    table = journal.close([f"c{k}" for k in range(4)], {})
    assert table["size_bytes"].to_pylist() == [0, 1, 2, 3]
    assert read_table(tmp_path / "t.parquet").equals(table)
    assert sorted(os.listdir(tmp_path)) == ["t.parquet", "t.parquet.journal.damaged"]


TABLE = checked_table(pa.Table.from_pylist([row(k) for k in range(5)], SCHEMA))
LINES = [sealed(row(k, reason=reason)) for k, reason in enumerate((None, "a rank, which fails", None, "c3"))]
WHOLE = b"".join(LINES)
NEAR_CHECKSUMS = [
    place + k
    for line in range(len(LINES))
    for place in [sum(map(len, LINES[:line]))]
    for k in (*range(40), *range(len(LINES[line]) - 12, len(LINES[line])))
]


@given(st.data())
def test_whatever_is_cut_out_of_a_journal_each_row_that_is_read_was_written(data):
    places = st.integers(0, len(WHOLE)) | st.sampled_from(NEAR_CHECKSUMS)
    begin, end = sorted(data.draw(st.tuples(places, places)))
    for line in (WHOLE[:begin] + WHOLE[end:]).splitlines(keepends=True):
        with suppress(DamageError):
            read = opened(line, SCHEMA)
            assert sealed(read) in LINES


@pytest.mark.parametrize("tail", [b'{"cell": "c9", "coll', sealed(row(9))[:-1], bytes(5000)])
def test_a_row_that_a_killing_cut_short_is_cut_off(tail, tmp_path):
    path = tmp_path / "t.parquet.journal"
    path.write_bytes(sealed(row(0)) + tail)
    journal = Journal(tmp_path / "t.parquet")
    assert [(line.line, str(line.why)) for line in journal.damaged] == [(2, "it is cut short")]
    assert path.read_bytes() == sealed(row(0))
    journal.leave()
    assert os.listdir(tmp_path) == ["t.parquet.journal"]


def test_a_row_that_is_damaged_while_the_sweep_runs_is_not_taken(tmp_path):
    journal = Journal(tmp_path / "t.parquet")
    journal.add([row(0), row(1)])
    data = journal.path.read_bytes()
    journal.path.write_bytes(data.replace(b'"c1"', b'"c2"'))
    with pytest.raises(InputError, match=r"line 2, was damaged meanwhile \(its checksum does not fit\): sweep again"):
        journal.close([], {})
    journal.leave()
    again = Journal(tmp_path / "t.parquet")
    assert list(again.done) == ["c0"]
    again.leave()


def test_a_table_of_another_program_needs_no_checksum(tmp_path):
    path = tmp_path / "t.parquet"
    table = pa.Table.from_pylist([row(k) for k in range(5)], SCHEMA)
    path.write_bytes(checked_table(table))
    assert read_table(path).equals(table)
    pq.write_table(pq.read_table(path).slice(1, 3), path)
    assert read_table(path)["size_bytes"].to_pylist() == [1, 2, 3]


def test_a_damaged_table_is_refused_with_what_its_journal_still_keeps(tmp_path):
    path = tmp_path / "t.parquet"
    data = checked_table(pa.Table.from_pylist([row(k) for k in range(5)], SCHEMA))
    path.write_bytes(data[:60] + bytes([data[60] ^ 1]) + data[61:])
    with pytest.raises(InputError, match=r"or move it away and sweep again$"):
        read_table(path)
    journal = tmp_path / "t.parquet.journal"
    journal.write_bytes(sealed(row(7)) + sealed(row(8)).replace(b"1e-05", b"3e-05") + HUGE + sealed(row(9))[:-1])
    with pytest.raises(InputError, match=r"sweep again; rows that its journal keeps: 1$"):
        Journal(path)
    path.unlink()
    again = Journal(path)
    assert list(again.done) == ["c7"]
    again.leave()


@given(at=st.integers(0, len(TABLE) - 1) | st.integers(1, 200).map(lambda k: len(TABLE) - k), bit=st.integers(0, 7))
def test_no_bit_of_a_table_can_change_unnoticed(at, bit):
    with TemporaryDirectory() as folder:
        path = Path(folder, "t.parquet")
        path.write_bytes(TABLE[:at] + bytes([TABLE[at] ^ 1 << bit]) + TABLE[at + 1 :])
        with pytest.raises(InputError):
            read_table(path)


@pytest.mark.parametrize("change", [("ranks", pa.array(["four"])), ("verified", pa.array(["maybe"]))])
def test_a_table_with_other_values_is_refused(change, tmp_path):
    name, values = change
    table = pa.Table.from_pylist([row(0)], SCHEMA)
    at = table.schema.get_field_index(name)
    pq.write_table(table.set_column(at, name, values), tmp_path / "t.parquet")
    journal = Journal(tmp_path / "t.parquet")
    journal.add([row(1)])
    with pytest.raises(InputError, match="is another kind of table"):
        journal.close([], {})
    journal.leave()


def test_a_lock_on_a_journal_that_has_just_been_ended_is_none(tmp_path, monkeypatch):
    """Between opening and locking, the sweep before turns its journal into the table."""
    first = Journal(tmp_path / "t.parquet")
    first.add([row(0)])
    lock, calls = module.lock, count()

    def late(file):
        if not next(calls):
            first.close(["c0"], {})
        return lock(file)

    monkeypatch.setattr(module, "lock", late)
    second = Journal(tmp_path / "t.parquet")
    monkeypatch.undo()
    with pytest.raises(InputError, match="is being written by another sweep"):
        Journal(tmp_path / "t.parquet")
    assert list(second.done) == ["c0"]
    second.add([row(1)])
    assert second.close(["c0", "c1"], {}).num_rows == 2


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EIO])
def test_where_the_file_system_has_no_locks_a_sweep_goes_on_with_a_notice(code, tmp_path, monkeypatch, capsys):
    def without(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", without)
    journal = Journal(tmp_path / "t.parquet")
    (line,) = capsys.readouterr().err.splitlines()
    assert "without locks: let no other sweep write this table" in line
    journal.add([row(0)])
    assert journal.close(["c0"], {}).num_rows == 1
    Journal(tmp_path / "t.parquet").leave()
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


@pytest.mark.parametrize("code", [errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES])
def test_a_lock_that_another_process_has_is_waited_for_by_nobody(code, tmp_path, monkeypatch, capsys):
    def held(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", held)
    with pytest.raises(InputError, match="is being written by another sweep"):
        Journal(tmp_path / "t.parquet")
    assert capsys.readouterr().err == ""


def test_the_journal_goes_when_the_table_is_on_the_disk(tmp_path, monkeypatch):
    log = []
    for name in ("fsync", "replace"):
        call = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *args, call=call, name=name: (log.append(name), call(*args))[1])
    unlink = Path.unlink
    monkeypatch.setattr(Path, "unlink", lambda path, **k: (log.append(f"unlink {path.name}"), unlink(path, **k))[1])
    journal = Journal(tmp_path / "t.parquet")
    journal.add([row(0)])
    log.clear()
    journal.close(["c0"], {})
    assert log == ["fsync", "fsync", "replace", "fsync", "unlink t.parquet.journal", "fsync"]


def test_rows_are_on_the_disk_a_second_after_they_were_found(tmp_path, monkeypatch):
    now, synced, sync = [100.0], [], os.fsync
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    journal = Journal(tmp_path / "t.parquet")
    monkeypatch.setattr(os, "fsync", lambda file: (synced.append(now[0]), sync(file))[1])
    for k, now[0] in enumerate((100.5, 101.2, 101.9, 102.3, 109.0)):
        journal.add([row(k)])
    journal.leave()
    assert synced == [101.2, 102.3, 109.0]


def test_a_full_disk_is_one_sentence_and_what_was_kept_stays(tmp_path, monkeypatch):
    journal = Journal(tmp_path / "t.parquet")
    journal.add([row(0)])
    room, write = [300], os.write

    def small(descriptor, data):
        done = write(descriptor, bytes(data)[: room[0]]) if room[0] else 0
        room[0] -= done
        if not done:
            raise OSError(28, "No space left on device")
        return done

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", small)
        with pytest.raises(InputError, match=r"journal cannot be written \(No space left on device\): make room"):
            journal.add([row(1), row(2)])
    assert journal.path.read_bytes() == sealed(row(0))
    journal.add([row(1)])
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", small)
        with pytest.raises(InputError, match=r"t.parquet cannot be written \(No space left on device\): make room"):
            journal.close(["c0"], {})
    assert os.listdir(tmp_path) == ["t.parquet.journal"]
    assert journal.close(["c1", "c0"], {})["cell"].to_pylist() == ["c1", "c0"]
