"""No name that a file brings moves a terminal's cursor, turns its text round or breaks a drawing."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import cli
from ops.formats import read_schedule
from ops.measured.rows import Table
from ops.plan import Plan
from ops.training.layers import parse_layers
from sim.base.files.textfile import check_names
from sim.errors import InputError
from sim.faults import Perturbation
from sim.formats import read_topology
from sim.machines import build
from sim.schedule import Schedule, Step, unroll
from sim.topology import Device, Link, Topology
from terminal import BAD_INPUT
from tests.tables import each_row
from ui.talk import StageLine, Talk, TalkScene, document

DATA = Path(__file__).parent / "data"
UNSEEN = ["\x1b[31m", "\a", "\0", "\x7f", "\x9b2J", "\n", "\u202e", "\u2066", "\u200f", "\u2028", "\ud800", "\ufffe"]
SEEN = ["GPU0", "0000:17:00.0", "Wörk & Spiel", "机器 0", "a,b;c + d", "👩‍💻", "नमस्ते", " "]
YAML = """\
ringside: 1
name: {title}
devices:
  - {{name: {device}, kind: GPU}}
  - {{name: B, kind: GPU}}
links:
  - {{from: {device}, to: B, bandwidth: 300GBps, latency: 0.5us}}
"""
COMMANDS = [
    "topology FILE",
    "topology FILE --json",
    "run allreduce.ring --topology FILE --size 1KiB",
    "why allreduce.ring --topology FILE --size 1KiB",
    "diagnose FILE",
    "report FILE",
    "sensitivity allreduce.ring --topology FILE --size 1KiB",
    "failures allreduce.ring --topology FILE --size 1KiB",
    "nccl-choice --topology FILE",
    "render allreduce.ring --topology FILE --size 1KiB -o FILE.svg",
]


def machine(name: str, device: str) -> Topology:
    devices = (Device(device, "GPU"), Device("B", "GPU"))
    return Topology(name, devices, (Link(device, "B", 1e9, 0.0), Link("B", device, 1e9, 0.0)))


def scheduled(name: str) -> Schedule:
    one, slots = np.zeros(1, np.int32), np.zeros((1, 1), np.int32)
    steps = iter(["phase", (Step(0, one, one + 1, slots, slots, one),)])
    return unroll(steps, name=name, n=2, promise=None, unit_share=1.0)


MADE = {
    "a machine": lambda name: machine(name, "A"),
    "a machine renamed": lambda name: machine("m", "A").but(name=name),
    "a device": lambda name: machine("m", name),
    "a note": lambda name: machine("m", "A").but(assumed=(name,)),
    "a schedule": scheduled,
    "a phase": lambda name: replace(scheduled("s"), phases=((0, name),)),
    "a fault": Perturbation,
    "a talk": Talk,
    "a scene": lambda name: TalkScene(Plan(), name),
    "a table": lambda name: Table(name, "nccl-tests", ()),
    "a host": lambda name: Table("t", "nccl-tests", (), devices=((name, 0),)),
    "a capture": lambda name: Plan(capture_name=name),
    "a schedule's file": lambda name: Plan(schedule_name=name),
}


@each_row("what", MADE)
@each_row("unseen", UNSEEN)
def test_nothing_is_made_with_a_name_that_nobody_can_see(what, unseen):
    with pytest.raises(InputError, match="invisible character U"):
        MADE[what](f"GPU{unseen}0")


@each_row("what", MADE)
@each_row("name", SEEN)
def test_names_of_every_language_are_names(what, name):
    assert MADE[what](name)


def test_words_and_notes_of_a_talk_may_have_lines_but_no_escapes():
    assert StageLine("one\ttwo\nthree")
    assert TalkScene(Plan(), notes="one\r\ntwo")
    for made in (lambda: StageLine("a\x1b[2J"), lambda: TalkScene(Plan(), notes="one\n\u202etwo")):
        with pytest.raises(InputError, match="invisible"):
            made()


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("where", ["title", "device"])
def test_no_command_prints_what_a_terminal_obeys(command, where, tmp_path, capsys):
    file = tmp_path / "m.yaml"
    file.write_text(YAML.format(**{"title": "m", "device": "A", where: '"G\\e]0;pwned\\a\\e[31m\\u202e"'}))
    assert cli.main(command.replace("FILE", str(file)).split()) == BAD_INPUT
    told = capsys.readouterr()
    assert told.out == ""
    assert "U+001B" in told.err
    assert not set(told.err) & set("\x1b\a\u202e")


def test_a_topology_in_xml_brings_no_marks_of_direction():
    text = (DATA / "simgrid-xml" / "cluster_backbone.xml").read_text()
    with pytest.raises(InputError, match="invisible character"):
        read_topology(text.replace('prefix="node-"', 'prefix="node&#x202e;-"'), "capture")


@pytest.mark.parametrize(
    ("folder", "before", "after"),
    [
        ("msccl-xml", '<algo name="', '<algo name="&#x202e;'),
        ("mscclpp-json", '"name": "', '"name": "\\u001b[2J'),
    ],
)
def test_schedules_bring_no_escapes(folder, before, after):
    path = next(p for p in sorted((DATA / folder).iterdir()) if before in p.read_text()[:400])
    with pytest.raises(InputError, match="invisible character"):
        read_schedule(path.read_text().replace(before, after, 1), "schedule")


def test_a_talk_from_a_file_is_refused_by_its_title():
    text = 'ringside: talk-1\ntitle: "T\\e[2J"\nscenes:\n  - link: "?algorithm=allreduce.ring"\n'
    with pytest.raises(InputError, match="invisible character"):
        document.from_text(text, "talk")


def test_a_layer_is_called_by_what_can_be_seen():
    with pytest.raises(InputError, match="layers, line 1"):
        parse_layers("fc\u202e1 4x3+4 1ms 2ms")


def test_a_long_name_is_told_where_it_is_wrong():
    with pytest.raises(InputError) as refused:
        check_names(["x" * 10_000 + "\x1b" + "y" * 10_000], "device")
    assert "x\\x1by" in str(refused.value)
    assert len(str(refused.value)) < 150
    assert build("switch:ranks=2").but(name="x" * 10_000).name
    assert json.dumps(str(refused.value)).isprintable()
