"""The lab: a form of what-ifs, who wins where, and a way from every cell to its run on the stage."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product

import streamlit as st

from ops import ALGORITHMS
from ops.answers.winners import answer_map
from ops.lab.cells import Row
from ops.lab.grid import OWN, Grid, split
from ops.lab.winners import WinnerMap, named, winner_map
from ops.libraries import LIBRARIES
from ops.plan import Plan
from ops.plan.notation import algorithm_spec, size_word
from sim.errors import InputError, Message, StalledError
from sim.machines import MACHINES, build
from sim.topology.networks import NETWORKS
from sim.units import fmt_bandwidth, fmt_size, fmt_time
from ui import address
from ui.charts import kept
from ui.controls import answer
from ui.controls.parameter import fresh
from ui.navigation import go
from ui.pages import page
from ui.simulate import past
from ui.simulate.machines import able_on
from ui.state import PageState, become, state
from ui.text import plain, prose, retold, tell
from ui.workers import tasks
from ui.workers.asking import ask, ask_rows

MOST = 4000
"""Cells of one question; more belong to `sweep`."""
KEPT = 24
"""Questions whose answers are kept for all who ask."""
REASONS = 3
"""Reasons that are told where nobody can do it."""
BETWEEN = ";"
"""Stands between machines in the address; commas are part of them."""
USUAL = {
    "allreduce": ["ring", "recursive_doubling", "rabenseifner", "double_binary_tree", "hierarchical_2d", "all_pairs"],
}
"""Algorithms to begin with, where those of a collective are many."""


@dataclass(frozen=True)
class Question:
    """The form as words, which also are the address: names with commas between, machines with semicolons.

    Among the names of algorithms, that of a library stands for what it chooses.
    """

    collective: str = "allreduce"
    algorithms: str = ",".join(USUAL["allreduce"])
    machines: str = "nodes:nodes=4,gpus=8"
    sizes: str = "1KiB..1GiB*4"
    ranks: str = ""
    networks: str = ""

    @property
    def specs(self) -> list[str]:
        """The machines one by one."""
        return [spec.strip() for spec in self.machines.split(BETWEEN) if spec.strip()]

    @property
    def clusters(self) -> list[Plan]:
        """Every machine on every network, as plans that lack what runs there. Raises InputError."""
        if not self.specs:
            raise InputError("lab.no_machine")
        networks = ["" if name == OWN else name for name in split(self.networks) or [OWN]]
        return list(
            dict.fromkeys(Plan("", machine, network=network, size="") for machine in self.specs for network in networks)
        )

    def grid(self, cluster: Plan) -> Grid:
        """What is asked of one machine on one network. Raises InputError."""
        names = [
            f"{name}.{self.collective}" if name in LIBRARIES else f"{self.collective}.{name}"
            for name in split(self.algorithms)
        ] or [self.collective]
        ranks = split(self.ranks) or _powers(build(cluster.machine).n)
        return Grid(
            algorithms=names, machines=[cluster.machine], networks=[cluster.network or OWN], sizes=split(self.sizes),
            ranks=ranks,
        )  # fmt: skip


@dataclass(frozen=True)
class LabState(PageState):
    """The last question that was answered."""

    good: Question = field(default_factory=Question)


def _powers(n: int) -> list[str]:
    """Powers of two up to a number, and the number."""
    return [str(k) for k in sorted({n, *(1 << e for e in range(1, n.bit_length()) if 1 << e <= n)})]


@page(order=30)
def lab() -> None:
    """Draw the page once."""
    st.title(tell("page.lab.head"), anchor=False)
    st.caption(tell("page.lab.intro"))
    try:
        question = _form(_arrive())
        answers = _answers(question)
        become(LabState(good=question))
    except InputError as error:
        st.error(prose(retold(error)), icon=":material/error:")
        try:
            answers = _answers(state(LabState).good)
        except InputError:  # a limit that stops every question: it has been told
            return
    tabs = st.tabs([plain(", ".join(filter(None, (of.machine, of.network)))) for of in answers])
    for k, (tab, (cluster, (rows, winners))) in enumerate(zip(tabs, answers.items(), strict=True)):
        with tab:
            _show(k, cluster, rows, winners)


def _answers(question: Question) -> dict[Plan, tuple[list[Row], WinnerMap]]:
    """The rows and the map of every machine on every network. Raises InputError."""
    answers = {cluster: _answer(question.grid(cluster)) for cluster in question.clusters}
    return {cluster: (rows, winner_map(rows)) for cluster, rows in answers.items()}


def _arrive() -> Question:
    """The question of the address; a collective alone asks for all of its algorithms."""
    words = {
        field.name: st.query_params[field.name][:2000] for field in fields(Question) if field.name in st.query_params
    }
    if words.get("collective", "allreduce") != "allreduce":
        words.setdefault("algorithms", "")
    return Question(**words)


def _form(question: Question) -> Question:
    """Draw the form and put what it says into the address. Raises InputError for a collective there is none of."""
    served = sorted({entry.collective.name for entry in ALGORITHMS.values()})
    if question.collective not in served:
        raise InputError("collective.unknown", collective=question.collective, choices=served)
    collective = st.selectbox(
        tell("page.collective"), served, index=served.index(question.collective), key=fresh("lab_collective")
    )
    if collective != question.collective:
        question = replace(question, collective=collective, algorithms=",".join(USUAL.get(collective, ())))
    of_collective = [entry.name for entry in ALGORITHMS.values() if entry.collective.name == collective]
    served_here = {*(name.partition(".")[2] for name in of_collective), *LIBRARIES}
    listed = [name for name in split(question.algorithms) if algorithm_spec(name)[0] in served_here]
    clusters = [Plan(machine=spec) for spec in question.specs]
    names = [*(name.partition(".")[2] for name in able_on(clusters, of_collective)), *LIBRARIES]
    specs = question.specs
    with st.form("lab", border=True):
        left, right = st.columns(2)
        size, rank, network, ask = st.columns([2, 2, 2, 1], vertical_alignment="bottom")
        algorithms = left.multiselect(
            tell("page.lab.algorithms"),
            list(dict.fromkeys([*names, *listed])),
            default=listed,
            placeholder=tell("page.lab.all"),
            key=fresh(f"lab_algorithms_{collective}"),
        )
        machines = right.multiselect(
            tell("page.lab.machines"),
            list(dict.fromkeys([*specs, *MACHINES])),
            default=specs,
            accept_new_options=True,
            help=tell("page.lab.machines.help"),
            key=fresh("lab_machines"),
        )
        sizes = size.text_input(
            tell("page.lab.sizes"), question.sizes, help=tell("page.lab.sizes.help"), key=fresh("lab_sizes")
        )
        ranks = rank.text_input(
            tell("page.lab.ranks"), question.ranks, placeholder=tell("page.lab.ranks.all"), key=fresh("lab_ranks")
        )
        networks = network.multiselect(
            tell("page.lab.networks"),
            list(dict.fromkeys([*split(question.networks), OWN, *NETWORKS])),
            default=split(question.networks),
            format_func=lambda name: tell("page.network.own") if name == OWN else name,
            placeholder=tell("page.network.own"),
            help=tell("page.network.help"),
            key=fresh("lab_networks"),
        )
        ask.form_submit_button(tell("page.lab.ask"), type="primary", key="lab_ask", width="stretch")
    now = Question(
        collective, ",".join(algorithms), BETWEEN.join(machines), sizes.strip(), ranks.strip(), ",".join(networks)
    )
    _depart(now)
    return now


def _depart(question: Question) -> None:
    """Write the question into the address."""
    usual = Question()
    words = {f.name: str(getattr(question, f.name)) for f in fields(question)}
    words = {name: word for name, word in words.items() if word != getattr(usual, name)}
    address.write(words, question)


@st.cache_resource
def _kept() -> dict[tuple[Plan, ...], list[Row]]:
    return {}


def _answer(grid: Grid) -> list[Row]:
    """The rows of a grid, from those who asked before or now, with a bar. Raises InputError for one too large."""
    place = st.empty()  # there whether or not a bar is drawn, so that what follows keeps its place
    cells, answers = grid.cells(), _kept()
    key = tuple(cells)
    if len(cells) > MOST:
        raise InputError("lab.runs", count=len(cells), most=MOST)
    if key not in answers:
        bar, rows = place.progress(0.0), []
        for several in ask_rows(cells):
            rows += several
            bar.progress(len(rows) / len(cells), tell("page.lab.runs", done=len(rows), of=len(cells)))
        place.empty()
        while len(answers) >= KEPT:
            answers.pop(next(iter(answers)), None)
        answers[key] = rows
    return answers[key]


def _shows(message: Message) -> dict[str, str]:
    """What shows the words of a map's answer: the map, and the runs of two of its cells."""
    runs = {"after": "cell", "factor": "cell", "second": "other"}
    shown = {place: str(message.values[cell]) for place, cell in runs.items() if cell in message.values}
    return shown or dict.fromkeys(("count", "cells"), "map")


