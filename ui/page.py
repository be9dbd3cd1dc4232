"""The page: choices in the sidebar, the player in the middle, the numbers and the code around it."""

import math
from dataclasses import replace

import streamlit as st

from ops import ALGORITHMS
from ops.collectives import COLLECTIVES
from sim.errors import InputError
from sim.formats import FORMATS
from sim.machines import MACHINES, machine_parameters, machine_summary
from sim.parameters import Parameter, parameters, parse_spec
from sim.paths import pair_classes
from sim.topology import Topology
from sim.units import GiB, KiB, fmt_size, parse_size
from ui import player, scenes
from ui.scenes import Picture, Scene
from ui.text import say

LANGUAGE = "en"
SIZES = [fmt_size(KiB << k).replace(" ", "") for k in range(round(math.log2(4 * GiB / KiB)) + 1)]
OWN = ""
"""The choice of a capture that is not one of the examples."""
PLAYER = "stage"
STYLE = """
.block-container { padding-top: 3.4rem; padding-bottom: 3rem; max-width: 1500px; }
[data-testid="stMetricValue"] { font-size: 1.3rem; }
"""


def main() -> None:
    """Draw the page once."""
    st.set_page_config(page_title=_say("page.title"), layout="wide")
    st.html(f"<style>\n{STYLE}\n</style>")
    problem = _arrive()
    with st.sidebar:
        st.markdown(f"## {_say('page.title')}")
        st.caption(_say("page.tagline"))
        scene, topology = _choose()
    if problem:
        st.error(problem, icon=":material/link_off:")
    if topology is None:
        return
    if topology.n < 2:
        st.info(_say("page.nothing"))
        _machine_panel(topology)
        return
    try:
        picture = scenes.run(scene, LANGUAGE)
    except InputError as error:
        st.error(str(error), icon=":material/error:")
        return
    _depart(scene)
    _headline(scene, picture)
    _stage(picture)
    _below(scene, topology)


def _say(key: str, **values: object) -> str:
    return say(key, LANGUAGE, **values)


def _arrive() -> str:
    """Take the scene and the instant from the link, once per session; returns what was wrong with it."""
    state = st.session_state
    if "scene" in state:
        return str(state.pop("problem", ""))
    words = {name: st.query_params[name] for name in st.query_params}
    state.scene, state.start, problem = Scene(), 0.0, ""
    try:
        state.scene = scenes.from_link(words)
        state.start = _instant(words.get("t", "0"))
        ALGORITHMS[state.scene.algorithm]
        if not state.scene.capture:
            MACHINES[parse_spec(state.scene.machine)[0]]
    except InputError as error:
        state.scene, problem = Scene(), str(error)
    return problem


def _instant(word: str) -> float:
    try:
        t = float(word)
    except ValueError:
        t = -1.0
    if not (math.isfinite(t) and t >= 0):
        raise InputError(f"the link's t={word[:20]!r} is not a time in seconds: correct the address")
    return t


def _depart(scene: Scene) -> None:
    """Write the scene into the address, keeping the instant."""
    st.session_state.scene = scene
    words = scenes.to_link(scene)
    if "t" in st.query_params:
        words["t"] = st.query_params["t"]
    if words != {name: st.query_params[name] for name in st.query_params}:
        st.query_params.from_dict(words)


def _choose() -> tuple[Scene, Topology | None]:
    """The sidebar: returns the chosen scene and its machine, or None where a message already says why not."""
    scene: Scene = st.session_state.scene
    collective, _, name = scene.algorithm.partition(".")
    there = [c for c in COLLECTIVES if any(a.startswith(c + ".") for a in ALGORITHMS)]
    collective = st.selectbox(
        _say("page.collective"), there, index=there.index(collective), help=COLLECTIVES[collective].summary
    )
    algorithms = [a.split(".", 1)[1] for a in ALGORITHMS if a.startswith(collective + ".")]
    usual = next((a for a in (name, "ring", "linear", "binomial") if a in algorithms), algorithms[0])
    chosen = st.selectbox(_say("page.algorithm"), algorithms, index=algorithms.index(usual), key=f"of_{collective}")
    algorithm = ALGORITHMS[f"{collective}.{chosen}"]
    st.caption(algorithm.summary)
    scene = replace(scene, algorithm=algorithm.name)
    scene, topology = _choose_machine(scene)
    if topology is None:
        return scene, None
    scene = _choose_load(scene, topology)
    settings = algorithm.params
    if settings:
        known = dict(pair.split("=", 1) for pair in scene.settings.split(",") if "=" in pair)
        with st.expander(_say("page.parameters"), expanded=True):
            words = [f"{k}={_field(p, known.get(k), algorithm.name)}" for k, p in settings.items()]
        scene = replace(scene, settings=",".join(words))
    else:
        scene = replace(scene, settings="")
    return scene, topology


