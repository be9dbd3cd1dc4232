"""Every parameter's widget shows its value as a person writes it, reads it back, and refuses what it cannot read."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ops import ALGORITHMS
from ops.workloads import WORKLOADS
from sim.faults.kinds import FAULTS
from sim.formats import FORMATS
from sim.machines import MACHINES
from sim.parameters import Parameter
from tests.tables import each_row
from tests.ui.test_page import players
from ui.controls.parameter import human, usual
from ui.text import catalogue, languages

APP = str(Path(__file__).parents[2] / "app.py")
OWNERS = {
    **{name: entry.params for name, entry in (*ALGORITHMS.items(), *WORKLOADS.items())},
    **{name: MACHINES.parameters(name) for name in MACHINES},
    **{name: FAULTS.parameters(name) for name in FAULTS},
    **{name: entry.options for name, entry in FORMATS.items()},
}


def page(**words):
    at = AppTest.from_file(APP, default_timeout=180)
    for name, word in words.items():
        at.query_params[name] = word
    at.run()
    assert not at.exception
    return at


@each_row("owner", OWNERS)
def test_every_default_is_shown_in_its_unit_and_read_back(owner):
    for parameter in OWNERS[owner].values():
        shown = human(parameter, parameter.default)
        assert "e+" not in shown
        assert "us" not in shown or parameter.kind not in ("time", "bandwidth", "size")
        if shown and parameter.default is not None:
            assert parameter.parse(shown, owner) == parameter.parse(usual(parameter), owner) == parameter.default


@each_row(
    "kind, value, shown",
    [
        ("time", 2.0, "2 s"),
        ("time", 1.5e-6, "1.5 µs"),
        ("time", 2.5e-10, "0.25 ns"),
        ("time", 0.0, "0 s"),
        ("time", 86400.0, "86400 s"),
        ("bandwidth", 25e9, "25 GB/s"),
        ("bandwidth", 1e9 / 3, "333333333.3333333 B/s"),
        ("bandwidth", 1.5e12, "1.5 TB/s"),
        ("size", 1 << 20, "1 MiB"),
        ("size", 4096, "4 KiB"),
        ("size", 1000, "1000 B"),
        ("size", 1234567, "1234567 B"),
        ("float", 0.5, "0.5"),
        ("float", 3e7, "30000000"),
        ("dims", (4, 4, 2), "4x4x2"),
        ("int", 8, "8"),
    ],
)
def test_a_value_is_written_as_a_person_does_and_exact(kind, value, shown):
    parameter = Parameter("x", kind, value)
    assert human(parameter, value) == shown
    assert parameter.parse(shown, "a test") == value
    assert parameter.parse(usual(parameter), "a test") == value


@pytest.mark.parametrize("language", languages())
def test_what_is_left_to_the_simulator_is_an_empty_field_that_says_so(language):
    at = page(page="train", workload="ddp", lang=language)
    tflops, ranks = at.text_input(key="ddp_tflops"), at.number_input(key="ddp_ranks")
    assert (tflops.value, ranks.value) == ("", None)
    assert tflops.placeholder == catalogue(language)["field.left_out.tflops"]
    assert ranks.placeholder == catalogue(language)["field.left_out.ranks"]
    late = page(page="train", workload="zero_first", lang=language)
    assert late.text_input(key="zero_first_spread").value == "500 ms"


def test_a_number_in_such_a_field_is_taken_and_emptied_it_is_left_again():
    at = page(page="train", workload="ddp")
    at.number_input(key="ddp_ranks").set_value(4).run()
    assert at.query_params["ranks"] == ["4"] or at.query_params["ranks"] == "4"
    at.number_input(key="ddp_ranks").set_value(None).run()
    assert "ranks" not in at.query_params


def test_what_cannot_be_read_is_refused_beside_its_field_and_the_value_before_stays():
    at = page(machine="switch:ranks=8,bandwidth=50GBps")
    time = at.metric[0].value
    at.text_input(key="switch_bandwidth").input("fast").run()
    assert "bandwidth" in at.sidebar.error[0].value
    assert "bandwidth" in at.main.warning[0].value
    assert at.metric[0].value == time
    assert at.query_params["machine"] == "switch:ranks=8,bandwidth=50GBps"
    at.button(key="undo").click().run()
    assert not at.error
    assert at.metric[0].value == time


@pytest.mark.slow
@each_row(
    "words, says",
    [
        ({"machine": "switch:ranks=8,bandwidth=-5GBps"}, "not above zero"),
        ({"machine": "switch:ranks=8,speed=3"}, "no parameter 'speed'"),
        ({"machine": "switch:ranks=no"}, "whole number"),
        ({"capture": "example-dual-socket-pcie", "rates": "sys=soon"}, "sys"),
        ({"size": "64MeB"}, "unknown unit"),
        ({"size": "3", "machine": "switch:ranks=8"}, "less than one byte"),
        ({"settings": "lanes=3"}, "no parameter 'lanes'"),
        ({"fault": "slow_link:src=GPU0,dst=Mars"}, "Mars"),
        ({"fault": "plague:rank=1"}, "plague"),
        ({"algorithm": "allgather.recursive_doubling", "machine": "switch:ranks=6"}, "power of two"),
        ({"against": "colour=red"}, "colour"),
        ({"ranks": "-1"}, "ranks"),
        ({"t": "soon"}, "t='soon'"),
        ({"capture": "!!"}, "damaged"),
    ],
)
def test_whatever_is_wrong_with_a_link_a_picture_stands_and_the_reason_above_it(words, says):
    at = page(**words)
    assert len(players(at)) == 1
    told = [e.value for e in (*at.main.error, *at.main.warning)]
    assert any(says in text for text in told), told


@pytest.mark.parametrize(
    ("words", "link", "what"),
    [
        ({"fault": "slow_link:src=GPU3,dst=GPU6"}, ("GPU3", "GPU6"), "has no link GPU3"),
        ({"fault": "slow_link:src=GPU9,dst=GPU4"}, ("GPU9", None), "has no device called 'GPU9'"),
        (
            {"fault": "slow_link:src=GPU3,dst=GPU4", "edits": "cut_cable:src=GPU3,dst=GPU4"},
            ("GPU3", "GPU4"),
            "edited",
        ),
    ],
)
def test_a_place_that_is_not_there_is_refused_once_and_stays_until_another_is_chosen(words, link, what):
    at = page(machine="ring:ranks=8", **words)
    (message,) = at.error
    assert what in message.value.replace("\\", "")
    fields = {select.key: select.value for select in at.selectbox if "slow_link" in select.key}
    assert [value for key, value in fields.items() if "_src_" in key] == [link[0]]
    assert [value for key, value in fields.items() if "_dst_" in key] == ([link[1]] if link[1] else [])
    assert {name: at.query_params[name] for name in words} == words
    start = next(key for key in fields if "_src_" in key)
    at.selectbox(key=start).set_value("GPU5").run()
    assert not at.error
    assert "src=GPU5,dst=GPU" in "".join(at.query_params["fault"])
