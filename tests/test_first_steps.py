"""What a newcomer reads first is what can be typed again, and says what was made of it."""

import re
import shlex

import pytest

import cli
from ops.plan.examples import example_captures
from ops.training.facts import shown
from sim.errors import InputError
from sim.formats import read_topology
from sim.machines import build
from terminal import BAD_INPUT, DONE
from terminal.shared.facts import above
from ui.pages.train import _value


def said(capsys, line):
    assert cli.main(line if isinstance(line, list) else shlex.split(line)) == DONE
    return capsys.readouterr().out


@pytest.mark.parametrize("settings", ["--set phases=2", "--set phases=1"])
def test_what_run_calls_an_algorithm_is_a_command_line_again(capsys, settings):
    load = ["--machine", "switch:ranks=4", "--size", "64KiB"]
    first = said(capsys, ["run", "allreduce.segmented_ring", *settings.split(), *load])
    name = first.partition(" on switch")[0]
    assert name == f"allreduce.segmented_ring {settings}"
    assert said(capsys, ["run", *name.split(), *load]) == first


def test_what_a_library_chose_stands_behind_the_algorithm(capsys):
    out = said(capsys, "run nccl.allreduce --machine dgx_a100 --size 1MiB")
    assert out.startswith("allreduce.ring (nccl=Ring, protocol=LL, channels=")


def test_a_run_at_its_bound_took_just_that(capsys):
    assert above(2.5, 1.0) == "this took 2.5 times that"
    assert "(this took just that)" in said(capsys, "run sendrecv.direct --machine switch:ranks=2 --size 1GiB")


@pytest.mark.parametrize("rate", ["12", "100.", "999_999", "1e5"])
def test_a_rate_without_a_unit_is_not_silently_bytes(rate, capsys):
    machine = f"switch:ranks=2,bandwidth={rate}"
    told = f"switch: bandwidth={rate} has no unit and would be {float(rate):g} B/s: write it like 25GBps"
    assert cli.main(["run", "allreduce.ring", "--machine", machine, "--size", "64"]) == BAD_INPUT
    assert capsys.readouterr().err == f"cli.py: {told}\n"
    for refused in (lambda: build(machine), lambda: read_topology(example_captures()["dgx-1v"], "it", sys=rate)):
        with pytest.raises(InputError, match=f"={re.escape(rate)} has no unit"):
            refused()


@pytest.mark.parametrize("rate", ["25e9", "12Bps", "25GBps", "1000000"])
def test_a_rate_that_says_what_it_is_has_no_note(rate):
    assert build(f"switch:ranks=2,bandwidth={rate}").assumed == ()


def test_a_long_list_of_facts_is_cut_in_the_language_of_the_visit(monkeypatch):
    assert shown("ranks", list(range(14))).endswith("10, 11 and 2 more")
    monkeypatch.setattr("ui.pages.train.spoken", lambda: "zh")
    assert _value("ranks", list(range(14))).endswith("10, 11，另有 2 项")
    assert _value("ranks", [1, 2]) == "1, 2"