def _choose_machine(scene: Scene) -> tuple[Scene, Topology | None]:
    sources = ["model", "capture"]
    source = st.segmented_control(
        _say("page.source"),
        sources,
        default="capture" if scene.capture else "model",
        format_func=lambda s: _say(f"page.source.{s}"),
        required=True,
    )
    scene = _choose_capture(scene) if source == "capture" else _choose_model(scene)
    if source == "capture":
        if not scene.capture.strip():
            st.info(_say("page.capture.help"))
            return scene, None
        scene = _choose_rates(scene)
    try:
        return scene, scenes.topology_of(scene)
    except InputError as error:
        st.error(str(error), icon=":material/error:")
        return scene, None


def _choose_model(scene: Scene) -> Scene:
    name, words = parse_spec(scene.machine)
    names = list(MACHINES)
    name = st.selectbox(
        _say("page.machine"), names, index=names.index(name) if name in names else 0, help=machine_summary(name)
    )
    if name != parse_spec(scene.machine)[0]:
        words = {}
    known = machine_parameters(name)
    with st.expander(_say("page.parameters"), expanded=False):
        given = {k: _field(p, words.get(k), name) for k, p in known.items()}
    changed = [f"{k}={v}" for k, v in given.items() if v != _default(known[k])]
    return replace(scene, capture="", rates="", machine=":".join([name, ",".join(changed)]) if changed else name)


def _choose_capture(scene: Scene) -> Scene:
    known = scenes.examples()
    names = [*known, OWN]
    at = next(
        (i for i, text in enumerate(known.values()) if text == scene.capture), 0 if not scene.capture else len(known)
    )
    choice = st.selectbox(
        _say("page.example"), names, index=at, format_func=lambda x: x or _say("page.example.own"), key="example"
    )
    if choice != OWN:
        return replace(scene, capture=known[choice])
    own = scene.capture if scene.capture not in known.values() else ""
    text = st.text_area(_say("page.capture"), value=own, height=180, help=_say("page.capture.help"), key="paste")
    return replace(scene, capture=text)


def _choose_rates(scene: Scene) -> Scene:
    """What a capture does not say: bandwidth and latency per class, each with a default until given."""
    known = parameters(FORMATS["nvidia_smi"].read, skip=("text", "name"))
    words = dict(pair.split("=", 1) for pair in scene.rates.split(",") if "=" in pair)
    with st.expander(_say("page.rates"), expanded=False):
        given = {k: _field(p, words.get(k), "capture") for k, p in known.items()}
    return replace(scene, rates=",".join(f"{k}={v}" for k, v in given.items() if v != _default(known[k])))


def _choose_load(scene: Scene, topology: Topology) -> Scene:
    algorithm = ALGORITHMS[scene.algorithm]
    if topology.n > 2:
        most = topology.n
        now = min(scene.ranks or most, most)
        ranks = st.slider(_say("page.ranks"), 2, most, max(2, now), key=f"ranks_{most}")
        scene = replace(scene, ranks=0 if ranks == most else ranks)
    else:
        scene = replace(scene, ranks=0)
    if algorithm.collective.sized:
        sizes = _sizes(scene.size)
        size = st.select_slider(_say("page.size"), sizes, value=scene.size, help=_say("page.size.help"))
        scene = replace(scene, size=size)
    n = scene.ranks or topology.n
    if algorithm.collective.rooted and n > 1:
        root = st.number_input(_say("page.root"), 0, n - 1, min(scene.root, n - 1))
        scene = replace(scene, root=int(root))
    return scene


