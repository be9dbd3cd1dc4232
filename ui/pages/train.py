"""The Train page: a workload on a machine, its timeline, its memory and its figures."""

import json
from functools import partial
from itertools import chain
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ops.answers.training import answer_step, is_worth_it, kind_of
from ops.plan import Plan
from ops.plan.training import WorkloadPlan, from_query, to_query, to_yaml
from ops.programs.result import ProgramResult
from ops.training.facts import is_table
from ops.workloads import WORKLOADS, TrainingStep
from sim.base.files.textfile import decoded
from sim.errors import InputError, Message, StalledError
from sim.parameters import Parameter
from sim.units import fmt_bandwidth, fmt_share, fmt_size, fmt_time
from ui import address
from ui.charts import gaps, training
from ui.controls import answer, sidebar
from ui.controls.parameter import field, fresh, refuse, usual
from ui.files import step_page
from ui.pages import page
from ui.share import saving
from ui.simulate.machines import machine_of
from ui.state import become, callback, change, fragment, state
from ui.text import plain, prose, retold, spoken, tell
from ui.train import playhead
from ui.train.state import FIRST, TrainState
from ui.visit import VisitState
from ui.workers import reading, tasks
from ui.workers.asking import ask, read

ROWS = 8
"""Ranks drawn at once."""
LONGEST = 6
"""Stretches without compute that are listed."""
LARGE = {"layers": 160}
"""Parameters with room for several lines, and how high they are."""
CHARTS = {
    "scaling": ("ranks", ("dp_efficiency_share", "ddp_efficiency_share")),
    "bucket_sizes": ("bucket_bytes", ("step_time_s",)),
    "memory_by_ranks": ("ranks", ("memory_bytes",)),
}
"""Tables that are drawn too: what goes along, and what goes up."""


@page(order=20, state=TrainState, opens_settings=True)
def train() -> None:
    """Draw the page once."""
    problem = _arrive()
    with st.sidebar:
        st.caption(tell("train.tagline"))
        brought = _brought()
    if brought is not None:
        _draw(brought.machine, brought.step, None)
        _downloads(brought.step)
        return
    with st.sidebar:
        name = _choose_workload()
        machine, topology = sidebar.choose_machine(state(TrainState).plan.machine)
        settings = _choose_parameters(name)
        place = st.container()
    if problem:
        st.error(prose(problem), icon=":material/link_off:")
    plan, step = _shown(WorkloadPlan(name, settings, machine) if topology is not None else None, place)
    _draw(plan.machine, step, plan)
    _downloads(step, plan)


def _draw(machine: Plan, step: TrainingStep, plan: WorkloadPlan | None) -> None:
    """Draw a step and what is known of it; `plan` is what it came from, where it can be run with other links."""
    st.title(tell(f"train.name.{step.workload}"), anchor=False)
    place, said = st.empty(), answer_step(step)
    answer.lead(place, said, "step", _shows)
    answer.listen("step", _places(step))
    st.markdown(tell(f"train.about.{step.workload}"))
    _headline(step)
    _timeline(step, machine)
    _facts(step)
    if plan and is_worth_it(step) and (helps := ask(tasks.step_remedy, plan)):
        answer.lead(place, [*said, helps], "step_helped", _shows)


def _shows(message: Message) -> dict[str, str]:
    """What shows the words of a step's answer in its timeline."""
    by_text = {"answer.step.waits": "wait", "answer.step.moves": "exposed", "answer.step.is": "exposed"}
    shown = {"time": by_text.get(message.text, "step"), "share": "exposed", "moving": "hidden"}
    names = {word: f"{word}:{message.values[word]}" for word in ("rank", "name") if word in message.values}
    return shown | names if message.text != "answer.step.remedy" else {}


def _places(step: TrainingStep) -> dict[str, str]:
    """Where in the page the parts of a step's timeline are."""
    timeline = '[data-ringside="timeline"]'
    lanes = {lane: f'{timeline} [data-lane="{lane}"]' for lane in ("exposed", "hidden", "wait")}
    ranks = {f"rank:{rank}": f'{timeline} [data-rank="{rank}"]' for rank in step.stands_for}
    names = {name for call in step.calls for name in (call.name, kind_of(call.name))}
    calls = {f"name:{name}": f"{timeline} [title^={json.dumps(name)}]" for name in names}
    return {"step": timeline, **lanes, **ranks, **calls}


