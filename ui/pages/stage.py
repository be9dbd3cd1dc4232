"""The stage: a title to choose in, the player, the numbers and the code below it, settings beside it."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import streamlit as st

from ops import ALGORITHMS
from ops.plan import Plan
from ops.plan.library_choice import library_of
from ops.plan.link import LONGEST, PLACE
from ops.plan.plan_file import to_yaml
from sim.errors import InputError, StalledError
from sim.formats import write_topology
from sim.machines import MACHINES
from sim.parameters import parse_spec
from sim.topology import Topology
from sim.topology.path_classes import pair_classes
from sim.units import TimeScale, fmt_share
from ui import address
from ui.controls import answer, compare, diagnosis, fork, form, title
from ui.explore import menu as explore
from ui.explore import questions
from ui.export.exports import EXPORTS
from ui.pages import page
from ui.plan import picture
from ui.plan.beginning import LONGEST_WORD, beginning_of, explaining, is_first_visit
from ui.plan.picture import STALLED, Picture
from ui.player import component
from ui.player.offers import offers
from ui.player.views import VIEWS
from ui.share import menu as share
from ui.share import saving
from ui.simulate import ahead, intro, past, story
from ui.simulate.load import load_of
from ui.simulate.machines import format_of, machine_of
from ui.simulate.state import SimulateState
from ui.state import become, callback, change, fragment, state, value
from ui.text import plain, prose, retold, spoken
from ui.text import tell as _say
from ui.visit import VisitState
from ui.whatif.state import record
from ui.workers import reading
from ui.workers.asking import read

PLAYER = "stage"
LONGEST_CODE = 20_000
"""Characters of a schedule's file that are shown."""


@page(order=10, state=SimulateState)
def stage() -> None:
    """Draw the page once."""
    ahead.begin()
    problem = _arrive()
    if problem:
        st.error(prose(problem), icon=":material/link_off:")
    if st.context.is_embedded:
        if not problem:  # which would be hidden by a picture that fills its frame, and of another plan
            _embedded(state(SimulateState).plan)
        return
    runs = _run_at_once(state(SimulateState).plan)
    with st.sidebar:
        plan, topology = form.choose(is_run=bool(runs))
    if topology is not None and topology.n < 2:
        with title.actions():
            explore.draw(plan)
        title.without_a_run(plan, topology)
        _machine_panel(topology)
        return
    heading, beside = st.container(), st.container(key="intro")
    plan, topology, runs = _shown(plan, topology, runs)
    with heading:
        _heading(plan, runs[0][1])
        questions.answer(runs)
    if state(SimulateState).is_first:
        with beside:
            intro.draw(runs[0][1])
    if address.length_of(plan) > LONGEST:
        _offer_file(plan)
    if plan.capture:
        diagnosis.read(plan, topology)
    above = st.container(key="diagnosis") if plan.capture else None
    _stage(plan, runs)
    if above is not None:
        with above:  # after the picture, which need not wait for it
            diagnosis.show(plan)
    _figures(runs[0][1])
    compare.show(runs)
    _below(plan, topology)


def _run_at_once(plan: Plan) -> list[compare.Run]:
    """The runs of a plan that needs no form; none where one has to say what is wrong with it."""
    with st.container():  # there whether or not anything is waited for, so that what follows keeps its place
        try:
            if state(VisitState).stopped is not None or not form.is_skipped(plan):
                return []
            if plan.capture:
                format_of(plan)  # what cannot be read in time is tried once, and not in each of its runs
            machine_of(plan)
            return [(each, compare.picture_of(each), name) for name, each in compare.titled(plan)]
        except (InputError, StalledError):
            return []


def _shown(plan: Plan, topology: Topology | None, runs: list[compare.Run]) -> tuple[Plan, Topology, list[compare.Run]]:
    """The plan as it was chosen, or where that cannot be shown the last one that could, and why above it."""
    with st.container():  # there whether or not anything is refused, so that the picture below stays the same one
        runs = runs or (_carried_out(plan) if topology is not None else [])
        is_told = topology is not None and not runs  # what fields refused is mostly of the same cause, and beside them
        for reason in [] if is_told else state(VisitState).refused:
            st.warning(_say("page.stays", reason=prose(reason)), icon=":material/error:")
        if topology is None or not runs:
            plan = state(SimulateState).good or Plan()
            return plan, machine_of(plan), _carried_out(plan)
    _depart(plan)
    ahead.allow(runs[0][1])
    return plan, topology, runs


def _embedded(plan: Plan) -> None:
    """For a slide or another page: the runs and nothing around them."""
    runs = _carried_out(plan)
    if runs:
        _stage(plan, runs)


