"""Measured against simulated: what a pasted table reaches, and in a second tab how far off the clock is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import streamlit as st

from ops.libraries.nccl.layers import LARGE
from ops.measured import steps
from ops.measured.accuracy import OURS, Cell, MeasuredRun, cells, published
from ops.measured.comparison import Compared, Outside, verdict
from ops.measured.formats import MEASUREMENTS
from ops.measured.own.reached import Reached
from ops.plan import Plan
from sim.base.files.textfile import decoded
from sim.errors import InputError, Message, StalledError
from sim.machines import MACHINES
from sim.units import fmt_bandwidth, fmt_share, fmt_size, fmt_time
from ui.charts import kept
from ui.controls import answer
from ui.pages import page
from ui.simulate.state import SimulateState
from ui.state import PageState, become, state
from ui.text import plain, prose, retold, tell, titled
from ui.workers import tasks
from ui.workers.asking import read

EXAMPLE = """# nThread 1 nGpus 8 minBytes 1048576 maxBytes 1073741824
# Collective test starting: all_reduce_perf
#       size         count      type   redop    root     time   algbw   busbw
     1048576        262144     float     sum      -1    71.85   14.59   25.54
    16777216       4194304     float     sum      -1    258.7   64.86  113.50
    33554432       8388608     float     sum      -1    379.5   88.41  154.71
"""
"""Rows of microsoft/msccl-leaderboard (MIT), one NDv4."""
HEIGHT = 520
"""Pixels of the list of all runs."""


@dataclass(frozen=True)
class MeasuredState(PageState):
    """The last measurement that could be read: its text and name, the machine and its ranks."""

    good: tuple[str, str, str | Plan, int] | None = None


@page(order=50)
def measured() -> None:
    """Draw the page once."""
    st.title(tell("page.measured.title"), anchor=False)
    yours, accuracy = st.tabs([tell("page.measured.yours"), tell("page.measured.accuracy")])
    with yours:
        more = _yours()
    with accuracy:
        _clock(more)


def _yours() -> Sequence[MeasuredRun]:
    """A table that a visitor brings, and what it reaches; returns its runs."""
    answers = st.container()
    st.markdown(tell("page.measured.what"))
    left, right = st.columns([3, 2])
    with left:
        pasted = st.text_area(
            tell("page.measured.paste"), height=220, key="measured_text", placeholder=EXAMPLE, max_chars=1 << 20
        )
    with right:
        file = st.file_uploader(tell("page.measured.file"), type=[*MEASUREMENTS.endings], key="measured_file")
        machine = _machine()
        ranks = st.number_input(tell("page.measured.ranks"), 0, 4096, 0, key="measured_ranks")
    more: Sequence[MeasuredRun] = ()
    with answers:
        try:
            text, name = pasted, tell("page.measured.pasted")
            if file is not None:
                text, name = decoded(file.getvalue(), file.name), file.name
            _refuse_nothing(text, "page.measured.nothing" if file is None else "page.text.empty", name)
            more = _show(text, name, machine, int(ranks))
            become(MeasuredState(good=(text, name, machine, int(ranks))))
        except (InputError, StalledError) as error:
            if not pasted.strip() and file is None:
                st.info(prose(retold(error)))
            else:
                st.error(prose(retold(error)), icon=":material/error:")
            if good := state(MeasuredState).good:
                more = _show(*good)
    return more


def _machine() -> str | Plan:
    """Where it was measured: a machine's spec, empty if the output shall tell, or the plan whose machine it was."""
    simulated = state(SimulateState)
    plan = simulated.plan
    own = (plan.capture_name or plan.machine) if simulated.has_plan else ""
    spec = st.text_input(
        tell("page.measured.machine"), key="measured_machine", placeholder="dgx_a100:hosts=2", max_chars=200
    )
    if own and st.checkbox(tell("page.measured.stage", name=plain(own)), key="measured_on_stage"):
        return plan
    return spec.strip()


