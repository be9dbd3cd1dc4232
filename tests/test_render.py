"""`render`: what the terminal writes to files, and what it refuses."""

import json
import re

import pytest

import cli
from terminal import BAD_INPUT, DONE, NO
from ui.player.answer import read

RING = ("render", "allreduce.ring", "--machine", "switch:ranks=4", "--size", "1MiB")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("x.png", b"\x89PNG"),
        ("x.svg", b"<?xml"),
        ("x.film.svg", b"<svg"),
        ("x.pdf", b"%PDF"),
        ("X.GIF", b"GIF89a"),
        ("x.mp4", b"\0\0\0"),
        ("x.html", b"<!doctype html>"),
        ("x.perfetto.json", b'{"traceEvents"'),
        ("x.json", b'{"format": "ringside-trace"'),
        ("x.xml", b"<algo"),
    ],
)
def test_the_ending_says_what_a_run_becomes(name, begins, tmp_path, capsys):
    file = tmp_path / name
    small = ("--seconds", "0.5", "--fps", "4", "--width", "320", "--at", "10us")
    assert cli.main([*RING, *small, "-o", str(file), "--json"]) == DONE
    found = json.loads(capsys.readouterr().out)
    assert file.read_bytes().startswith(begins)
    assert found["bytes"] == file.stat().st_size
    assert found["verified"] is True


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("-o", "x.doc"), "x.doc has no ending that says what it should be: choose from .png"),
        (("-o", "png"), "has no ending"),
        (("-o", "x.png", "--view", "front"), "no view is called 'front'"),
        (("-o", "x.png", "--at", "soon"), "--at 'soon' is not a number with a unit"),
        (("-o", "x.gif", "--fps", "0"), "frames"),
        (("-o", "x.gif", "--seconds", "inf"), "not a finite number"),
        (("-o", "x.gif", "--from", "1s"), "from 1 s to"),
        (("-o", "x.gif", "--tempo", "soon"), "--tempo 'soon' is not a number with a unit"),
        (("-o", "x.png", "--to", "1us"), "are for films: leave them out, or write .gif or .mp4"),
        (("-o", "x.png", "--theme", "pink"), "'pink'"),
        (("-o", "x.png", "--dark", "--theme", "light"), "--dark and --theme light are both given: keep one"),
        (("-o", "x.png", "--width", "1"), "1 pixels is not between 320"),
        (("-o", "x.png", "--language", "tlh"), "--language 'tlh' is not available"),
        (("-o", "no/such/folder/x.png"), "no/such/folder/x.png cannot be written"),
    ],
)
def test_what_cannot_be_written_is_told_in_one_line(more, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main([*RING, *more]) == BAD_INPUT
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert says in err
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "status"),
    [
        ("--fault=straggler:rank=1,late=1ms", DONE),
        ("--edit=set_link:src=GPU0,dst=SW,bandwidth=1GBps", DONE),
        ("--edit=cut_cable:src=GPU0,dst=SW", NO),
        ("--fault=dead_link:src=GPU0,dst=SW,start=1us", NO),
    ],
)
def test_a_file_says_of_a_change_what_compare_says_though_it_never_ends(change, status, tmp_path, capsys):
    file = tmp_path / "x.html"
    assert cli.main(["render", *RING[1:], change, "-o", str(file)]) == status
    sentence = capsys.readouterr().out.split("\n")[0]
    assert cli.main(["compare", *RING[1:], change]) == status
    assert capsys.readouterr().out.split("\n")[0] == sentence
    data = json.loads(re.search(r'id="run">(.*?)</script>', file.read_text(encoding="utf-8"), re.DOTALL)[1])
    assert read(data["answer"]["headline"]) == sentence