def _carried_out(plan: Plan) -> list[compare.Run]:
    """The plan's run and those beside it; what cannot be carried out is told and left out, its own above all."""
    runs: list[compare.Run] = []
    for k, (name, each) in enumerate(compare.titled(plan)):
        try:
            runs.append((each, compare.picture_of(each), name))
        except (InputError, StalledError) as error:
            of_which = InputError("at.place", place=name, what=error) if k else error
            st.error(prose(retold(of_which)), icon=":material/error:")
            if not k:
                return []
    return runs


def _arrive() -> str:
    """Take the plan and the player's place from the address, where it leads; returns what was wrong with it.

    That stands until another plan is chosen: the first picture of a visit is soon drawn again.
    """
    now = state(SimulateState)
    if now.is_read:
        become(now.drawn_again(has_come=state(VisitState).has_come))
        return state(SimulateState).problem
    words = address.words()
    plan, problem = _named(words)
    start, late = beginning_of(words)
    problem = problem or (retold(late) if late else "")
    become(now.arrived(plan, start, problem, is_first=is_first_visit(words)))
    address.stands_for(plan)
    if story.WORD in words:
        story.hear("open")
    return problem


def _named(words: dict[str, str]) -> tuple[Plan, str]:
    """The plan that an address names, or the usual one and what is wrong."""
    try:
        plan = address.plan_of(words)
        if plan is None:
            return Plan(), _say("page.link.elsewhere", most=f"{LONGEST:,}")
        plan.others()
        if not library_of(plan.algorithm):
            ALGORITHMS[plan.algorithm]
        if not plan.capture:
            MACHINES[parse_spec(plan.machine)[0]]
        if plan.network:
            machine_of(plan)
    except InputError as error:
        return Plan(), retold(error)
    return plan, ""


def _depart(plan: Plan) -> None:
    """Write the plan into the address."""
    become(state(SimulateState).ran(plan, is_refused=bool(state(VisitState).refused)))
    address.write(address.words_of(plan), plan)
    record(plan)


def _heading(plan: Plan, picture: Picture) -> None:
    """What runs, as a sentence to choose in; examples; and what is wrong with the run, if anything."""
    with st.container(key="heading"):
        st.title(plain(picture.title), anchor=False)
    with title.actions():
        explore.draw(plan)
        share.draw(plan, _place)
    with title.line(plan, picture.machine):
        if not state(SimulateState).is_first:
            compare.keep(plan)
        past.undo()
    if picture.verdict not in ("ok", "unchecked", STALLED):
        st.error(_say("page.wrong", reason=plain(picture.reason)), icon=":material/gpp_bad:")


def _offer_file(plan: Plan) -> None:
    """What no link can carry a file does, to be dropped on any page."""
    with st.container(horizontal=True, vertical_alignment="center", key="long_plan"):
        st.caption(_say("page.link.long", most=f"{LONGEST:,}"), width="content")
        name, icon = f"{picture.file_name(plan)}.yaml", ":material/download:"
        make = lambda: to_yaml(plan, _place())  # noqa: E731
        saving.button(_say("page.link.file"), name, EXPORTS["yaml"].media, make, key="plan_file", icon=icon)


def _place() -> dict[str, str]:
    """Where the player stands, or begins as long as it has not said so, in the words of a link."""
    place = getattr(value(PLAYER), "place", None)
    words = place if isinstance(place, Mapping) else state(SimulateState).start.place
    return {name: str(words[name])[:LONGEST_WORD] for name in PLACE if words.get(name)}


def _figures(picture: Picture) -> None:
    """What came out, in numbers, and whether it is proved."""
    if picture.verdict == STALLED:
        st.metric(_say("page.stalled"), picture.time, width="content")
        return
    with st.container(horizontal=True, gap="medium"):
        for key, value in (("time", picture.time), ("algbw", picture.algbw), ("busbw", picture.busbw)):
            st.metric(_say(f"page.{key}"), value, width="content", help=_why(key, picture))
        if picture.bound:
            near = _say("page.bound.help", bound=picture.bound)
            st.metric(_say("page.bound"), fmt_share(picture.near), help=near, width="content")
        worst = plain(picture.bottleneck) or _say("page.bottleneck.none")
        full = _why("bottleneck", picture) if picture.bottleneck else None
        st.metric(_say("page.bottleneck"), worst, width="content", help=full)
    if picture.verdict == "ok":
        st.caption(f":green[:material/verified:] {_say('page.proved', collective=picture.collective)}")
    elif picture.verdict == "unchecked":
        st.caption(_say("page.unchecked"))


def _why(figure: str, picture: Picture) -> str:
    """What a figure is made of, in numbers."""
    scale = TimeScale.of(picture.seconds)
    parts = {part: seconds for part, seconds in picture.parts.items() if seconds}
    counts = zip(parts, scale.counts(list(parts.values())), strict=True)
    words = {
        "parts": " + ".join(f"{_say(f'player.why.{part}')} {scale.text(count)}" for part, count in counts) or "0",
        "messages": str(picture.messages),
        "time": picture.time,
        "size": picture.size,
        "algbw": picture.algbw,
        "factor": f"{picture.factor:.4g}",
        **picture.worst,
    }
    return _say(f"page.{figure}.help", **words)