def _clock(more: Sequence[MeasuredRun]) -> None:
    """How far off every published run is, worst first, those that a visitor brought on top; and one of them whole."""
    from ui.charts import errors as pictures  # loaded when there is something to draw, as in the lab

    st.markdown(tell("page.measured.clock"))
    runs = [*more, *published()]
    public = published()
    every = list(cells(public))
    nearest = sum(not cell.behind for cell in every) / max(1, len(every))
    rows = sum(len(run.sizes) for run in public)
    said = (
        Message("answer.measured", share=fmt_share(nearest)),
        Message("answer.measured.of", runs=len(public), rows=rows),
    )
    shows = dict.fromkeys(("share", "runs", "rows"), "errors")
    answer.lead(st.empty(), said, "measured", lambda _: shows)
    answer.listen("measured", {"errors": ".st-key-measured_every"})
    words = {
        "machines": len({_kind(run.machine) for run in public}),
        "most": max(run.ranks for run in public),
        "nearest": fmt_share(nearest),
    }
    st.caption(tell("page.measured.count", runs=len(public), rows=rows, **words))
    with st.container(height=HEIGHT, key="measured_every"):
        st.vega_lite_chart(kept.words(pictures.overview, runs), width="stretch", key="measured_errors")
    names = {run.name: f"{_titled(run.machine)}: {run.name}" for run in runs}
    chosen = st.selectbox(
        tell("page.measured.run"),
        list(names),
        format_func=names.__getitem__,
        key="measured_run_brought" if more else "measured_run",
    )
    run = next(run for run in runs if run.name == chosen)
    st.vega_lite_chart(kept.words(pictures.one_run, run), width="stretch", key="measured_errors_of_one")
    st.dataframe(_by_machine(public), hide_index=True)
    with st.expander(tell("page.measured.nearest")):
        behind = [cell for cell in every if cell.behind]
        st.dataframe([_behind(cell, pictures.label) for cell in behind], hide_index=True)
    _steps()


def _by_machine(runs: Sequence[MeasuredRun]) -> list[dict[str, str]]:
    """Every machine with its runs, times and median errors below and from 1 MiB."""
    machines: dict[str, list[MeasuredRun]] = {}
    for run in runs:
        machines.setdefault(run.machine, []).append(run)
    lines = []
    for machine, several in sorted(machines.items(), key=lambda entry: _titled(entry[0])):
        line = {
            tell("page.measured.machine.column"): _titled(machine),
            tell("page.measured.runs"): str(len(several)),
            tell("page.measured.rows"): str(sum(len(run.sizes) for run in several)),
        }
        for key, large in (("below", False), ("above", True)):
            errors = [abs(error) for run in several for error in run.errors(OURS, large)]
            line[tell(f"page.measured.{key}", size=fmt_size(LARGE))] = fmt_share(median(errors)) if errors else "–"
        lines.append(line)
    return lines


def _steps() -> None:
    """Training steps that others published, beside those that are predicted from the first of each group."""
    with st.expander(tell("page.measured.steps")):
        st.caption(tell("page.measured.steps.what"))
        st.dataframe([_step(row) for row in steps.kept()], hide_index=True)


def _step(row: steps.PredictedRow) -> dict[str, str]:
    error = tell("page.measured.steps.reference") if row.reference else fmt_share(row.error, 1)
    return {
        tell("page.measured.steps.group"): row.group,
        "GPU": str(row.ranks),
        tell("page.measured.error"): error,
        tell("page.measured.measured"): f"{row.published:,g} {row.unit}",
        tell("page.measured.simulated"): f"{row.predicted:,.5g}",
    }


def _behind(cell: Cell, label: Callable[[str], str]) -> dict[str, str]:
    half = tell("page.measured.half.large" if cell.large else "page.measured.half.small", size=fmt_size(LARGE))
    errors = {label(model): "–" if error is None else fmt_share(error) for model, error in cell.errors.items()}
    name = f"{cell.system}, {cell.ranks} × {cell.collective}"
    return {tell("page.measured.run"): name, " ": half} | errors


def _refuse_nothing(text: str, message: str, name: str) -> None:
    if not text.strip():
        raise InputError(tell(message, name=name))


