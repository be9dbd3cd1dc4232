"""Files are there whole or as they were before, whatever happens while they are written."""

import os
import stat
import threading

import pytest

import cli
from sim.base.files.whole_file import check_writable, clear_unfinished, unfinished, write_whole
from sim.errors import InputError
from terminal import BAD_INPUT


def test_a_file_is_put_in_place_in_one_step(tmp_path):
    path = tmp_path / "a.txt"
    write_whole(path, "µs\n")
    assert path.read_bytes() == "µs\n".encode()
    path.chmod(0o640)
    write_whole(str(path), b"other")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"other", 0o640)
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_what_goes_wrong_leaves_the_file_as_it_was(call, tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_bytes(b"good")

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, full)
    with pytest.raises(InputError, match=r"a\.txt cannot be written \(No space left on device\)"):
        write_whole(path, b"bad")
    monkeypatch.undo()
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"good", ["a.txt"])


def test_a_link_stays_one(tmp_path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "link.txt"
    link.symlink_to(tmp_path / "there" / "a.txt")
    check_writable(link)
    write_whole(link, b"1")
    assert link.is_symlink()
    assert (tmp_path / "there" / "a.txt").read_bytes() == b"1"


def test_a_pipe_gets_the_content(tmp_path):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    check_writable(pipe)
    write_whole(pipe, b"1" * 200_000)
    reader.join()
    assert got == [b"1" * 200_000]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_file_in_a_folder_that_takes_no_other_is_written_in_place(tmp_path, monkeypatch):
    path, opened = tmp_path / "a.txt", os.open
    path.write_bytes(b"something long")

    def closed(name, flags, *mode, **more):
        if flags & os.O_EXCL:
            raise OSError(13, "Permission denied")
        return opened(name, flags, *mode, **more)

    monkeypatch.setattr(os, "open", closed)
    check_writable(path)
    write_whole(path, b"short")
    assert path.read_bytes() == b"short"
    with pytest.raises(InputError, match="Permission denied"):
        check_writable(tmp_path / "new.txt")


@pytest.mark.parametrize("name", ["", "none/a.txt", "a\0b", "folder", "x" * 300])
def test_what_is_no_place_for_a_file_is_told_before_and_after(name, tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    for act in (check_writable, lambda path: write_whole(path, b"1")):
        with pytest.raises(InputError, match=r"cannot be written \(.+\): give a path that can"):
            act(name)
    assert os.listdir(tmp_path) == ["folder"]


def test_long_names_are_names(tmp_path):
    path = tmp_path / ("名" * 80 + ".json")
    check_writable(path)
    write_whole(path, b"1")
    assert os.listdir(tmp_path) == [path.name]


def test_what_a_killed_writer_left_is_cleared_and_nothing_else(tmp_path):
    path = tmp_path / "t.parquet"
    unfinished(path).write_bytes(b"1")
    others = {
        unfinished(tmp_path / "t.parquet.png"),
        tmp_path / ".t.parquet.writing",
        tmp_path / ".t.parquet.x.writing",
    }
    for other in others:
        other.write_bytes(b"1")
    clear_unfinished(path)
    assert set(tmp_path.iterdir()) == others


@pytest.mark.parametrize(
    "command", ["render {} -o {}/no/x.png", "trace {} -o {}/no/x.json", "run {} --trace {}/no/x.json"]
)
def test_a_command_finds_out_before_its_work_that_it_cannot_write(command, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("ops.plan.model.Plan.run", None)
    line = command.format("allreduce.ring", tmp_path).split()
    assert cli.main([*line, "--machine", "switch:ranks=2", "--size", "1KiB"]) == BAD_INPUT
    assert "cannot be written (No such file or directory): give a path that can" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["list", "machines"], ["--help"], ["run", "--help"], ["list", "machines", "--json"]])
def test_output_that_has_no_room_is_one_sentence(words, monkeypatch, capsys):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr("sys.stdout", full)
        assert cli.main(words) == BAD_INPUT
    err = capsys.readouterr().err
    assert err.startswith("cli.py: the answer cannot be read or written (No space left on device)")
    assert err.count("\n") == 1
