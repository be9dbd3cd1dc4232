"""What adds a variant to the list: a form, and sliders that show a curve first."""

from collections.abc import Callable, Mapping
from functools import partial

import streamlit as st

from ops import ALGORITHMS
from ops.libraries import LIBRARIES
from ops.plan import Plan
from ops.plan.library_choice import collective_of
from ops.plan.notation import Changes, algorithm_spec
from ops.plan.words import value_of, wrong
from ops.whatif import changes_of
from ops.whatif.curve import ALL, QUANTITIES, Curves, curves, quantity_of
from sim.errors import InputError, StalledError
from sim.machines import MACHINES
from sim.parameters import written
from sim.topology.networks import NETWORKS
from ui.charts import kept
from ui.controls.parameter import fresh
from ui.simulate.machines import machine_of
from ui.state import callback, value
from ui.text import plain, prose, retold, tell
from ui.whatif.state import add
from ui.workers import tasks
from ui.workers.asking import ask

WORDS = ("algorithm", "size", "machine", "network", "edits", "fault", "placement", "ranks")
"""What a variant may change, as the form offers it."""


def form(baseline: Plan) -> None:
    """Draw the form: what changes, to what, and a button."""
    word = st.selectbox(
        tell("whatif.word"), WORDS, format_func=lambda name: tell(f"whatif.word.{name}"), key="whatif_word"
    )
    choices, key = list(_choices(word, baseline)), fresh(f"whatif_value_{word}")
    label, example = tell("whatif.value"), tell(f"whatif.word.{word}.example")
    if choices:
        st.selectbox(label, choices, index=None, placeholder=example, accept_new_options=True, key=key)
    else:
        st.text_input(label, placeholder=example, key=key)
    problem = st.empty()

    @callback
    def added() -> None:
        text = str(value(key) or "").strip()
        if text:
            add(lambda: _changes(word, text, baseline))

    st.button(tell("whatif.add"), icon=":material/add:", key="whatif_add", on_click=added, type="primary")
    text = str(value(key) or "").strip()
    if text:
        try:
            ask(tasks.can_be_run, baseline.changed(_changes(word, text, baseline)))
        except (InputError, StalledError) as error:
            problem.error(prose(retold(error)), icon=":material/error:")


def _choices(word: str, baseline: Plan) -> list[str]:
    if word == "algorithm":
        collective = collective_of(baseline.algorithm)
        own = [name for name in ALGORITHMS if name.partition(".")[0] == collective]
        return [*own, *(f"{library}.{collective}" for library in LIBRARIES)]
    return {"machine": list(MACHINES), "network": list(NETWORKS)}.get(word, [])


def _changes(word: str, text: str, baseline: Plan) -> Changes:
    """Return the changes that a value of a word makes; an algorithm brings its parameters, and needs no collective.

    Raises InputError for a text that is no value of the word.
    """
    if word == "algorithm":
        collective = "" if "." in text else f"{collective_of(baseline.algorithm)}."
        name, settings = algorithm_spec(f"{collective}{text}")
        return {"algorithm": name} | ({"settings": written(settings)} if settings else {})
    if value_of(word, text) is None:
        raise InputError("at.correct", what=wrong(word, text[:20]))
    return {word: text}


def sliders(baseline: Plan, plans: Mapping[str, Plan]) -> None:
    """Draw a slider for a quantity, the curves of plans by name against it, and where the winner changes."""
    top = st.container(horizontal=True, vertical_alignment="bottom")
    name = top.segmented_control(
        tell("whatif.quantity"),
        QUANTITIES,
        default=QUANTITIES[0],
        format_func=lambda each: tell(f"whatif.quantity.{each}"),
        required=True,
        key="whatif_quantity",
    )
    *_, plan = plans.values()
    kind = ALL
    if name in ("bandwidth", "latency"):
        kinds = sorted({link.kind for link in machine_of(baseline).links})
        kind = top.selectbox(
            tell("whatif.links"),
            [ALL, *kinds],
            format_func=lambda each: tell("whatif.links.all") if each == ALL else each,
            key=f"whatif_kind_{','.join(kinds)}",
            width=200,
        )
    quantity = quantity_of(name, baseline, kind)
    try:
        every = list(plans.values())
        drawn = curves(every, quantity, partial(ask, tasks.what_if_times), partial(ask, tasks.what_if_crossing))
    except (InputError, StalledError) as error:
        st.error(prose(retold(error)), icon=":material/error:")
        return
    for line in _winners(drawn, list(plans), quantity.text):
        st.markdown(line)
    usual = quantity.usual(baseline, machine_of(baseline))
    at = st.select_slider(
        tell(f"whatif.quantity.{name}"),
        list(quantity.values),
        value=usual,
        format_func=quantity.text,
        key=f"whatif_at_{name}_{len(quantity.values)}_{usual}",
    )
    from ui.charts import whatif_charts

    words = kept.words(whatif_charts.curves, drawn, list(plans), tell(f"whatif.quantity.{name}"), quantity, at)
    st.vega_lite_chart(words, width="stretch", key="whatif_curve")

    @callback
    def added() -> None:
        add(lambda: changes_of(baseline, quantity.of(plan, at)))

    st.button(
        tell("whatif.add.value", value=quantity.text(at)), icon=":material/add:", key="whatif_add_at", on_click=added
    )


def _winners(drawn: Curves, names: list[str], text: Callable[[float], str]) -> list[str]:
    """Say where the winner changes."""
    if len(names) < 2:
        return []
    if not drawn.changes:
        first = next((run for run in drawn.winners if run is not None), None)
        return [] if first is None else [tell("whatif.winner.always", name=plain(names[first]))]
    return [
        tell(
            "whatif.winner.from",
            value=text(change.value),
            name=plain(names[change.after]),
            old=plain(names[change.before]),
        )
        for change in drawn.changes
    ]