def _sizes(own: str) -> list[str]:
    """The slider's stops, with a link's own size among them when it is one."""
    if own in SIZES:
        return SIZES
    try:
        return sorted([*SIZES, own], key=parse_size)
    except InputError as error:
        st.error(str(error), icon=":material/error:")
        st.session_state.scene = replace(st.session_state.scene, size=Scene.size)
        st.stop()


def _default(parameter: Parameter) -> str:
    """A parameter's default as a person would type it."""
    value = parameter.default
    match parameter.kind:
        case "bandwidth" if value is not None:
            return f"{value / 1e9:g}GBps"
        case "time" if value is not None:
            return f"{value * 1e6:g}us"
        case "dims":
            return "x".join(map(str, value))
        case "bool":
            return "yes" if value else "no"
    return "" if value is None else str(value)


def _field(parameter: Parameter, word: str | None, owner: str) -> str:
    """One widget for one parameter; returns what a person would type."""
    usual = _default(parameter)
    key = f"{owner}_{parameter.name}"
    if parameter.kind == "int" and parameter.high:
        value = int(word) if word and word.isdecimal() else int(parameter.default)
        return str(st.number_input(parameter.name, parameter.low, parameter.high, value, key=key))
    if parameter.kind == "bool":
        return "yes" if st.toggle(parameter.name, value=(word or usual) == "yes", key=key) else "no"
    if parameter.words:
        words = list(parameter.words)
        return st.selectbox(parameter.name, words, index=words.index(word if word in words else usual), key=key)
    return st.text_input(parameter.name, value=word or usual, key=key).strip() or usual


def _headline(scene: Scene, picture: Picture) -> None:
    st.markdown(f"### {scene.algorithm} · {scene.machine if not scene.capture else 'nvidia-smi topo -m'}")
    with st.container(horizontal=True, gap="medium"):
        for key, value in (("time", picture.time), ("algbw", picture.algbw), ("busbw", picture.busbw)):
            st.metric(_say(f"page.{key}"), value, width="content")
        near = _say("page.bound.help", bound=picture.bound)
        st.metric(_say("page.bound"), f"{picture.near:.0%}", help=near, width="content")
        st.metric(_say("page.bottleneck"), picture.bottleneck or _say("page.bottleneck.none"), width="content")
    if picture.verdict == "ok":
        st.caption(f":green[:material/verified:] {_say('page.proved', collective=scene.algorithm.split('.')[0])}")
    else:
        st.error(_say("page.wrong", reason=picture.reason), icon=":material/gpp_bad:")


@st.fragment
def _stage(picture: Picture) -> None:
    note = "" if picture.payload["full"] else _say("page.large", count=picture.transfers)
    player.show(
        picture.payload["packed"], key=PLAYER, language=LANGUAGE, start=st.session_state.start, note=note, moved=_moved
    )


def _moved() -> None:
    """Keep the instant a person stopped at in the address."""
    t = st.session_state[PLAYER].t
    if isinstance(t, int | float) and math.isfinite(t):
        st.query_params["t"] = f"{t:.12g}"


def _below(scene: Scene, topology: Topology) -> None:
    algorithm = ALGORITHMS[scene.algorithm]
    code, machine = st.columns([1.3, 1])
    with code, st.expander(_say("page.code"), expanded=False):
        st.code(algorithm.source, language="python")
        n = scenes.ranks_of(scene, topology)
        if algorithm.cost is not None:
            alphas, betas, gammas = algorithm.cost(n, **algorithm.defaults)
            st.markdown(_say("page.cost", alphas=alphas, betas=betas, gammas=gammas))
        if algorithm.ids:
            names = ", ".join(f"{library} {word}" for library, word in algorithm.ids.items())
            st.markdown(f"{_say('page.ids')}: {names}")
    with machine:
        _machine_panel(topology)


def _machine_panel(topology: Topology) -> None:
    with st.expander(_say("page.machine.panel"), expanded=False):
        if topology.n <= 32:
            pairs = topology.pairs or pair_classes(topology)
            st.dataframe({a: [pairs[b].get(a, "X") for b in pairs] for a in pairs} | {"": list(pairs)}, hide_index=True)
        if topology.assumed:
            st.markdown(f"**{_say('page.assumed', count=len(topology.assumed))}**")
            st.markdown("\n".join(f"- {line}" for line in topology.assumed))
