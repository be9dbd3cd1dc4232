"""The settings: what runs, on which machine, with how much; every choice ends up as a word of the plan."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ops import ALGORITHMS
from ops.collectives import COLLECTIVES
from ops.formats import SCHEDULE_FORMATS
from ops.libraries import LIBRARIES
from ops.libraries.nccl.variables import as_parameters
from ops.plan import Plan
from ops.plan.examples import example_captures, example_schedules
from ops.plan.library_choice import collective_of, library_of, options_of
from ops.plan.model import is_trace
from ops.plan.notation import assignments, by_name
from ops.plan.plan_file import is_plan
from sim.base.files.textfile import decoded
from sim.engine.job import check_size
from sim.errors import InputError, StalledError
from sim.formats import FORMATS
from sim.machines import MACHINES
from sim.parameters import Parameter, parse_spec, written
from sim.topology import Topology
from sim.topology.networks import NETWORKS, has_network
from sim.units import parse_size
from ui.controls import calibration, folds, numbers, whatif
from ui.controls.parameter import RefusedError, can_be_read, fresh, head, refuse, settings, settings_of
from ui.navigation import button_to
from ui.simulate import ahead
from ui.simulate.load import SIZES, load_of, sizes
from ui.simulate.machines import able_on, format_of, is_on, likely, machine_of, offered, plain_machine
from ui.simulate.past import restore
from ui.simulate.state import SimulateState
from ui.state import change, fragment, state
from ui.text import plain, summary, tell, titled
from ui.visit import VisitState
from ui.workers import reading, tasks
from ui.workers.asking import ask, read
from ui.workers.tasks import Load

OWN = ""
"""The choice of a text that is not one of the examples."""


def choose(plan: Plan) -> tuple[Plan, Topology | None]:
    """Draw all of it: returns the chosen plan and its machine, or None where a message already says why not."""
    run, machine, faults, own_settings = (st.container() for _ in range(4))
    try:
        with _group("run", run):
            source = _source("page.work.from", ("catalogue", "file"), "file" if plan.schedule else "catalogue")
            plan = _choose_algorithm(replace(plan, schedule="")) if source == "catalogue" else _choose_schedule(plan)
        if plan.is_kept:
            return plan, machine_of(plan)
        if not plan.schedule:
            with own_settings:
                words = settings_of(_parameters(plan.algorithm), plan.settings, plan.algorithm)
                plan = replace(plan, settings=words)
        with _group("machine", machine):
            plan, topology = _choose_whole_machine(plan)
            plan = _choose_ranks(plan, topology) if source == "catalogue" else replace(plan, ranks=0)
        if topology.n > 1:
            with run:
                plan = numbers.choose(_choose_load(plan, load_of(plan, topology)))
            with _group("faults", faults):
                plan = replace(plan, fault=whatif.choose(plan, topology))
    except (InputError, StalledError) as error:
        refuse(error)
        return plan, None
    except RefusedError:
        return plan, None
    return plan, topology


@contextmanager
def _group(name: str, place: DeltaGenerator) -> Iterator[None]:
    with place:
        head(name)
        yield


def _parameters(algorithm: str) -> Mapping[str, Parameter]:
    """What an algorithm, or a library that takes one, can be told."""
    library = library_of(algorithm)
    return options_of(library) if library else ALGORITHMS[algorithm].params


def _choose_whole_machine(plan: Plan) -> tuple[Plan, Topology]:
    """The machine with its network, the GPUs that take part, and what is changed on it."""
    before, (plan, own) = plan, _choose_machine(plan)
    plan, topology = _choose_network(plan, own)
    if not is_on(before, own):
        kept = calibration.same_machine(before, plan)
        plan = replace(plan, placement="", edits="", calibration=kept)
    plan, topology = _choose_placement(plan, topology)
    return calibration.choose(*_choose_edits(plan, topology))


def choose_machine(plan: Plan) -> tuple[Plan, Topology | None]:
    """The machine alone, for pages that run something else on it; None as in `choose`."""
    change(VisitState, refused=())
    try:
        chosen, topology = _choose_machine(plan)
        return calibration.choose(replace(chosen, calibration=calibration.same_machine(plan, chosen)), topology)
    except (InputError, StalledError) as error:
        refuse(error)
    except RefusedError:
        pass
    return plan, None


def _source(label: str, sources: tuple[str, ...], now: str) -> str:
    """One of several ways to give something, side by side."""
    chosen: str = st.segmented_control(
        tell(label),
        sources,
        default=now,
        format_func=lambda s: tell(f"page.source.{s}"),
        required=True,
        key=fresh(label),
    )
    return chosen


def _choose_algorithm(plan: Plan) -> Plan:
    algorithm, settings = by_name(plan.algorithm, plan.settings)
    plan = replace(plan, algorithm=algorithm, settings=settings)
    library, collective = library_of(plan.algorithm), collective_of(plan.algorithm)
    name = "" if library else plan.algorithm.partition(".")[2]
    names = offered()
    collective = st.selectbox(
        tell("page.collective"),
        names,
        index=names.index(collective),
        format_func=lambda name: titled("collective", name),
        help=summary(collective, COLLECTIVES[collective].summary),
        key=fresh("collective"),
    )
    before, library = library, _choose_library(library)
    if library != before:
        plan = replace(plan, settings="")
    if library == "nccl":
        plan = replace(plan, settings=written(as_parameters(assignments(plan.settings, plan.algorithm))))
    if library:
        return replace(plan, algorithm=f"{library}.{collective}")
    fitting = able_on([plan], (a for a in ALGORITHMS if a.startswith(f"{collective}.")))
    algorithms = [a.partition(".")[2] for a in fitting]
    at = algorithms.index(likely(collective, name, fitting).partition(".")[2])
    chosen = st.selectbox(
        tell("page.algorithm"),
        algorithms,
        index=at,
        format_func=lambda name: titled("algorithm", f"{collective}.{name}"),
        key=fresh(f"of_{collective}"),
    )
    entry = ALGORITHMS[f"{collective}.{chosen}"]
    st.caption(summary(entry.name, entry.summary))
    return replace(plan, algorithm=entry.name)


def _choose_library(now: str) -> str:
    """Whose rule takes the algorithm, at its backend's costs; nobody's where a person does."""
    names = ["", *LIBRARIES]
    chosen: str = st.selectbox(
        tell("page.library"),
        names,
        index=names.index(now),
        format_func=lambda name: LIBRARIES.title(name) if name else tell("page.library.none"),
        help=tell("page.library.help"),
        key=fresh("library"),
    )
    return chosen


def _choose_schedule(plan: Plan) -> Plan:
    """A schedule as text: an example, a paste or a file, and what its format can be told."""
    endings = (*SCHEDULE_FORMATS.endings, "yaml", "yml")
    text, place = _text(plan.schedule, example_schedules(), "schedule", endings)
    with _told_in(place):
        if is_plan(text):
            restored = read(reading.plan, text, tell("page.schedule.name")).plan
            ask(tasks.can_be_run, restored)
            restore(restored)
            st.rerun()
        plan = replace(plan, schedule=text)
        if is_trace(text):
            machine_of(plan)
            return plan
        reader = SCHEDULE_FORMATS[read(reading.schedule_format, text, tell("page.schedule.name"))]
        st.caption(tell("page.recognised", format=reader.title))
        plan = replace(plan, settings=settings_of(reader.options, plan.settings, reader.name))
        read(tasks.load, plan)
    return plan


@contextmanager
def _told_in(place: DeltaGenerator) -> Iterator[None]:
    """Input that cannot be used is refused in this place."""
    try:
        yield
    except (InputError, StalledError) as error:
        with place:
            refuse(error)
        raise RefusedError from None


def _text(now: str, examples: Mapping[str, str], what: str, endings: tuple[str, ...]) -> tuple[str, DeltaGenerator]:
    """A text that a person picks from examples, pastes or opens, and the place above it to complain about it.

    Raises RefusedError while there is none.
    """
    names = [*examples, OWN]
    at = next((i for i, text in enumerate(examples.values()) if text == now), len(examples) if now else 0)
    choice = st.selectbox(
        tell("page.example"),
        names,
        index=at,
        format_func=lambda x: x or tell("page.example.own"),
        key=fresh(f"ex_{what}"),
    )
    place = st.empty()
    if choice != OWN:
        return examples[choice], place
    opened = st.file_uploader(
        tell(f"page.{what}.file"),
        type=[*endings],
        accept_multiple_files=what == "capture",
        key=fresh(f"file_{what}"),
    )
    files = opened if isinstance(opened, list) else [opened] if opened is not None else []
    own = "" if now in examples.values() else now
    help_ = tell(f"page.{what}.help")
    pasted = st.text_area(tell(f"page.{what}"), value=own, height=180, help=help_, key=fresh(f"paste_{what}"))
    with _told_in(place):
        texts = [(decoded(file.getvalue(), file.name), file.name) for file in files]
        for text, name in texts:
            if not text.strip():
                raise InputError(tell("page.text.empty", name=name))
        text = read(reading.together, tuple(texts))[0] if texts else pasted
    if not text.strip():
        place.info(help_)
        raise RefusedError
    return text, place


def _choose_machine(plan: Plan) -> tuple[Plan, Topology]:
    if _source("page.source", ("model", "capture"), "capture" if plan.capture else "model") == "model":
        plan = _choose_model(plan)
        return plan, _own(plan)
    button_to("draw", tell("draw.title"), ":material/polyline:")
    text, place = _text(plan.capture, example_captures(), "capture", FORMATS.endings)
    with _told_in(place):
        plan = _choose_rates(replace(plan, capture=text))
        return plan, _own(plan)


def _own(plan: Plan) -> Topology:
    """The machine with the network it has of its own."""
    return machine_of(plain_machine(plan))


def _choose_network(plan: Plan, topology: Topology) -> tuple[Plan, Topology]:
    """What joins the machine's hosts, where anything does."""
    if not has_network(topology):
        st.selectbox(tell("page.network"), [tell("page.network.none")], disabled=True, key=fresh("no_network"))
        return replace(plan, network=""), topology
    names = ["", *NETWORKS]
    name = st.selectbox(
        tell("page.network"),
        names,
        index=names.index(plan.network) if plan.network in names else 0,
        format_func=lambda x: x or tell("page.network.own"),
        help=tell("page.network.help"),
        key=fresh("network"),
    )
    joined = replace(plan, network=name)
    return joined, machine_of(replace(joined, placement="", edits="")) if name else topology