@fragment
def _stage(plan: Plan, runs: list[compare.Run]) -> None:
    with st.container():  # there whether or not anything is waited for
        fork.take(plan)
    is_brushed = state(SimulateState).is_brushed  # what is marked is the part of a film
    change(SimulateState, is_brushed=False)
    if story.has_led_on() or is_brushed:
        st.rerun()
    usual = explaining(plan, (picture.shaped for _, picture, _ in runs))
    now = state(SimulateState)
    if now.start.view not in VIEWS:
        now = replace(now, start=now.start._replace(view=usual))
    start = component.Start(
        now.start.t,
        now.start.view,
        keep=now.keeps_instant,
        number=now.number,
        place=now.start.place,
        usual=usual,
        is_linked=True,
        plays=now.is_first,
    )
    become(replace(now, keeps_instant=False))
    questions_here = [] if plan.is_kept else offers(spoken())
    player = st.container(key="picture")
    story_data, fills = story.shown(plan), st.context.is_embedded and len(runs) == 1 + len(plan.others())
    more = {"offers": questions_here, "story": story_data, "fills": fills, "turn": now.drawings}
    more["future"] = ahead.asking(plan)
    more["answer"] = answer.of(runs)
    data = component.player_data(fork.packed(runs), spoken(), start, **more)
    with player:
        component.show(data, key=PLAYER, moved=_moved, forked=_forked, heard=_heard)


@callback
def _heard() -> None:
    story.hear(value(PLAYER).story)


@callback
def _moved() -> None:
    """Remember the instant and the view that a person stopped at, for when they come back from another page."""
    still = value(PLAYER)
    become(state(SimulateState).played(still.t, still.view, VIEWS, _place().get("brush", "")))


@callback
def _forked() -> None:
    """What if this happened: the page is drawn again with it, and without it beside."""
    spec = value(PLAYER).fork
    if isinstance(spec, str) and len(spec) < LONGEST:
        change(SimulateState, forked=spec)


def _below(plan: Plan, topology: Topology) -> None:
    """The code and the machine."""
    code, machine = st.columns([1.3, 1])
    with code, st.expander(_say("page.code"), key="code_panel", on_change="rerun") as panel:
        if not panel.open:
            pass
        elif plan.schedule:
            st.code(
                plan.schedule[:LONGEST_CODE],
                language="xml" if plan.schedule.lstrip()[:1] == "<" else None,
                wrap_lines=True,
            )
        else:
            _code(plan, topology)
    with machine:
        _machine_panel(topology, plan)


def _code(plan: Plan, topology: Topology) -> None:
    """The algorithm's own lines, what they claim to cost with these parameters, and who knows it by which name."""
    load = load_of(plan, topology)
    algorithm = ALGORITHMS[load.name]
    st.code(algorithm.source, language="python", wrap_lines=True)
    if algorithm.cost is not None:
        own = {name: value for name, value in load.settings.items() if name in algorithm.params}  # not a library's name
        alphas, betas, gammas = algorithm.cost(load.n, **algorithm.defaults | own)
        st.markdown(_say("page.cost", alphas=alphas, betas=betas, gammas=gammas))
    if algorithm.ids:
        names = ", ".join(f"{library} {word}" for library, word in algorithm.known_as.items())
        st.markdown(f"{_say('page.ids')}: {names}")
    if algorithm.reference:
        st.markdown(f"{_say('page.reference')}: {algorithm.reference}")


def _machine_panel(topology: Topology, plan: Plan | None = None) -> None:
    with st.expander(_say("page.machine.panel"), key=f"machine_panel_{topology.name}", on_change="rerun") as panel:
        if not panel.open:  # what nobody looks at need not be sent
            return
        if topology.n <= 32:
            pairs = topology.pairs or pair_classes(topology)
            st.dataframe({a: [pairs[b].get(a, "X") for b in pairs] for a in pairs} | {"": list(pairs)}, hide_index=True)
        if plan is not None and plan.edits:
            st.markdown(f"**{_say('page.differs')}**")
            st.markdown("\n".join(f"- {plain(line)}" for line in read(reading.differences, plan)))
        if plan is not None and not plan.is_kept:
            text = partial(write_topology, topology, "ringside_yaml")
            saving.button(_say("page.machine.yaml"), "machine.yaml", "text/yaml", text, key="machine_yaml")
        if topology.assumed:
            st.markdown(f"**{_say('page.assumed', count=len(topology.assumed))}**")
            st.markdown("\n".join(f"- {plain(line)}" for line in topology.assumed))