def _brought() -> ProgramResult | None:
    """A program's result that somebody opened here or dropped on a page; None where there is none."""
    program = state(TrainState).program
    if program is None:
        with st.expander(tell("train.program.open"), icon=":material/upload_file:"):
            st.caption(tell("train.program.hint"))
            file = st.file_uploader(tell("train.program.file"), type=["json"], key=fresh("program_file"))
        if file is None:
            return None
        try:
            program = decoded(file.getvalue(), file.name), file.name
            read(reading.program, *program)
        except InputError as error:
            st.error(prose(retold(error)), icon=":material/error:")
            return None
        change(TrainState, program=program)
        st.rerun()
    result = read(reading.program, *program)
    st.markdown(tell("train.program.shown", name=plain(program[1])))
    st.button(tell("train.program.close"), icon=":material/close:", key="program_close", on_click=_closed)
    return result


@callback
def _closed() -> None:
    change(TrainState, program=None)
    become(state(VisitState).renewed())


def _shown(plan: WorkloadPlan | None, place: DeltaGenerator) -> tuple[WorkloadPlan, TrainingStep]:
    """The step that was chosen, or where there is none the last one that there was, and why above it."""
    chosen = None
    try:
        chosen = ask(tasks.step, plan) if plan is not None else None
    except (InputError, StalledError) as error:
        with place:
            refuse(error)
    for reason in state(VisitState).refused:
        st.warning(tell("page.stays", reason=prose(reason)), icon=":material/error:")
    if chosen is not None and plan is not None:
        become(state(TrainState).ran(plan, chosen))
        address.write(to_query(plan), plan)
        return plan, chosen
    good = state(TrainState).good or (FIRST, _first())
    change(TrainState, good=good)
    return good


def _first() -> TrainingStep:
    """The step that the page opens with; where even that takes too long the page ends with the reason."""
    try:
        return ask(tasks.step, FIRST)
    except InputError as error:
        st.error(prose(retold(error)), icon=":material/error:")
        st.stop()


def _arrive() -> str:
    """Take the plan from the address, once per session; returns what was wrong with it."""
    if state(TrainState).is_read:
        return ""
    plan, problem, words = FIRST, "", address.words()
    if words.keys() - {*address.FRAME}:
        change(TrainState, program=None)
        try:
            plan = from_query(words)
            machine_of(plan.machine)
        except InputError as error:
            plan, problem = FIRST, retold(error)
    become(state(TrainState).arrived(plan))
    address.stands_for(plan)
    return problem


def _choose_workload() -> str:
    names = list(WORKLOADS)
    name: str = st.selectbox(
        tell("train.workload"),
        names,
        index=names.index(state(TrainState).plan.workload),
        format_func=lambda x: tell(f"train.name.{x}"),
        key="train_workload",
    )
    return name


def _choose_parameters(name: str) -> tuple[tuple[str, str], ...]:
    """The parameters that differ from the workload's own."""
    before = state(TrainState).plan
    entry, first = WORKLOADS[name], dict(before.settings) if name == before.workload else {}
    with st.expander(tell("train.parameters"), expanded=True):
        settings = {key: _field(p, first.get(key), name) for key, p in entry.params.items()}
    with st.expander(tell("train.meaning")):
        st.markdown(f"{entry.summary}\n\n{entry.about}")
    return tuple((key, word) for key, word in settings.items() if word != usual(entry.params[key]))


def _field(parameter: Parameter, word: str | None, owner: str) -> str:
    if parameter.name not in LARGE:
        return field(parameter, word, owner)
    height, key = LARGE[parameter.name], f"{owner}_{parameter.name}"
    hint = tell("train.layers.help")
    return st.text_area(parameter.name, word or "", height=height, key=key, placeholder=hint).strip()


def _headline(step: TrainingStep) -> None:
    share = step.exposed_s / step.time if step.time else 0.0
    with st.container(horizontal=True, gap="medium"):
        st.metric(tell("train.time"), fmt_time(step.time), width="content")
        part = fmt_share(share, 1)
        st.metric(tell("train.exposed"), fmt_time(step.exposed_s), part, "off", width="content", delta_arrow="off")
        st.metric(tell("train.peak"), fmt_size(max(step.peaks, default=0.0)), width="content")
        if step.link_bytes.any():
            busiest = step.topology.links[int(step.link_bytes.argmax())]
            most = float(step.link_bytes.max())
            rate = fmt_bandwidth(most / step.time) if step.time else ""
            name = plain(f"{busiest.src} → {busiest.dst}")
            st.metric(tell("train.busiest"), name, f"{fmt_size(most)}, {rate}", "off",
                      width="content", delta_arrow="off")  # fmt: skip
    st.caption(training.sentence(step, spoken()))
    if not step.verified:
        st.error(tell("train.wrong"), icon=":material/gpp_bad:")