def _show(text: str, name: str, machine: str | Plan, ranks: int) -> Sequence[MeasuredRun]:
    """Every table: its machine, the curves, the numbers, what was left out; as runs.

    Raises InputError and StalledError before anything is drawn.
    """
    from ui.charts import measured as charts  # loaded when there is something to draw, as in the lab

    tables = read(tasks.compared, text, name, machine, ranks)
    if isinstance(tables, tasks.Untold):
        raise InputError("at.place", place=tables.why, what=tell(f"page.measured.add.{tables.missing}"))
    for table in tables:
        if not table.rows:
            raise InputError(table.outside[0].why if table.outside else tell("page.measured.nothing"))
    for number, table in enumerate(tables):
        _answer(table.reached, table.machine)
        times = kept.words(charts.times, table.rows)
        st.vega_lite_chart(times, width="stretch", key=f"measured_chart_{number}")
        with st.expander(tell("page.measured.numbers")):
            _headline(table)
            st.dataframe([_line(row) for row in table.rows], hide_index=True)
        _left_out(table.outside)
    return [run for table in tables for run in table.runs]


def _answer(reached: Reached | None, machine: str) -> None:
    """What a run reaches of its machine, what was expected, what limits it, and where to look if it is slow."""
    if reached is None:
        return
    share = fmt_share(reached.share)
    st.subheader(tell(f"page.measured.reached.{reached.verdict}", share=share, machine=plain(_titled(machine))))
    band = tell("report.between", least=fmt_bandwidth(reached.least), most=fmt_bandwidth(reached.most))
    words = {
        "collective": reached.row.collective,
        "size": fmt_size(reached.row.size),
        "measured": fmt_bandwidth(reached.measured),
        "expected": fmt_bandwidth(reached.expected) if reached.band is None else band,
    }
    said = [tell("page.measured.reached.numbers", **words)]
    if reached.kind:
        kind = tell(f"page.measured.kind.{reached.kind}")
        said.append(tell("page.measured.reached.limit", link=plain(reached.link), kind=kind))
        if reached.verdict == "below":
            said.append(tell(f"page.measured.look.{reached.kind}"))
    st.markdown(" ".join(said))


def _titled(spec: str) -> str:
    """What people call a machine."""
    name, _, rest = spec.partition(":")
    return (titled("machine", name) + (f" ({rest})" if rest else "")) if name in MACHINES else spec


def _kind(spec: str) -> str:
    """What kind of machine a spec names, whatever its number of hosts."""
    return spec.partition(":")[0].partition(" ")[0]


def _headline(table: tasks.ComparedTable) -> None:
    rows, errors = table.rows, verdict(table.rows)
    family = tell("page.measured.constants")
    if table.family:
        pace = tell("page.measured.family", name=table.family)
        family = pace if table.is_measured else tell("page.measured.common")
    reason = tell("page.measured.machine.chosen") if table.why == "given" else tell("page.measured.machine.recognised")
    st.markdown(f"**{plain(table.machine)}** ({reason}): {rows[0].ranks} × {rows[0].collective}. {family}")
    below, above = table.band
    if below is not None and above is not None:
        words = {"small": fmt_share(below), "large": fmt_share(above), "size": fmt_size(LARGE)}
        st.caption(tell("page.measured.expect", count=table.rests_on, **words))
    small, large = st.columns(2)
    limit = fmt_size(LARGE)
    for column, key, value in ((small, "below", errors.small), (large, "above", errors.large)):
        column.metric(tell(f"page.measured.{key}", size=limit), "–" if value is None else fmt_share(value, 1))


def _line(row: Compared) -> dict[str, str]:
    return {
        tell("page.measured.size"): fmt_size(row.size),
        tell("page.measured.measured"): fmt_time(row.measured),
        tell("page.measured.simulated"): fmt_time(row.simulated),
        tell("page.measured.error"): fmt_share(row.error, 1, sign=True),
        tell("page.measured.way"): row.way,
    }


def _left_out(outside: list[Outside]) -> None:
    if outside:
        with st.expander(tell("page.measured.outside", count=sum(group.rows for group in outside))):
            for group in outside:
                st.text(f"{group.rows}: {group.why}")