def _show(k: int, cluster: Plan, rows: Sequence[Row], winners: WinnerMap) -> None:
    """One machine's map, curves, table and links, on one network."""
    from ui.charts import lab_charts  # what it draws with takes a second to load, which no other page need wait for

    answer.lead(st.empty(), answer_map(winners), str(k), _shows)
    clicked = answer.listen(str(k), {"map": f".st-key-lab_map_{k}"})
    if not winners.winners:
        reasons = [prose(reason) for reason in dict.fromkeys(winners.reasons.values())]
        st.info("; ".join(reasons[:REASONS]))
    st.caption(tell("page.lab.click"))
    picked = st.vega_lite_chart(
        kept.words(lab_charts.winner_map, winners),
        width="stretch",
        on_select="rerun",
        selection_mode=lab_charts.CELL,
        key=f"lab_map_{k}",
    )
    for place in picked.selection.get(lab_charts.CELL, []):
        winner = winners.winner(int(place["ranks"]), int(place["bytes"]))
        if winner:
            _open(cluster, winner, int(place["ranks"]), int(place["bytes"]))
    for n, size in product(winners.ranks, winners.sizes):
        for name in winners.names:
            if clicked == f"{n}|{size}|{name}":
                _open(cluster, name, n, size)
    with st.container():  # one place, however much it holds
        _exact(k, cluster, winners)
    ranks = (
        st.select_slider(tell("page.lab.curves"), list(winners.ranks), value=winners.ranks[-1], key=f"lab_curve_{k}")
        if len(winners.ranks) > 1
        else winners.ranks[0]
    )
    st.vega_lite_chart(
        kept.words(lab_charts.curves, [r for r in rows if r["ranks"] == ranks], winners.names),
        width="stretch",
        key=f"lab_lines_{k}",
    )
    _table(k, cluster, rows)
    _links(k, cluster, winners)