def _choose_placement(plan: Plan, topology: Topology) -> tuple[Plan, Topology]:
    """Which of its GPUs play the ranks, as a list or a rank file; all of them in order where nothing is written."""
    if topology.n < 2:
        return replace(plan, placement=""), topology
    label, icon = tell("page.placement"), ":material/event_seat:"
    panel, is_made = folds.fold("placement", label, icon, is_needed=bool(plan.placement))
    if not is_made:
        return plan, topology
    with panel:
        text = st.text_area(
            tell("page.placement.which"),
            plan.placement,
            placeholder=tell("page.placement.all"),
            help=tell("page.placement.help"),
            height=68,
            key=fresh(f"placement_{topology.name}"),
        ).strip()
        with _told_in(st.empty()):
            line = read(reading.placement, text, tell("page.placement")) if text else ""
            plan = replace(plan, placement=line)
            return plan, machine_of(replace(plan, edits="")) if line else topology


def _choose_edits(plan: Plan, topology: Topology) -> tuple[Plan, Topology]:
    """What is changed on the machine; nothing is left of it on another one."""
    edits = whatif.choose(plan, topology, whatif.EDIT)
    plan = replace(plan, edits=edits)
    return plan, machine_of(plan) if edits else topology


def _choose_model(plan: Plan) -> Plan:
    name, words = parse_spec(plan.machine)
    names = list(MACHINES)
    name = st.selectbox(
        tell("page.machine"),
        names,
        index=names.index(name) if name in names else 0,
        format_func=lambda name: titled("machine", name),
        help=summary(name, MACHINES.summary(name)),
        key=fresh("machine"),
    )
    if name != parse_spec(plan.machine)[0]:
        words = {}
    place = st.empty()
    parameters, changed = MACHINES.parameters(name), ",".join(f"{k}={v}" for k, v in words.items())
    is_odd = not can_be_read(parameters, words, name)
    panel, is_made = folds.fold("parameters", tell("page.parameters"), is_needed=is_odd)
    if is_made:
        with panel:
            changed = settings(parameters, changed, name)
    plan = replace(plan, capture="", rates="", machine=f"{name}:{changed}" if changed else name)
    with _told_in(place):
        _own(plan)
    return plan


