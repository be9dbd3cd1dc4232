"""What options of commands take: one value where one is meant, and the spellings that people bring."""

import json

import click
import pytest

from cli import main
from terminal import BAD_INPUT, DONE, commands, ringside
from tests.tables import each_row

FOUR = ("--machine", "switch:ranks=4", "--counts")
COUNTS = "1KiB,0,0,3KiB"


@pytest.fixture
def time_of(capsys):
    """Seconds of a run, by its words."""

    def timed(*words):
        capsys.readouterr()
        assert main(["run", *words, "--json"]) == DONE
        return json.loads(capsys.readouterr().out)["time_s"]

    return timed


@each_row("name", [name for name in commands() if name not in ("mpi", "torchrun")])
def test_no_option_of_one_value_is_taken_twice(name):
    """The last of several values would win in silence. Behind the script of `mpi` and `torchrun` it is the script's."""
    command = ringside.get_command(click.Context(ringside), name)
    options = [p for p in command.params if isinstance(p, click.Option) and not (p.is_flag or p.multiple)]
    assert options
    for option in options:
        with pytest.raises(click.UsageError, match=f"{option.opts[0]} is given 2 times, and takes one value: keep one"):
            command.make_context(name, [option.opts[0], "1", f"{option.opts[0]}", "2"])


@pytest.mark.parametrize(
    "words", [("allgatherv", "--library", "kucg", "--algorithm-id", "I:4"), ("allgatherv.kucg:I:4",)]
)
def test_ucg_s_own_spelling_of_a_number_finds_its_algorithm(words, time_of):
    """As in `UCG_PLANC_UCX_ALLGATHERV_ATTR=I:4`."""
    assert time_of(*words, *FOUR, COUNTS) == time_of("allgatherv.linear", *FOUR, COUNTS)


@pytest.mark.parametrize(("library", "word"), [("openmpi", "I:4"), ("kucg", "I:99"), ("kucg", "S:4"), ("kucg", "I:")])
def test_other_spellings_of_a_number_are_rejected(library, word, capsys):
    assert main(["run", "allgatherv", "--library", library, "--algorithm-id", word, *FOUR, COUNTS]) == BAD_INPUT
    assert "has no allgatherv algorithm" in capsys.readouterr().err


@pytest.mark.parametrize("none", ["0B", "0KiB", "0.0", "0e3"])
def test_a_block_may_have_no_bytes_in_any_unit(none, time_of):
    assert time_of("allgatherv.ring", *FOUR, COUNTS.replace(",0", f",{none}")) == time_of(
        "allgatherv.ring", *FOUR, COUNTS
    )
