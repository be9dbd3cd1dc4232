"""A minute of what `python -m tests.attack` does at length: nothing but answers and sentences."""

from functools import partial

import click
import pytest

from sim.errors import InputError
from terminal import commands, ringside
from tests.attack import commands as lines
from tests.attack.files import readers
from tests.attack.harness import Case, attack, outcome

SECONDS = 40.0
SEED = 1


@pytest.mark.slow
def test_damaged_files_links_and_lines_are_answered_or_refused_in_a_sentence():
    done, findings = attack(SECONDS, SEED)
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


def test_every_command_is_attacked_with_every_option():
    names = {name for name, _ in lines.every_option()}
    assert names == {*commands()} == {*ringside.list_commands(click.Context(ringside))}


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