def _choose_rates(plan: Plan) -> Plan:
    """What a capture does not say, with a default until given."""
    reader = format_of(plan)
    st.caption(tell("page.recognised", format=reader.title))
    with st.expander(tell("page.rates"), expanded=False):
        return replace(plan, rates=settings(reader.options, plan.rates, "capture"))


def _choose_ranks(plan: Plan, topology: Topology) -> Plan:
    most = topology.n
    if most > 2:
        plan = replace(plan, ranks=_ranks(most, max(2, min(plan.ranks or most, most))))
    else:
        plan = replace(plan, ranks=0)
    n = plan.ranks or most
    if COLLECTIVES[collective_of(plan.algorithm)].rooted and n > 1:
        root = st.number_input(tell("page.root"), 0, n - 1, min(plan.root, n - 1), key=fresh(f"root_{n}"))
        plan = replace(plan, root=int(root))
    return plan


@fragment
def _ranks(most: int, now: int) -> int:
    """Number of ranks; 0 for all."""
    chosen = st.slider(tell("page.ranks"), 2, most, now, key=fresh(f"ranks_{most}"))

    def words(place: int) -> dict[str, int]:
        return {"ranks": 0 if place == most else place, "root": min(state(SimulateState).plan.root, place - 1)}

    ahead.follow("ranks", chosen, range(2, most + 1), words)
    return int(words(chosen)["ranks"])


def _choose_load(plan: Plan, load: Load) -> Plan:
    if not load.sized:
        return plan
    plan = replace(plan, size=_size(plan.size, sizes(plan.size)))
    with _told_in(st.empty()):
        check_size(load.name, load.unit_share, parse_size(plan.size))
    return plan


@fragment
def _size(now: str, stops: list[str]) -> str:
    help_, key = tell("page.size.help"), fresh(f"size_{now if now not in SIZES else ''}")
    size: str = st.select_slider(tell("page.size"), stops, value=now, format_func=plain, help=help_, key=key)
    ahead.follow("size", stops.index(size), range(len(stops)), lambda place: {"size": stops[place]})
    return size
