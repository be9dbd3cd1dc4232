"""The stage: choices in the sidebar, the player in the middle, the numbers and the code around it."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import streamlit as st

from ops import ALGORITHMS
from ops.request import Request
from ops.request.library_choice import library_of
from ops.request.link import LONGEST, PLACE
from ops.request.scenario import to_yaml
from sim.errors import InputError, StalledError
from sim.formats import write_topology
from sim.machines import MACHINES
from sim.parameters import parse_spec
from sim.topology import Topology
from sim.topology.path_classes import pair_classes
from sim.units import TimeScale, fmt_share
from ui import address
from ui.controls import compare, diagnosis, fork, form, questions, sidebar, title, whatif
from ui.export.exports import EXPORTS
from ui.pages import page
from ui.player import component
from ui.player.views import VIEWS
from ui.refusals import retold
from ui.scene import picture
from ui.scene.beginning import LONGEST_WORD, beginning_of, explaining
from ui.scene.picture import STALLED, Picture
from ui.share import offer, take_away
from ui.simulate import ahead, past, story
from ui.simulate.load import load_of
from ui.simulate.machines import format_of, machine_of
from ui.simulate.state import SimulateState
from ui.state import become, callback, change, state, value
from ui.text import plain, spoken
from ui.text import tell as _say
from ui.visit import VisitState
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
        st.error(plain(problem), icon=":material/link_off:")
    if st.context.is_embedded:
        if not problem:  # which would be hidden by a picture that fills its frame, and of another scene
            _embedded(state(SimulateState).scene)
        return
    runs = _run_at_once(state(SimulateState).scene)
    with st.sidebar:
        st.markdown(f"**{_say('page.title')}**")
        st.caption(_say("page.tagline"))
        scene, topology = form.choose(is_run=bool(runs))
    if topology is not None and topology.n < 2:
        title.without_a_run(scene, topology)
        _machine_panel(topology)
        return
    heading = st.container()
    scene, topology, runs = _shown(scene, topology, runs)
    with heading:
        _heading(scene, runs[0][1])
        questions.answer(runs)
    above = st.container(key="diagnosis") if scene.capture else None
    _stage(scene, runs)
    if above is not None:
        with above:  # after the picture, which need not wait for it
            diagnosis.show(scene, topology)
    _figures(runs[0][1])
    compare.show(runs)
    _below(scene, topology, runs[0][1])


def _run_at_once(scene: Request) -> list[compare.Run]:
    """The runs of a scene that needs no form; none where one has to say what is wrong with it."""
    with st.container():  # there whether or not anything is waited for, so that what follows keeps its place
        try:
            if state(VisitState).stopped is not None or not form.is_skipped(scene):
                return []
            if scene.capture:
                format_of(scene)  # what cannot be read in time is tried once, and not in each of its runs
            machine_of(scene)
            return [(request, compare.picture_of(request), name) for name, request in compare.titled(scene)]
        except (InputError, StalledError):
            return []


def _shown(
    scene: Request, topology: Topology | None, runs: list[compare.Run]
) -> tuple[Request, Topology, list[compare.Run]]:
    """The scene as it was chosen, or where that cannot be shown the last one that could, and why above it."""
    with st.container():  # there whether or not anything is refused, so that the picture below stays the same one
        runs = runs or (_carried_out(scene) if topology is not None else [])
        is_told = topology is not None and not runs  # what fields refused is mostly of the same cause, and beside them
        for reason in [] if is_told else state(VisitState).refused:
            st.warning(_say("page.stays", reason=plain(reason)), icon=":material/error:")
        if topology is None or not runs:
            scene = state(SimulateState).good or Request()
            return scene, machine_of(scene), _carried_out(scene)
    _depart(scene)
    ahead.allow(runs[0][1])
    return scene, topology, runs


def _embedded(scene: Request) -> None:
    """For a slide or another page: the runs and nothing around them."""
    runs = _carried_out(scene)
    if runs:
        _stage(scene, runs)


def _carried_out(scene: Request) -> list[compare.Run]:
    """The scene's run and those beside it; what cannot be carried out is told and left out, its own above all."""
    runs: list[compare.Run] = []
    for k, (name, request) in enumerate(compare.titled(scene)):
        try:
            runs.append((request, compare.picture_of(request), name))
        except (InputError, StalledError) as error:
            of_which = InputError(f"{name}: {error}") if k else error
            st.error(plain(str(of_which)), icon=":material/error:")
            if not k:
                return []
    return runs


def _arrive() -> str:
    """Take the scene and the player's place from the address, where it leads; returns what was wrong with it.

    That stands until another scene is chosen: the first picture of a visit is soon drawn again.
    """
    now = state(SimulateState)
    if now.is_read:
        become(now.drawn_again(has_come=state(VisitState).has_come))
        return state(SimulateState).problem
    words = address.words()
    scene, problem = _named(words)
    start, late = beginning_of(words)
    problem = problem or (retold(late) if late else "")
    become(now.arrived(scene, start, problem))
    address.stands_for(scene)
    return problem


