"""The lab without a browser: its form, its address, its bad input."""

import math
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from ops.lab.winners import WinnerMap, changes
from ops.plan import Plan
from ops.plan.notation import size_word
from sim.errors import InputError
from sim.units import fmt_size, parse_size
from tests.tables import each_row
from ui.charts.lab_charts import winner_map
from ui.pages.lab import Question
from ui.text import languages

APP = str(Path(__file__).parents[2] / "app.py")
SMALL = {"machines": "switch:ranks=4", "algorithms": "ring,recursive_doubling", "sizes": "1KiB,1GiB"}


def lab(**words):
    at = AppTest.from_file(APP, default_timeout=180)
    for name, word in {"page": "lab", **words}.items():
        at.query_params[name] = word
    at.run()
    assert not at.exception
    return at


@pytest.mark.slow
@pytest.mark.parametrize("language", languages())
def test_the_first_question_is_answered_at_once(language):
    at = lab(lang=language)
    assert not at.error, [e.value for e in at.error]
    assert at.tabs[0].label == Question().machines


def test_the_address_holds_the_question():
    at = lab(**SMALL)
    assert not at.error
    assert at.multiselect(key="lab_algorithms_allreduce").value == ["ring", "recursive_doubling"]
    assert at.text_input(key="lab_sizes").value == "1KiB,1GiB"
    at.text_input(key="lab_sizes").input("1MiB")
    at.button(key="lab_ask").click().run()
    assert not at.error
    assert at.query_params["sizes"] in ("1MiB", ["1MiB"])
    assert at.query_params["page"] in ("lab", ["lab"])


def test_the_map_says_by_how_much_the_winner_wins_and_where_nobody_does():
    times = [[[1.0, 1.01], [1.0, 1.06], [1.0, 1.54], [1.0, 23.4], [1.0, math.inf]]]
    winners = WinnerMap((4,), (1, 2, 4, 8, 16), ("allreduce.a", "allreduce.b"), np.array(times), {})
    (rows,) = winner_map(winners).to_dict()["datasets"].values()
    assert [row["wins"] for row in rows] == ["tie", "1.06", "1.5", "23", ""]


def test_another_collective_asks_for_all_its_algorithms():
    at = lab(**SMALL)
    at.selectbox(key="lab_collective").select("broadcast").run()
    assert not at.exception
    assert not at.error, [e.value for e in at.error]
    assert at.multiselect(key="lab_algorithms_broadcast").value == []


def test_what_a_library_takes_stands_among_the_algorithms():
    at = lab(machines="dgx_a100", algorithms="ring,nccl", sizes="1KiB,1GiB", ranks="8")
    assert not at.error, [e.value for e in at.error]
    assert at.multiselect(key="lab_algorithms_allreduce").value == ["ring", "nccl"]
    (table,) = (table.value for table in at.dataframe)
    found = {(row[0], row[2]): row[3] for row in table.itertuples(index=False)}
    for size in (1 << 10, 1 << 30):
        seconds = Plan("nccl.allreduce", "dgx_a100", size=str(size)).run().trace.time
        assert found["nccl.allreduce", size] == pytest.approx(seconds * 1e6)
    at.toggle(key="lab_exact_0").set_value(True).run()
    assert not at.exception
    (lines,) = [e.value for e in at.markdown if "8 ranks:" in e.value]
    assert "ring" in lines or "nccl" in lines


def test_several_machines_have_a_tab_each():
    at = lab(**{**SMALL, "machines": "switch:ranks=4;torus:dims=2x2"})
    assert [tab.label for tab in at.tabs] == ["switch:ranks=4", "torus:dims=2x2"]


