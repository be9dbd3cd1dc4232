"""What goes wrong, chosen one trouble after the other; every choice is applied at once."""

from dataclasses import replace
from typing import Any

import streamlit as st

from ops.request.notation import entries, listed
from sim.errors import InputError
from sim.parameters import Parameter
from sim.perturbation.places import choices
from sim.topology import Topology
from sim.trouble import TROUBLES, troubles
from ui.text import summary, tell, tell_or
from ui.widgets import past
from ui.widgets.parameter import RefusedError, field, fresh, refuse, usual


def choose(words: str, topology: Topology) -> str:
    """Draw the troubles that `words` hold and a way to add one; returns the words as they are now."""
    specs = entries(words)
    with st.expander(tell("page.trouble"), expanded=bool(specs), icon=":material/bolt:"):
        remaining = []
        for number, spec in enumerate(specs):
            name, _, rest = spec.partition(":")
            if name not in TROUBLES:
                remaining.append(spec)
                continue
            with st.container(border=True):
                st.markdown(f"**{tell(f'trouble.{name}')}**", help=summary(name, TROUBLES.summary(name)))
                now = f"{name}:{_fields(name, _pairs(rest), topology, number)}"
                if not st.button(tell("page.trouble.remove"), key=fresh(f"drop_{number}"), icon=":material/close:"):
                    remaining.append(now)
        added = st.selectbox(
            tell("page.trouble.add"),
            list(TROUBLES),
            index=None,
            format_func=lambda name: tell(f"trouble.{name}"),
            placeholder=tell("page.trouble.none"),
            key=fresh(f"add_trouble_{len(specs)}"),
        )
        if len(remaining) == len(specs) and not added:
            _check(remaining, topology)
    if added:
        remaining.append(TROUBLES[added].first_look(topology))
    if len(remaining) != len(specs):
        forget()
        past.move_on(replace(st.session_state.scene, trouble=listed(remaining)))
        st.rerun()
    return listed(remaining)


def _check(specs: list[str], topology: Topology) -> None:
    """Refuse here what this machine cannot suffer. Raises RefusedError then."""
    try:
        troubles(specs, topology)
    except InputError as error:
        refuse(error)
        raise RefusedError from None


def describe(spec: str) -> str:
    """A trouble in few words: what it is, where, and how much."""
    name, _, rest = spec.partition(":")
    if name not in TROUBLES:
        return spec
    arguments = _pairs(rest)
    devices = [key for key, parameter in TROUBLES.parameters(name).items() if _names_device(parameter)]
    ends = [arguments.pop(key) for key in devices if key in arguments] if len(devices) > 1 else []
    words = [" → ".join(ends), *(f"{key} {word}" for key, word in arguments.items())]
    return f"{tell(f'trouble.{name}')}: {', '.join(filter(None, words))}"


def offers() -> list[dict[str, Any]]:
    """What a click in the player may ask: on what, in which words, and the trouble with braces to fill in."""
    return [
        {"on": kind.targets(offer), "text": tell_or(f"offer.{name}.{offer.key}", text), "spec": kind.spec(offer)}
        for name, kind in TROUBLES.items()
        for offer in kind.offers
        for text in [offer.text or summary(name, TROUBLES.summary(name))]
    ]


def _pairs(arguments: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in arguments.split(",") if "=" in pair)


def _names_device(parameter: Parameter) -> bool:
    return parameter.points_at is not None and parameter.points_at.what != "rank"


def _fields(name: str, arguments: dict[str, str], topology: Topology, number: int) -> str:
    """A widget for each parameter; returns what is not as usual, as `key=value,…`."""
    parameters, words = TROUBLES.parameters(name), {}
    before = start = ""
    for key, parameter in parameters.items():
        points_at, owner = parameter.points_at, _numbered(number, name)
        if points_at is None or not _names_device(parameter):
            words[key] = field(parameter, arguments.get(key), owner)
            continue
        names, word = choices(points_at, topology, start), arguments.get(key, "")
        if names and word and word not in names and start == before:
            refuse(InputError(f"{name}: {topology.name} has no {key} called {word[:40]!r} there: choose another"))
        at = names.index(word) if word in names else 0
        words[key] = st.selectbox(key, names, index=at, key=fresh(f"{owner}_{key}_{start}")) if names else word
        if points_at.what == "start":
            before, start = word, words[key]
    return ",".join(f"{key}={word}" for key, word in words.items() if word and word != usual(parameters[key]))


def forget() -> None:
    """Widgets of troubles are numbered, so others take their places when the numbers shift."""
    st.session_state.shift = st.session_state.get("shift", 0) + 1


def _numbered(number: int, name: str) -> str:
    """What the widgets of a trouble begin their keys with."""
    shift = st.session_state.get("shift", 0)
    return f"t{number}.{shift}_{name}" if shift else f"t{number}_{name}"