def _named(words: dict[str, str]) -> tuple[Request, str]:
    """The scene that an address names, or the usual one and what is wrong."""
    try:
        scene = address.scene_of(words)
        if scene is None:
            return Request(), _say("page.link.elsewhere", most=f"{LONGEST:,}")
        scene.others()
        if not library_of(scene.algorithm):
            ALGORITHMS[scene.algorithm]
        if not scene.capture:
            MACHINES[parse_spec(scene.machine)[0]]
        if scene.network:
            machine_of(scene)
    except InputError as error:
        return Request(), retold(error)
    return scene, ""


def _depart(scene: Request) -> None:
    """Write the scene into the address."""
    become(state(SimulateState).ran(scene, is_refused=bool(state(VisitState).refused)))
    address.write(address.words_of(scene), scene)


def _heading(scene: Request, picture: Picture) -> None:
    """What runs, as a sentence to choose in; scenes worth a look; and what is wrong with the run, if anything."""
    with st.container(key="heading"):
        st.title(plain(picture.title), anchor=False)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="over"):
        title.draw(scene, picture.machine)
        with title.actions():
            questions.menu()
            sidebar.scenarios()
            compare.keep(scene)
            offer.draw(scene, _place)
            past.undo()
    if picture.verdict == STALLED:
        st.warning(plain(picture.reason), icon=":material/hourglass_disabled:")
    elif picture.verdict not in ("ok", "unchecked"):
        st.error(_say("page.wrong", reason=plain(picture.reason)), icon=":material/gpp_bad:")


def _offer_file(scene: Request) -> None:
    """What no link can carry a file does, to be dropped on any page."""
    with st.container(horizontal=True, vertical_alignment="center", key="long_scene"):
        st.caption(_say("page.link.long", most=f"{LONGEST:,}"), width="content")
        st.download_button(
            _say("page.link.file"),
            data=partial(_as_file, scene, _place()),
            file_name=f"{picture.file_name(scene)}.yaml",
            mime=EXPORTS["yaml"].media,
            icon=":material/download:",
            key="scene_file",
        )


def _as_file(scene: Request, place: Mapping[str, str]) -> bytes:
    return to_yaml(scene, place).encode()


def _place() -> dict[str, str]:
    """Where the player stands, in the words of a link."""
    place = getattr(value(PLAYER), "place", None)
    words = place if isinstance(place, Mapping) else {}
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


@st.fragment
def _stage(scene: Request, runs: list[compare.Run]) -> None:
    with st.container():  # there whether or not anything is waited for
        fork.take(scene)
    is_brushed = state(SimulateState).is_brushed  # what is marked is the part of a film
    change(SimulateState, is_brushed=False)
    if story.ended() or is_brushed:
        st.rerun()
    if address.length_of(scene) > LONGEST and not st.context.is_embedded:
        _offer_file(scene)
    usual = explaining(scene, (picture.shaped for _, picture, _ in runs))
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
    )
    become(replace(now, keeps_instant=False))
    offers = [] if scene.is_kept else whatif.offers()
    player, memory = st.container(key="picture"), st.container()
    with memory:
        story.remember()
    offered, fills = story.shown(scene), st.context.is_embedded and len(runs) == 1 + len(scene.others())
    more = {"offers": offers, "story": offered, "fills": fills, "turn": now.drawings}
    more["future"] = ahead.asking(scene)
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


def _below(scene: Request, topology: Topology, shown: Picture) -> None:
    """The code, the machine, and files of a run that has ended."""
    code, machine = st.columns([1.3, 1])
    with code, st.expander(_say("page.code"), key="code_panel", on_change="rerun") as panel:
        if not panel.open:
            pass
        elif scene.schedule:
            st.code(
                scene.schedule[:LONGEST_CODE],
                language="xml" if scene.schedule.lstrip()[:1] == "<" else None,
                wrap_lines=True,
            )
        else:
            _code(scene, topology)
    with machine:
        _machine_panel(topology, scene)
        if shown.verdict != STALLED:
            still = value(PLAYER)
            take_away.draw(scene, shown.seconds, still, getattr(still, "view", state(SimulateState).start.view))


def _code(scene: Request, topology: Topology) -> None:
    """The algorithm's own lines, what they claim to cost with these parameters, and who knows it by which name."""
    load = load_of(scene, topology)
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


def _machine_panel(topology: Topology, scene: Request | None = None) -> None:
    with st.expander(_say("page.machine.panel"), key=f"machine_panel_{topology.name}", on_change="rerun") as panel:
        if not panel.open:  # what nobody looks at need not be sent
            return
        if topology.n <= 32:
            pairs = topology.pairs or pair_classes(topology)
            st.dataframe({a: [pairs[b].get(a, "X") for b in pairs] for a in pairs} | {"": list(pairs)}, hide_index=True)
        if scene is not None and scene.edits:
            st.markdown(f"**{_say('page.differs')}**")
            st.markdown("\n".join(f"- {plain(line)}" for line in read(reading.differences, scene)))
        if scene is not None and not scene.is_kept:
            text = partial(write_topology, topology, "ringside_yaml")
            st.download_button(_say("page.machine.yaml"), data=text, file_name="machine.yaml", key="machine_yaml")
        if topology.assumed:
            st.markdown(f"**{_say('page.assumed', count=len(topology.assumed))}**")
            st.markdown("\n".join(f"- {plain(line)}" for line in topology.assumed))
