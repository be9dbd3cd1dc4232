"""One signature becomes flags, bounds and texts."""

import subprocess
import sys
from functools import wraps
from typing import Annotated

import pytest

from sim.errors import InputError
from sim.parameters import (
    Bounds,
    Choice,
    Count,
    Dims,
    Parameter,
    bind,
    parameters,
    parse_assignments,
    parse_spec,
    quoted,
    spread,
)
from sim.units import Bandwidth, Size, Time
from tests.tables import each_row


def machine(
    name: str,
    *,
    ranks: Annotated[int, Bounds(2, 64)] = 8,
    bandwidth: Bandwidth = 25e9,
    nvlink: Bandwidth | None = None,
    latency: Time = 1e-6,
    buffer: Size = 4096,
    share: float = 0.5,
    dims: Annotated[tuple[int, ...], Dims("4x4")] = (2, 2),
    kind: Annotated[str, Choice(("fat", "thin"))] = "fat",
    duplex: bool = True,
    **rest: object,
) -> None:
    """What the tests below read."""


def test_a_signature_tells_kinds_defaults_and_bounds():
    found = parameters(machine, skip=("name",))
    assert {name: p.kind for name, p in found.items()} == {
        "ranks": "int",
        "bandwidth": "bandwidth",
        "nvlink": "bandwidth",
        "latency": "time",
        "buffer": "size",
        "share": "float",
        "dims": "dims",
        "kind": "str",
        "duplex": "bool",
    }
    assert found["ranks"] == Parameter("ranks", "int", 8, 2, 64)
    assert found["nvlink"].default is None
    assert found["kind"].words == ("fat", "thin")


def test_a_wrapper_hands_on_what_was_spread():
    @spread("sides", {"a": (Count, 2), "b": (Bandwidth, 3e9)})
    def inner(text: str, *, sides: dict[str, float], duplex: bool = True) -> float:
        return text, sides, duplex

    @spread("more", {"late": (Time, 0.0)})
    @wraps(inner)
    def outer(*values, more, **named):
        return inner(*values, **named), more

    assert [(p.name, p.kind, p.default) for p in parameters(wraps(outer)(lambda **_: None)).values()] == [
        ("text", "str", None),
        ("a", "int", 2),
        ("b", "bandwidth", 3e9),
        ("duplex", "bool", True),
        ("late", "time", 0.0),
    ]
    assert outer("x", b=4e9, late=1.0) == (("x", {"a": 2, "b": 4e9}, True), {"late": 1.0})


LATER_WRAPS = """
import functools
kept = tuple(name for name in functools.WRAPPER_ASSIGNMENTS if name != "__annotations__")
for function in (functools.wraps, functools.update_wrapper):
    function.__defaults__ = (kept, functools.WRAPPER_UPDATES)
import cli, sys
sys.exit(any(cli.main(line.split()) for line in sys.argv[1:]))
"""
"""From Python 3.14 on no wrapper gets annotations that were assigned."""


def test_parameters_are_there_where_wrappers_get_no_annotations():
    lines = ("topology --machine gb200_nvl72", "workload ddp --machine switch:ranks=2", "list formats")
    ask = [sys.executable, "-c", LATER_WRAPS, *lines]
    asked = subprocess.run(ask, capture_output=True, text=True, check=False, timeout=120)
    assert asked.stderr == ""
    assert asked.returncode == 0


@each_row(
    "name, text, value",
    [
        ("ranks", "64", 64),
        ("bandwidth", "1GBps", 1e9),
        ("nvlink", "8Gbps", 1e9),
        ("latency", "2ms", 2e-3),
        ("buffer", "4KiB", 4096),
        ("share", "0.25", 0.25),
        ("dims", "4x2x1", (4, 2, 1)),
        ("kind", "thin", "thin"),
        ("duplex", "no", False),
        ("duplex", "YES", True),
    ],
)
def test_a_text_becomes_a_value_of_its_kind(name, text, value):
    assert bind(machine, {name: text}, "box", skip=("name",)) == {name: value}


@each_row(
    "name, text, told",
    [
        ("ranks", "1", r"box: ranks=1 is outside 2\.\.64: choose one inside"),
        ("ranks", "65", "box: ranks=65 is outside"),
        ("ranks", "1e1", "box: ranks='1e1' is not a whole number: write one like 8"),
        ("ranks", "9" * 5000, "is not a whole number"),
        ("bandwidth", "0", "box: bandwidth '0' is not above zero"),
        ("latency", "-1", "box: latency '-1' is negative"),
        ("share", "half", "box: share='half' is not a finite number: write one like 0.5"),
        ("share", "nan", "box: share='nan' is not a finite number"),
        ("share", "1e999", "box: share='1e999' is not a finite number"),
        ("dims", "4x", "box: dims='' is not a whole number"),
        ("kind", "thick", "box: kind='thick' is unknown: choose from fat, thin"),
        ("kind", "k" * 5000, f"box: kind='{'k' * 40}' is unknown"),
        ("duplex", "maybe", "box: duplex='maybe' is neither yes nor no"),
        ("colour", "red", "box has no parameter 'colour': it takes ranks, bandwidth,"),
    ],
)
def test_a_text_that_does_not_fit_is_refused_by_name(name, text, told):
    with pytest.raises(InputError, match=told):
        bind(machine, {name: text}, "box", skip=("name",))


def test_values_that_are_no_texts_are_held_against_the_same_bounds():
    assert bind(machine, {"ranks": 4}, "box", skip=("name",)) == {"ranks": 4}
    with pytest.raises(InputError, match="ranks=1 is outside"):
        bind(machine, {"ranks": 1}, "box", skip=("name",))


@pytest.mark.parametrize(
    "spec, taken_apart",
    [
        ("switch", ("switch", {})),
        ("switch:", ("switch", {})),
        (" switch : ranks = 8 , latency=1us ", ("switch", {"ranks": "8", "latency": "1us"})),
        ("a:b=c=d", ("a", {"b": "c=d"})),
    ],
)
def test_a_spec_is_taken_apart(spec, taken_apart):
    assert parse_spec(spec) == taken_apart


@pytest.mark.parametrize("pair", ["ranks", "ranks=", "=8", "", "="])
def test_what_is_no_assignment_is_refused(pair):
    with pytest.raises(InputError, match=r"is not key=value: write it like ranks=8"):
        parse_assignments([pair], "box")


def test_a_key_given_twice_is_refused():
    with pytest.raises(InputError, match="box: ranks is given twice: keep one"):
        parse_assignments(["ranks=8", "ranks=9"], "box")


def test_a_name_is_quoted_as_the_page_quotes_it():
    names = ["GPU0", "GPU0,1", "a;b", "a + b", "50%", "%2C", "$&", "{to}", " a=b|c&d "]
    said = ["GPU0", "GPU0%2C1", "a%3Bb", "a %2B b", "50%", "%252C", "$%26", "{to}", "%20a%3Db%7Cc%26d%20"]
    assert [*map(quoted, names)] == said
