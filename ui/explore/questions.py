"""Questions that somebody comes with, two clicks from the first page, and the answer beside the plan that shows it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import urlencode

import streamlit as st

from ops.plan import Plan
from ops.plan.link import to_link
from sim.machines import MACHINES
from sim.parameters import parse_spec
from sim.units import fmt_share, fmt_time
from ui.controls.compare import Run
from ui.plan.examples import EXAMPLES
from ui.plan.picture import STALLED
from ui.simulate.state import SimulateState
from ui.state import state
from ui.text import catalogue, plain, spoken, tell
from ui.workers import tasks
from ui.workers.asking import ask


def answer(runs: Sequence[Run]) -> None:
    """What the plan answers, as long as it is the one that a question opened."""
    name = state(SimulateState).question
    with st.container():  # there whether or not there is an answer, so that what follows keeps its place
        if name not in EXAMPLES or f"answer.{name}" not in catalogue(spoken()):
            return
        if not is_same(runs[0][0], EXAMPLES[name].plan):
            return
        words = _words(runs) | (_winner(runs[0][0]) if "{winner}" in catalogue(spoken())[f"answer.{name}"] else {})
        st.info(tell(f"answer.{name}", **words), icon=":material/lightbulb:")


def _winner(plan: Plan) -> dict[str, str]:
    """The fastest of all algorithms, how many these are, and what NCCL's choice takes."""
    best, chosen = ask(tasks.winner, plan)
    assert best is not None  # the plan itself ran
    times = {"least": fmt_time(best.time), "nccl": fmt_time(chosen)}
    return {"winner": best.algorithm, "count": str(best.compared), **times}


def is_same(plan: Plan, other: Plan) -> bool:
    """Whether two plans are one, however their machines are written: the form leaves out what is usual."""
    return replace(plan, machine="") == replace(other, machine="") and _machine(plan) == _machine(other)


def _machine(plan: Plan) -> tuple[str, Mapping[str, object]]:
    """A machine's name and the value of every parameter."""
    name, words = parse_spec(plan.machine)
    parameters = MACHINES.parameters(name)
    said = {key: parameters[key].parse(word, name) for key, word in words.items() if key in parameters}
    return name, {key: parameter.default for key, parameter in parameters.items()} | said


def _words(runs: Sequence[Run]) -> dict[str, str]:
    """What an answer may tell of the runs."""
    plan, picture, _ = runs[0]
    ended = [run for run in runs if run[1].verdict != STALLED]
    first, last = (pick(ended, key=lambda run: run[1].seconds) for pick in (min, max))
    added = {part: seconds for part, seconds in picture.parts.items() if part not in ("latency", "bytes") and seconds}
    most = max(added, key=added.__getitem__, default="latency")
    language = {"lang": spoken()} if spoken() != "en" else {}
    return {
        "time": picture.time,
        "other": runs[-1][1].time,
        "times": f"{picture.seconds / runs[-1][1].seconds:.3g}",
        "first": plain(first[2]),
        "fastest": first[1].time,
        "last": plain(last[2]),
        "slowest": last[1].time,
        "ahead": f"{last[1].seconds / first[1].seconds:.3g}",
        "bottleneck": plain(picture.bottleneck),
        "bound": picture.bound,
        "near": fmt_share(picture.near),
        "part": tell(f"player.why.{most}"),
        "spent": fmt_time(picture.parts[most]),
        "messages": str(picture.messages),
        "embed": f"?{urlencode(to_link(plan) | {'embed': 'true'} | language)}",
    }