def test_every_network_is_asked_for_each_machine_and_goes_along_to_the_stage():
    machine = "nodes:nodes=2,gpus=2"
    at = lab(**{**SMALL, "machines": machine, "networks": "own,infiniband_ndr", "sizes": "1GiB", "ranks": "4"})
    assert not at.error
    assert [tab.label for tab in at.tabs] == [machine, f"{machine}, infiniband_ndr"]
    assert at.multiselect(key="lab_networks").value == ["own", "infiniband_ndr"]
    own, faster = ({row[0]: row[3] for row in table.value.itertuples(index=False)} for table in at.dataframe)
    assert own.keys() == faster.keys() == {"allreduce.ring", "allreduce.recursive_doubling"}
    for name in own:
        seconds = Plan(name, machine, network="infiniband_ndr", size="1GiB").prepare().run().trace.time
        assert faster[name] == pytest.approx(seconds * 1e6)
        assert faster[name] < own[name]


def test_a_network_is_asked_for_in_the_form():
    at = lab(**{**SMALL, "machines": "nodes:nodes=2,gpus=2"})
    at.multiselect(key="lab_networks").select("ethernet_1g")
    at.button(key="lab_ask").click().run()
    assert not at.error
    assert [tab.label for tab in at.tabs] == ["nodes:nodes=2,gpus=2, ethernet_1g"]
    assert at.query_params["networks"] in ("ethernet_1g", ["ethernet_1g"])


def test_exact_sizes_are_closed_in_on_when_asked():
    """On four ranks 2 α + 2 β m meets 6 α + 3/2 β m."""
    at = lab(**SMALL)
    at.toggle(key="lab_exact_0").set_value(True).run()
    assert not at.exception
    (lines,) = [e.value for e in at.markdown if "- 4 ranks:" in e.value]
    names = [f"allreduce.{name}" for name in SMALL["algorithms"].split(",")]
    runs = {name: Plan(name, SMALL["machines"]).prepare() for name in names}
    (change,) = changes(runs, [1 << 10, 1 << 30])
    assert f"4 ranks: recursive_doubling, from {fmt_size(change.size)} on ring" in lines
    assert change.size == pytest.approx((6 - 2) * 2e-6 / (2 - 1.5) * 25e9, rel=0.01)


def test_links_are_tried_when_asked():
    at = lab(**SMALL)
    at.toggle(key="lab_links_0").set_value(True).run()
    assert not at.exception
    assert not at.error
    assert any("GB/s" in element.value for element in at.markdown)


@pytest.mark.slow
@each_row(
    "words, says",
    [
        ({"machines": "toaster"}, "no machine is called 'toaster'"),
        ({"machines": "switch:ranks=0"}, "ranks=0 is outside"),
        ({"machines": ""}, "no machine is named"),
        ({"sizes": "much"}, "'much' is not a number"),
        ({"sizes": ""}, "no size is given"),
        ({"sizes": "1GiB..1KiB"}, "goes down"),
        ({"ranks": "x"}, "is not a whole number"),
        ({"ranks": ",".join(map(str, range(2, 300))), "sizes": "1KiB..1GiB"}, "are more than"),
        ({"collective": "alltonone"}, "no collective is called"),
        ({"networks": "token_ring"}, "no network is called 'token_ring'"),
    ],
)
def test_what_cannot_be_asked_is_a_message(words, says):
    at = lab(**{**SMALL, **words})
    assert any(says in error.value for error in at.error), [e.value for e in at.error]


def test_where_no_question_can_be_answered_it_is_told_once(monkeypatch):
    def refused(_):
        raise InputError("it would take too long: ask for less")

    monkeypatch.setattr("ui.pages.lab._answer", refused)
    at = lab(**SMALL)
    assert [error.value for error in at.error] == ["it would take too long: ask for less"]
    assert not at.tabs


def test_what_nobody_can_do_is_shown_as_such():
    at = lab(
        collective="allreduce", algorithms="recursive_doubling", machines="dgx1v", networks="ethernet", sizes="1KiB"
    )
    assert not at.exception
    assert not at.error
    assert any("dgx1v has no network between hosts" in info.value for info in at.info)


@pytest.mark.parametrize("size", [1, 1000, 1001, 123457, 1 << 20, 64 << 20, (1 << 30) + 1])
def test_sizes_are_typed_without_loss(size):

    assert parse_size(size_word(size)) == size
