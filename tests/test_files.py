"""What a command reads is a regular file or standard input; nothing else keeps it waiting."""

import io
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import cli
from sim.base.files.textfile import read_bytes, read_text
from sim.errors import InputError
from terminal import BAD_INPUT, DONE

ROOT = Path(__file__).parents[1]
COMMANDS = [
    "topology FILE",
    "run allreduce.ring --topology FILE --size 1KiB",
    "run --schedule FILE --machine switch:ranks=4 --size 1KiB",
    "run --plan FILE",
    "run allreduce.ring --machine switch:ranks=4 --size 1KiB --placement FILE.hosts",
    "verify FILE",
    "diagnose FILE",
    "report FILE",
    "talk FILE",
    "validate FILE",
    "sweep --grid FILE -o t.parquet",
    "winners --table FILE",
    "workload ddp --machine switch:ranks=4 --layers FILE",
    "topology FILE --pairs FILE",
    "mpi -n 2 FILE --machine switch:ranks=2",
]
CAPTURE = "\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV4\tX\n"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_what_is_no_regular_file_is_refused_at_once(command, kind, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "it"
    for name in ("it", "it.hosts"):
        if kind == "pipe":
            os.mkfifo(name)
        elif kind == "folder":
            os.mkdir(name)
        else:
            os.symlink("/dev/zero", name)
    assert cli.main(command.replace("FILE", str(path)).split()) == BAD_INPUT
    told = capsys.readouterr()
    assert told.out == ""
    assert len(told.err.splitlines()) == 1
    assert str(path) in told.err


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (os.mkfifo, "it is a named pipe"),
        (os.mkdir, "Is a directory"),
        (lambda path: os.symlink("/dev/zero", path), "it is a device"),
    ],
)
def test_the_sentence_says_what_it_is(made, says, tmp_path):
    made(tmp_path / "it")
    with pytest.raises(InputError, match=says):
        read_bytes(tmp_path / "it")


def test_a_hyphen_is_standard_input(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(CAPTURE.encode())))
    assert cli.main(["topology", "-"]) == DONE
    assert "2 GPUs" in capsys.readouterr().out


def test_closed_standard_input_is_told(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="standard input is closed"):
        read_text("-")


@pytest.mark.parametrize("path", ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])
def test_a_pipe_that_a_shell_names_is_read(path):
    code = f"from sim.base.files.textfile import read_text; print(read_text({path!r}), end='')"
    said = subprocess.run(
        [sys.executable, "-c", code], input=CAPTURE.encode(), capture_output=True, cwd=ROOT, check=True
    )
    assert said.stdout.decode() == CAPTURE
