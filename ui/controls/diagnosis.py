"""What is told of a machine that somebody brings: read right or not, its best ring, what matters, why a GPU is slow."""

from collections import Counter

import streamlit as st

from ops.diagnosis import Diagnosis, RingRank
from ops.plan import Plan
from sim.errors import InputError, StalledError
from sim.topology import Topology
from sim.units import fmt_bandwidth, fmt_time
from ui import address
from ui.controls import compare
from ui.controls.parameter import fresh
from ui.navigation import visit
from ui.simulate.machines import format_of
from ui.simulate.past import restore
from ui.state import callback
from ui.text import plain, prose, retold, tell, tell_or
from ui.workers import tasks
from ui.workers.asking import ask

NEARLY = 0.98
"""A rank that reaches others with this share of what the best does is as well joined."""
FEW = 16
"""So many ranks are buttons; more are a menu."""
NAMED = 4
"""Names that a sentence tells."""


def show(plan: Plan) -> None:
    """Draw it for the machine of a plan."""
    machine = tasks.machine_words(plan)
    left, right = st.columns([1, 1], gap="medium")
    try:
        diagnosis = ask(tasks.diagnosis, machine)
    except (InputError, StalledError) as error:
        st.warning(prose(retold(error)), icon=":material/error:")
        return
    with left:
        _order(plan, diagnosis)
    with right:
        _cables(diagnosis)
        _slow(diagnosis)


def read(plan: Plan, topology: Topology) -> None:
    """Draw as what the machine of a plan was read, what is in it, and what was assumed."""
    reader = format_of(plan)
    kinds = Counter(device.kind for device in topology.devices)
    words = {
        "format": tell_or(f"format.{reader.name}", reader.title),
        "gpus": topology.n,
        "nics": kinds["NIC"],
        "domains": len({(device.host, device.numa) for device in topology.devices if device.numa >= 0}),
    }
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="read"):
        st.markdown(tell("diagnosis.read", **words), width="content")
        label, key = tell("report.open"), fresh("open_report")
        st.button(label, icon=":material/description:", key=key, on_click=_report, args=(plan,))
        if not topology.assumed:
            st.caption(tell("diagnosis.nothing"), width="content")
            return
        with st.popover(tell("diagnosis.assumed", count=len(topology.assumed)), type="tertiary"):
            st.markdown("\n".join(f"- {plain(line)}" for line in topology.assumed))
            st.caption(tell("diagnosis.rates"))


def _order(plan: Plan, diagnosis: Diagnosis) -> None:
    """The order of ranks in which a ring is fastest, and a way to see it beside that of the ranks."""
    if not diagnosis.edit:
        st.markdown(tell("diagnosis.order.same", time=fmt_time(diagnosis.time)))
        return
    words = {"times": f"{diagnosis.gain:.3g}", "time": fmt_time(diagnosis.best_time), "usual": fmt_time(diagnosis.time)}
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(tell("diagnosis.order", order=" ".join(map(str, diagnosis.order)), **words), width="content")
        label, key, icon = tell("diagnosis.order.show"), fresh("ring_order"), ":material/compare_arrows:"
        st.button(label, key=key, type="tertiary", icon=icon, on_click=_compared, args=(plan, diagnosis.edit))


@callback
def _report(plan: Plan) -> None:
    visit({"page": "report", **address.words_of(tasks.machine_words(plan))})


@callback
def _compared(plan: Plan, edit: str) -> None:
    restore(compare.forked(plan, edit))


def _cables(diagnosis: Diagnosis) -> None:
    """The cables that matter most to the ring."""
    if not diagnosis.cables:
        st.markdown(tell("diagnosis.cables.none"))
        return
    words = [
        tell(
            "diagnosis.cable",
            name=plain(cable.name),
            slower=f"{cable.slower / diagnosis.time:.3g}",
            faster=f"{cable.faster / diagnosis.time:.3g}",
        )
        for cable in diagnosis.cables
    ]
    more = tell("diagnosis.cables.alike", count=diagnosis.alike) if diagnosis.alike else ""
    st.markdown(tell("diagnosis.cables", cables=tell("diagnosis.between").join(words)) + more)


def _slow(diagnosis: Diagnosis) -> None:
    """A choice of ranks, and why the one that is chosen is as slow as it is."""
    ranks = {rank.name: rank for rank in diagnosis.ranks}
    if not ranks:
        return
    label, key = tell("diagnosis.slow"), fresh("why_slow")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"**{label}**", width="content")
        if len(ranks) <= FEW:
            name = st.pills(label, list(ranks), key=key, label_visibility="collapsed")
        else:
            name = st.selectbox(label, list(ranks), index=None, key=key, label_visibility="collapsed", width=200)
    if name:
        st.info(" ".join(reasons(ranks[name], diagnosis)), icon=":material/help:")


def reasons(rank: RingRank, diagnosis: Diagnosis) -> list[str]:
    """Why a rank is as slow as it is, in sentences: how it reaches others, its narrowest way, what holds a ring up."""
    words = {"name": plain(rank.name), "rate": fmt_bandwidth(rank.rate), "best": fmt_bandwidth(diagnosis.best_rate)}
    is_near = rank.rate >= NEARLY * diagnosis.best_rate
    said = [tell("diagnosis.rank.near" if is_near else "diagnosis.rank.far", **words)]
    if len(rank.behind) < diagnosis.n - 1 or not is_near:
        behind = ", ".join(plain(name) for name in rank.behind[:NAMED])
        if len(rank.behind) > NAMED:
            behind += tell("diagnosis.more", count=len(rank.behind) - NAMED)
        rate = fmt_bandwidth(rank.slowest)
        said.append(tell("diagnosis.rank.narrow", link=plain(rank.narrow), rate=rate, behind=behind))
    slowest = min(diagnosis.ranks, key=lambda other: other.pace)
    words |= {"next": plain(rank.next), "over": plain(rank.over), "pace": fmt_bandwidth(rank.pace)}
    words |= {"src": plain(slowest.name), "dst": plain(slowest.next), "link": plain(slowest.over)}
    words |= {"slowest": fmt_bandwidth(slowest.pace), "hops": str(rank.shared)}
    if all(other.pace <= slowest.pace * (1 + 1e-9) for other in diagnosis.ranks):
        said.append(tell("diagnosis.ring.even", **words))
    elif rank.pace <= slowest.pace * (1 + 1e-9):
        said.append(tell("diagnosis.ring.shared" if rank.shared > 1 else "diagnosis.ring.holds", **words))
    else:
        said.append(tell("diagnosis.ring.waits", **words))
    return said
