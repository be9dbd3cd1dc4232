"""A collective of a step, played: chosen in the step's timeline, whose hand stands where the player's does."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from urllib.parse import urlencode

import streamlit as st

from ops import ALGORITHMS
from ops.plan import Plan
from ops.plan.link import to_link
from ops.training.step import Interval, StepCollective, TrainingStep
from sim.errors import InputError, StalledError
from sim.units import fmt_size
from ui.player import component
from ui.player.page_script import page_script
from ui.state import become, callback, put, state, value
from ui.text import plain, prose, retold, spoken, tell
from ui.train.state import TrainState
from ui.workers import tasks
from ui.workers.asking import ask

KEY, CHOICE, PLAYER = "script_train_calls", "train_call", "train_player"


def playable(step: TrainingStep) -> dict[int, StepCollective]:
    """The collectives that the stage can show, by their place among all: those whose blocks' sizes are kept."""
    return {
        k: call
        for k, call in enumerate(step.calls)
        if call.algorithm in ALGORITHMS and (call.counts or not ALGORITHMS[call.algorithm].collective.vector)
    }


def alone(machine: Plan, call: StepCollective, step: TrainingStep) -> Plan:
    """A collective of a step as a plan: with nothing else on the machine, and only its ranks' GPUs taking part."""
    topology = step.topology
    run = replace(machine, algorithm=call.algorithm, ranks=len(call.ranks))
    if call.ranks != tuple(range(len(call.ranks))):
        names = [topology.devices[topology.ranks[rank]].name for rank in call.ranks]
        run = replace(run, placement=",".join(names))
    if call.counts:
        return replace(run, counts=call.counts)
    return replace(run, size=str(round(call.size))) if call.size >= 1 else run


def chosen_of(step: TrainingStep) -> int | None:
    """The collective that is played; None where none is."""
    call = value(CHOICE)
    return call if isinstance(call, int) and call in playable(step) else None


def _play(share: float) -> None:
    """Play the collective that has just been chosen from a share of it on."""
    become(state(TrainState).playing(share))


def clicked(step: TrainingStep) -> None:
    """Take what a browser says was clicked, which may be anything."""
    words = getattr(value(KEY), "asked", None)
    call, share = (words.get(name) for name in ("call", "share")) if isinstance(words, Mapping) else (None, None)
    if isinstance(call, int) and call in playable(step) and isinstance(share, int | float) and 0 <= share <= 1:
        put(CHOICE, call)
        _play(float(share))


def listen(step: TrainingStep, window: Interval) -> None:
    """Listen to the timeline, from before it is there, and keep its hand where the player's is."""
    times = {str(k): [call.start, call.end] for k, call in playable(step).items()}
    data = {"calls": times, "chosen": chosen_of(step), "window": list(window)}
    if times:
        page_script("buckets")(
            key=KEY, data=data, default={"asked": None}, on_asked_change=callback(partial(clicked, step))
        )


def draw(step: TrainingStep, machine: Plan) -> None:
    """Play what is chosen in the timeline or here."""
    calls, chosen = playable(step), chosen_of(step)
    if chosen is None:
        put(CHOICE, None)  # it was one of another step, which had more of them
    if not calls:
        return
    titles = {k: f"{call.name} · {fmt_size(round(call.size))}" for k, call in calls.items()}
    st.selectbox(
        tell("train.play.choose"),
        list(calls),
        index=None,
        format_func=lambda k: titles.get(k, ""),
        placeholder=tell("train.play.hint"),
        on_change=callback(_play),
        args=(0.0,),
        width=420,
        key=CHOICE,
    )
    longest = max(calls, key=lambda k: calls[k].end - calls[k].start)
    call = calls[longest if chosen is None else chosen]
    words = to_link(alone(machine, call, step)) | ({"lang": spoken()} if spoken() != "en" else {})
    label = tell("train.watch", name=f"{call.name} · {call.algorithm}")
    st.link_button(label, f"?{urlencode(words)}", help=tell("train.watch.help"), icon=":material/movie:")
    if chosen is None:
        return
    try:
        picture = ask(tasks.run, alone(machine, call, step), spoken())
    except (InputError, StalledError) as error:
        st.error(prose(retold(error)), icon=":material/error:")
        return
    size, name = fmt_size(round(call.size)), plain(call.name)
    st.markdown(f"**{tell('train.play', name=name, algorithm=call.algorithm, size=size)}**")
    now = state(TrainState)
    command = {"n": now.plays, "from": now.share * picture.seconds, "play": True}
    packed = [picture.payload["packed"]]
    component.show(
        component.player_data(packed, spoken(), component.Start(view="machine"), cmd=command),
        key=PLAYER, moved=lambda: None, forked=lambda: None,
    )  # fmt: skip