def _exact(k: int, cluster: Plan, winners: WinnerMap) -> None:
    """The sizes at which the winner changes, for every number of ranks, when they are asked for."""
    if len(winners.sizes) < 2 or not st.toggle(
        tell("page.lab.exact"), key=f"lab_exact_{k}", help=tell("page.lab.exact.help")
    ):
        return
    from ui.charts.lab_charts import short

    lines = []
    for n in winners.ranks:
        first = winners.winner(n, winners.sizes[0])
        if first:
            several = ask(tasks.winners_change, cluster, winners.names, n, winners.sizes)
            later = [tell("page.lab.exact.from", size=fmt_size(c.size), name=short(c.after)) for c in several]
            words = ", ".join([short(first), *later])
            lines.append(f"- {tell('page.lab.exact.line', ranks=n, winners=words)}")
    st.markdown("\n".join(lines))


def _open(cluster: Plan, algorithm: str, ranks: int, size: int) -> None:
    """Go to the stage with a run."""
    plan = replace(cluster, size=size_word(size))
    whole = plan.topology().n == ranks
    past.restore(replace(plan, ranks=0 if whole else ranks).of(algorithm))
    go("stage")


def _table(k: int, cluster: Plan, rows: Sequence[Row]) -> None:
    with st.expander(tell("page.lab.table", count=len(rows))):
        st.caption(tell("page.lab.table.click"))
        data = [
            {
                tell("page.algorithm"): named(row),
                tell("page.lab.ranks"): row["ranks"],
                tell("page.lab.size"): row["size_bytes"],
                f"{tell('page.time')} (µs)": row["time_s"] * 1e6 if row.get("time_s") is not None else None,
                f"{tell('page.busbw')} (GB/s)": row["busbw_Bps"] / 1e9 if row.get("busbw_Bps") is not None else None,
                tell("page.bottleneck"): row.get("bottleneck"),
                tell("page.lab.reason"): row.get("reason"),
            }
            for row in rows
        ]
        picked = st.dataframe(
            data, hide_index=True, on_select="rerun", selection_mode="single-row", key=f"lab_table_{k}"
        )
        for at in picked.selection.get("rows", []):
            if rows[at].get("reason") is None:
                _open(cluster, named(rows[at]), rows[at]["ranks"], rows[at]["size_bytes"])


def _links(k: int, cluster: Plan, winners: WinnerMap) -> None:
    """Which links matter to one run, and what losing one costs."""
    with st.expander(tell("page.lab.links")):
        left, middle, right = st.columns(3)
        name = left.selectbox(tell("page.algorithm"), winners.names, key=f"lab_link_name_{k}")
        size = (
            middle.select_slider(
                tell("page.lab.size"),
                list(winners.sizes),
                value=winners.sizes[-1],
                format_func=fmt_size,
                key=f"lab_link_size_{k}",
            )
            if len(winners.sizes) > 1
            else winners.sizes[0]
        )
        is_tried = right.toggle(tell("page.lab.links.show"), key=f"lab_links_{k}", help=tell("page.lab.links.help"))
        if not is_tried or name is None:
            return
        plan = replace(cluster, ranks=winners.ranks[-1], size=size_word(size)).of(name)
        try:
            links = ask(tasks.links_that_matter, plan)
        except (InputError, StalledError) as error:
            st.error(prose(retold(error)), icon=":material/error:")
            return
        from ui.charts import lab_charts

        st.markdown(f"{links.name}: **{fmt_time(links.time)}**, {fmt_bandwidth(links.busbw)}")
        swings = kept.words(lab_charts.tornado, links.time, links.swings)
        st.vega_lite_chart(swings, width="stretch", key=f"lab_tornado_{k}")
        stuck = [loss.name for loss in links.losses if loss.time is None]
        if len(stuck) < len(links.losses):
            losses = kept.words(lab_charts.losses, links.time, links.losses)
            st.vega_lite_chart(losses, width="stretch", key=f"lab_losses_{k}")
        if stuck:
            st.caption(tell("page.lab.never", cables=plain(", ".join(stuck[:12])) + (" …" if len(stuck) > 12 else "")))
