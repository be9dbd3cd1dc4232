"""Some seconds of what `python -m tests.attack` does at length: nothing but answers and sentences."""

from functools import partial
from random import Random
from time import process_time
from types import SimpleNamespace

import click
import pytest

from ops.run import reuse
from sim.base.formats import Format
from sim.errors import InputError
from sim.formats import FORMATS
from sim.machines import MACHINES
from sim.topology import Topology
from terminal import commands, ringside
from tests.attack import commands as lines
from tests.attack import files, harness, links
from tests.attack.files import readers
from tests.attack.harness import Case, attack, case, outcome
from ui.pages import PAGES, Page

SECONDS = [12.0, pytest.param(40.0, marks=pytest.mark.long)]
"""Of the processor, the worker's imports among them."""
SEED = 1


@pytest.mark.slow
@pytest.mark.parametrize("seconds", SECONDS)
def test_damaged_files_links_and_lines_are_answered_or_refused_in_a_sentence(seconds):
    done, findings = attack(seconds, SEED)
    assert all(done.values()), done
    told = "\n".join(f"--seed {SEED} --case {f.kind}:{f.number}: {f.what}: {f.case[:300]!r}" for f in findings)
    assert not findings, told


@pytest.mark.slow
def test_every_reader_has_samples_that_it_reads():
    for reader in readers():
        assert any(map(partial(_reads, reader), reader.samples())), f"{reader.name}: add a text to tests/data"


def _reads(reader, text):
    try:
        reader.use(text)
    except InputError:
        return False
    return True


@pytest.mark.slow
def test_whatever_is_added_is_attacked(tmp_path, monkeypatch):
    def newcomer() -> Topology:
        """A machine that breaks."""
        raise KeyError("newcomer")

    def read(text: str, *, name: str) -> Topology:
        """Breaks."""
        raise KeyError("newcomer")

    entry = Format("newcomer", "a newcomer's", lambda text: text.startswith("newcomer"), read, precedence=1)
    monkeypatch.setattr(files, "AMD", "newcomer\n")  # what a file in tests/data would be
    monkeypatch.setattr(harness, "_READERS", [])
    with MACHINES.also({"newcomer": newcomer}), FORMATS.also({"newcomer": entry}):
        tried = [case("files", SEED, number, tmp_path) for number in range(400)]
        names = {each.text.partition("\n")[0] for each in tried}
        assert names >= {f"{reader.name}:" for reader in readers()}
        broken = [each for each in tried if each.text.startswith("a topology file: newcomer:\nnewcomer\n")]
        assert outcome("files", broken[0]).startswith("KeyError: 'newcomer'")
        (specs,) = (reader for reader in readers() if reader.name == "a machine's spec")
        assert outcome("files", Case("it", lambda: specs.use("newcomer"))).startswith("KeyError: 'newcomer'")
        assert "newcomer" in specs.samples()
    with PAGES.also({"newcomer": Page("newcomer", lambda: None, 1)}):
        assert "newcomer" in {links.link(Random(k)).get("page") for k in range(100)}


def test_every_command_is_attacked_with_every_option():
    names = {name for name, _ in lines.every_option()}
    assert names == {*commands()} == {*ringside.list_commands(click.Context(ringside))}


def test_nobody_goes_on_whose_parent_has_gone(monkeypatch):
    later = process_time() + 60
    assert harness.goes_on(later)
    assert not harness.goes_on(process_time())
    monkeypatch.setattr(harness, "parent_process", lambda: SimpleNamespace(is_alive=lambda: False))
    assert not harness.goes_on(later)


def _raises(error):
    def run():
        raise error

    return run


@pytest.mark.parametrize(
    "run, told",
    [
        (_raises(InputError("a sentence")), ""),
        (lambda: None, ""),
        (_raises(KeyError("x")), "KeyError: 'x' at"),
        (_raises(MemoryError()), "more than 1024 MiB"),
        (_raises(AssertionError("not one line")), "not one line"),
        (_raises(type("Long", (InputError,), {"__str__": lambda _: "x" * 401})()), "a refusal of 401 characters"),
    ],
)
def test_what_counts_as_a_finding(run, told):
    assert outcome("files", Case("it", run)).startswith(told)
    assert bool(told) == bool(outcome("files", Case("it", run)))


def test_a_fault_of_a_page_s_own_is_found_though_a_sentence_tells_it(monkeypatch):
    monkeypatch.setattr("ui.pages.health.tell", None)
    with pytest.raises(AssertionError, match=r"a fault of ours: ui/pages/health.py, line \d+: TypeError"):
        links.run({"page": "health"})


def test_a_fault_of_a_command_s_own_is_found_though_a_sentence_tells_it(monkeypatch, tmp_path):
    reuse.forget()
    monkeypatch.setattr("ops.algorithms.ring.around", None)
    ring = ["run", "allreduce.ring", "--machine", "switch:ranks=4", "--size", "1MiB", "--unfolded"]
    with pytest.raises(AssertionError, match=r"a fault of ours: cli.py: ops/algorithms/ring.py, line \d+: TypeError"):
        lines.run(ring, tmp_path)