@fragment
def _timeline(step: TrainingStep, machine: Plan) -> None:
    """The picture, what part of it to look at, and a collective of it played."""
    if not step.time or not step.spans:
        st.info(tell("train.nothing"))
        return
    first, window = 0, (0, 100)
    with st.expander(tell("train.look")):
        if step.ranks > ROWS:
            first = st.slider(tell("train.first"), 0, step.ranks - ROWS, 0, key="train_rank")
        window = st.slider(tell("train.window"), 0, 100, (0, 100), format="%d%%", key="train_window")
    low, high = window if window[0] < window[1] else (0, 100)
    ranks = range(first, min(step.ranks, first + ROWS))
    texts = training.texts_of(step, spoken())
    longest = max([step.time, *(other.time for other in step.beside.values())])
    interval = (longest * low / 100, longest * high / 100)
    playhead.listen(step, interval)
    st.html(training.timeline(step, ranks, interval, texts, playhead.playable(step), playhead.chosen_of(step)))
    for name, other in step.beside.items():
        within = [rank for rank in ranks if rank < other.ranks]
        title = tell("train.beside", name=tell(f"train.beside.{name}"), time=fmt_time(other.time))
        st.html(training.beside(title, other, within, interval, texts))
    _gaps(step, ranks, texts)
    playhead.draw(step, machine)
    if "blocks" in step.facts:
        st.html(training.buffer(step.facts["blocks"], texts))


def _gaps(step: TrainingStep, ranks: range, texts: dict[str, str]) -> None:
    """How long the drawn ranks compute nothing, in sum and in the longest stretches, as text."""
    every = {rank: gaps.gaps(step, rank) for rank in ranks}
    with st.expander(tell("train.gaps")):
        for rank, stretches in every.items():
            lengths = {kind: sum(gap.length for gap in stretches if gap.kind == kind) for kind in gaps.KINDS}
            sums = [
                tell("train.gaps.sum", kind=texts[kind], time=fmt_time(s), share=fmt_share(s / step.time, 1))
                for kind, s in lengths.items()
            ]
            st.markdown(f"**{tell('train.rank', rank=rank)}**: {', '.join(sums)}")
        longest = sorted(chain(*every.values()), key=lambda gap: -gap.length)[:LONGEST]
        lines = [f"- {tell('train.rank', rank=gap.rank)}: {plain(gaps.described(gap, texts))}" for gap in longest]
        st.markdown("\n".join(lines))


def _facts(step: TrainingStep) -> None:
    figures = {key: value for key, value in step.facts.items() if not is_table(value) and key not in training.DRAWN}
    tables = {key: value for key, value in step.facts.items() if is_table(value)}
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(tell("train.figures"), anchor=False)
        head = tell("train.figure"), tell("train.value")
        st.table([{head[0]: _label(key), head[1]: _value(key, v)} for key, v in figures.items()])
    with right:
        for key, rows in tables.items():
            title = _label(key)
            st.subheader(f"{title[0].upper()}{title[1:]}", anchor=False)
            if key in CHARTS:
                along, up = CHARTS[key]
                st.html(training.columns(rows, along, up, {name: _label(name) for name in up}))
            _table(rows)
    if step.collectives:
        st.subheader(tell("train.collectives", machine=plain(step.topology.name)), anchor=False)
        _table(step.collectives)


def _label(key: str) -> str:
    return training.label(key, spoken())


def _value(key: str, value: Any) -> str:
    return training.value(key, value, spoken())


def _table(rows: list[dict[str, Any]]) -> None:
    columns = [key for key in rows[0] if any(row[key] != "" for row in rows)] if rows else []
    st.dataframe(
        [{_label(key): _value(key, row[key]) for key in columns} for row in rows],
        hide_index=True,
        width="stretch",
    )


def _downloads(step: TrainingStep, plan: WorkloadPlan | None = None) -> None:
    def everything() -> str:
        return json.dumps(step.to_dict(), allow_nan=False)

    language, name = spoken(), step.workload

    def offline() -> bytes:
        return step_page.page(step, language)

    with st.container(horizontal=True):
        page, json_file = ("text/html", offline), ("application/json", everything)
        saving.button(tell("train.download.page"), f"{name}.html", *page, key="save_page",
                      help=tell("train.download.page.help"))  # fmt: skip
        saving.button(tell("train.download.json"), f"{name}-json.json", *json_file, key="save_json")
        perfetto = "application/json", step.to_perfetto
        saving.button(tell("train.download.perfetto"), f"{name}-perfetto.json", *perfetto, key="save_perfetto")
        if plan is not None:
            text = "text/yaml", partial(to_yaml, plan)
            saving.button(tell("train.download.plan"), f"{name}.yaml", *text, key="save_plan",
                          help=tell("train.download.plan.help"))  # fmt: skip
