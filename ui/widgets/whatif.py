"""What goes wrong, chosen one trouble after the other; every choice is applied at once."""

from dataclasses import replace

import streamlit as st

from ops.request.notation import entries, listed
from sim.errors import InputError
from sim.topology import Topology
from sim.trouble import TROUBLES, troubles
from ui.text import summary, tell
from ui.widgets.parameter import RefusedError, field, fresh, refuse, usual

ENDS = ("src", "dst")


def choose(words: str, topology: Topology) -> str:
    """Draw the troubles that `words` hold and a way to add one; returns the words as they are now."""
    specs = entries(words)
    with st.expander(tell("page.trouble"), expanded=bool(specs), icon=":material/bolt:"):
        kept = []
        for number, spec in enumerate(specs):
            name, _, rest = spec.partition(":")
            if name not in TROUBLES:
                kept.append(spec)
                continue
            with st.container(border=True):
                st.markdown(f"**{tell(f'trouble.{name}')}**", help=summary(name, TROUBLES.summary(name)))
                given = dict(pair.split("=", 1) for pair in rest.split(",") if "=" in pair)
                now = f"{name}:{_fields(name, given, topology, number)}"
                if not st.button(tell("page.trouble.remove"), key=fresh(f"drop_{number}"), icon=":material/close:"):
                    kept.append(now)
        added = st.selectbox(
            tell("page.trouble.add"),
            list(TROUBLES),
            index=None,
            format_func=lambda name: tell(f"trouble.{name}"),
            placeholder=tell("page.trouble.none"),
            key=fresh(f"add_trouble_{len(specs)}"),
        )
        if len(kept) == len(specs) and not added:
            _check(kept, topology)
    if added:
        kept.append(f"{added}:{_first(added, topology)}".rstrip(":"))
    if len(kept) != len(specs):
        forget()
        st.session_state.scene = replace(st.session_state.scene, trouble=listed(kept))
        st.rerun()
    return listed(kept)


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
    given = dict(pair.split("=", 1) for pair in rest.split(",") if "=" in pair)
    ends = [given.pop(end) for end in ENDS if end in given]
    words = [" → ".join(ends), *(f"{key} {word}" for key, word in given.items())]
    return f"{tell(f'trouble.{name}')}: {', '.join(filter(None, words))}"


def _fields(name: str, given: dict[str, str], topology: Topology, number: int) -> str:
    """A widget for each parameter; returns what is not as usual, as `key=value,…`."""
    words, src = {}, given.get("src")
    for key, parameter in TROUBLES.parameters(name).items():
        if key in (*ENDS, "nic"):
            choices = _choices(name, key, given.get("src", ""), topology)
            at = choices.index(given[key]) if given.get(key) in choices else 0
            if key in given and given[key] not in choices and given.get("src") == src:
                where = f"{name}: {topology.name} has no {key}"
                refuse(InputError(f"{where} called {given[key][:40]!r} there: choose another"))
            words[key] = st.selectbox(
                key, choices, index=at, key=fresh(f"{_numbered(number, name)}_{key}_{given.get('src', '')}")
            )
            given = {**given, key: words[key] or ""}
        else:
            words[key] = field(parameter, given.get(key), _numbered(number, name))
    known = TROUBLES.parameters(name)
    return ",".join(f"{key}={word}" for key, word in words.items() if word and word != usual(known[key]))


def _choices(name: str, key: str, src: str, topology: Topology) -> list[str]:
    """Devices that make sense: NICs, ends of links, and for a link's end what its beginning is joined to."""
    if key == "nic":
        return [device.name for device in topology.devices if device.kind == "NIC"]
    if name == "background":
        return [device.name for device in topology.devices if device.kind in ("GPU", "NIC", "CPU")]
    if key == "src":
        return list(dict.fromkeys(link.src for link in topology.links))
    return list(dict.fromkeys(link.dst for link in topology.links if link.src == src))


def _first(name: str, topology: Topology) -> str:
    """What a trouble must be told, with values that are worth a look and let the run end."""
    known = TROUBLES.parameters(name)
    first = topology.devices[topology.ranks[0]].name
    widest = max((link for link in topology.links if link.src == first), key=lambda link: link.bandwidth)
    last = topology.devices[topology.ranks[-1]].name
    words = {
        "rank": "0",
        "slower": "2",
        "src": first,
        "dst": last if name == "background" else widest.dst,
        "nic": next((device.name for device in topology.devices if device.kind == "NIC"), "NIC0"),
        "end": "1ms" if name == "dead_link" else "",
        "reroute": "yes" if name == "lost_nic" else "",
    }
    return ",".join(f"{key}={words[key]}" for key in known if words.get(key))


def forget() -> None:
    """Widgets of troubles are numbered, so others take their places when the numbers shift."""
    st.session_state.shift = st.session_state.get("shift", 0) + 1


def _numbered(number: int, name: str) -> str:
    """What the widgets of a trouble begin their keys with."""
    shift = st.session_state.get("shift", 0)
    return f"t{number}.{shift}_{name}" if shift else f"t{number}_{name}"
