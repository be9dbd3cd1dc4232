"""What goes wrong, and what is changed on the machine, one after the other; every choice is applied at once."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import streamlit as st

from ops.plan import Plan
from ops.plan.notation import entries, listed
from sim.errors import InputError
from sim.faults.edits import EDITS, edited
from sim.faults.kinds import FAULTS, FaultRegistry, faults
from sim.faults.places import choices
from sim.parameters import Parameter, pairs, written
from sim.topology import Topology
from ui.controls import folds
from ui.controls.parameter import RefusedError, field, fresh, refuse, usual
from ui.simulate.state import SimulateState
from ui.state import become, callback, change, state
from ui.text import summary, tell
from ui.visit import VisitState


class Several(NamedTuple):
    """A list of a plan: its word there, its kinds, what refuses what cannot be, and its icon."""

    word: str
    kinds: FaultRegistry
    made: Callable[[Iterable[str], Topology], object]
    icon: str

    def called(self, name: str) -> str:
        """A kind in the language of the visit."""
        return tell(f"{'fault' if self.word == 'fault' else 'edit'}.{name}")


FAULT = Several("fault", FAULTS, faults, ":material/bolt:")
EDIT = Several("edits", EDITS, lambda specs, topology: edited(topology, specs), ":material/build:")


def choose(plan: Plan, topology: Topology, several: Several = FAULT) -> str:
    """Draw the entries that a plan's word holds and a way to add one; returns the word as it is now.

    Edits are made one after the other, so that each is chosen on the machine that those before it left. One is added to
    the plan as the form has it: the visit's may still have another machine, where the form's cannot be run yet.
    """
    kinds, word = several.kinds, several.word
    words: str = getattr(plan, word)
    specs = entries(words)
    panel, is_made = folds.fold(word, tell(f"page.{word}"), several.icon, is_needed=bool(specs))
    if not is_made:
        return words
    with panel:
        remaining = []
        for number, spec in enumerate(specs):
            name, _, rest = spec.partition(":")
            if name not in kinds:
                remaining.append(spec)
                continue
            with st.container(border=True):
                st.markdown(f"**{several.called(name)}**", help=summary(name, kinds.summary(name)))
                machine = _before(topology, specs[:number]) if several is EDIT else topology
                now = f"{name}:{_fields(several, name, pairs(rest), machine, number)}".rstrip(":")
                drop = fresh(f"drop_{number}" if several is FAULT else f"drop_edit_{number}")
                remove = tell("page.fault.remove")
                st.button(remove, key=drop, icon=":material/close:", on_click=_removed, args=(plan, several, number))
                remaining.append(now)
        added = st.selectbox(
            tell(f"page.{word}.add"),
            list(kinds),
            index=None,
            format_func=several.called,
            placeholder=tell("page.fault.none"),
            key=fresh(f"add_{word}_{len(specs)}"),
        )
        if not added:
            _check(several, remaining, topology)
    if added:
        machine = _before(topology, specs) if several is EDIT else topology
        remaining.append(kinds[added].first_look(machine))
        forget()
        _become(plan, word, remaining)
        st.rerun()
    return listed(remaining)


@callback
def _removed(plan: Plan, several: Several, number: int) -> None:
    specs = entries(getattr(plan, several.word))
    forget()
    _become(plan, several.word, [*specs[:number], *specs[number + 1 :]])


def _become(plan: Plan, word: str, specs: list[str]) -> None:
    changed: dict[str, Any] = {word: listed(specs)}
    become(state(SimulateState).moved_on(replace(plan, **changed)))


def _before(topology: Topology, specs: Iterable[str]) -> Topology:
    """The machine that edits left, or the machine itself where they cannot be made."""
    try:
        return edited(topology, specs)
    except InputError:
        return topology


def _check(several: Several, specs: list[str], topology: Topology) -> None:
    """Refuse here what this machine cannot suffer. Raises RefusedError then."""
    try:
        several.made(specs, topology)
    except InputError as error:
        refuse(error)
        raise RefusedError from None


def _names_device(parameter: Parameter) -> bool:
    return parameter.points_at is not None and parameter.points_at.what != "rank"


def _fields(several: Several, name: str, arguments: dict[str, str], topology: Topology, number: int) -> str:
    """A widget for each parameter; returns what is not as usual, as `key=value,…`."""
    parameters, words = several.kinds.parameters(name), {}
    before = start = ""
    for key, parameter in parameters.items():
        points_at, owner = parameter.points_at, _numbered(number, name)
        if points_at is None or not _names_device(parameter):
            words[key] = field(parameter, arguments.get(key), owner)
            continue
        names, word = choices(points_at, topology, start), arguments.get(key, "")
        if names and word and word not in names and start == before:
            names = [word, *names]  # refused, it stays until another is chosen: the machine may be what is mended
        at = names.index(word) if word in names else 0
        words[key] = st.selectbox(key, names, index=at, key=fresh(f"{owner}_{key}_{start}")) if names else word
        if points_at.what == "start":
            before, start = word, words[key]
    return written({key: word for key, word in words.items() if word and word != usual(parameters[key])})


def forget() -> None:
    """Widgets of faults are numbered, so others take their places when the numbers shift."""
    change(VisitState, shift=state(VisitState).shift + 1)


def _numbered(number: int, name: str) -> str:
    """What the widgets of a fault begin their keys with."""
    shift = state(VisitState).shift
    return f"t{number}.{shift}_{name}" if shift else f"t{number}_{name}"
