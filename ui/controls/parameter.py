"""One widget for one parameter of a machine, an algorithm, a format or a fault; what cannot be read is told there."""

from collections.abc import Callable, Mapping

import streamlit as st

from sim.errors import InputError
from sim.parameters import Parameter, pairs, written
from sim.units import KiB, fmt_size, parse_bandwidth, parse_size, parse_time
from ui.player.page_script import page_script
from ui.state import change, state
from ui.text import catalogue, prose, retold, spoken, tell
from ui.visit import VisitState

BANDWIDTHS = ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "KB/s"), (1.0, "B/s"))
FIRST = 3
"""Settings that are not folded away."""
TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


class RefusedError(Exception):
    """What was typed cannot be used, and a message beside it says so."""


def fresh(key: str) -> str:
    """A widget's key for this plan: another one once a plan has been restored, so that widgets forget theirs."""
    turn = state(VisitState).turn
    return f"{key}~{turn}" if turn else key


def refuse(error: Exception) -> None:
    """Say here why what was typed cannot be used; pages repeat it above the picture that stays."""
    refused = (*state(VisitState).refused, retold(error))
    change(VisitState, refused=refused)
    with st.container():
        st.error(prose(retold(error)), icon=":material/error:")
        page_script("seen")(key=f"script_refused_{len(refused)}", data={"message": retold(error)})


def usual(parameter: Parameter) -> str:
    """A parameter's default as a link has it; empty where a function chooses itself."""
    text = human(parameter, parameter.default)
    return text if parameter.kind == "str" else _typed(text)


def human(parameter: Parameter, value: object) -> str:
    """A value as a person reads and types it, exact; `Parameter.parse` reads it back.

    >>> human(Parameter("late", "time", 0.0), 2.0), human(Parameter("nic", "bandwidth", 0.0), 25e9)
    ('2 s', '25 GB/s')
    """
    match parameter.kind:
        case "bandwidth" if isinstance(value, float | int):
            return _scaled(value, BANDWIDTHS, parse_bandwidth)
        case "time" if isinstance(value, float | int):
            return _scaled(value, TIMES, parse_time) if value else "0 s"
        case "size" if isinstance(value, int):
            return fmt_size(value) if value >= KiB and parse_size(fmt_size(value)) == value else f"{value} B"
        case "float" if isinstance(value, float | int):
            return f"{value:.15g}"
        case "dims" if isinstance(value, tuple):
            return "x".join(map(str, value))
        case "bool":
            return "yes" if value else "no"
    return "" if value is None else str(value)


def _scaled(value: float, units: tuple[tuple[float, str], ...], parse: Callable[[str], float]) -> str:
    """The shortest exact text of a value, in the largest unit that leaves one or more of it."""
    scale, unit = next((step for step in units if value >= step[0]), units[-1])
    text = f"{value / scale:.12g} {unit}"
    return text if parse(text) == value else f"{value!r} {units[-1][1] if units is BANDWIDTHS else 's'}"


def _typed(word: str) -> str:
    """A word as links have it: without spaces, in letters of every keyboard."""
    return "".join(word.split()).replace("µ", "u").replace("μ", "u").replace("/s", "ps")


def _meaning(parameter: Parameter) -> str:
    """What it means to leave a parameter out where no number says it; empty where one does."""
    key = f"field.left_out.{parameter.name}"
    return tell(key) if not parameter.default and key in catalogue(spoken()) else ""


def field(parameter: Parameter, word: str | None, owner: str) -> str:
    """One widget for one parameter; returns what a link has for it.

    What cannot be read is refused below the widget, and `word`, or else the default, stays.
    """
    default, key, meaning = usual(parameter), fresh(f"{owner}_{parameter.name}"), _meaning(parameter)
    readable, text = _read(parameter, word, owner)
    if parameter.kind == "bool":
        return "yes" if st.toggle(parameter.name, value=(readable or default) == "yes", key=key) else "no"
    if parameter.words:
        words = list(dict.fromkeys((*parameter.words, readable or default)))
        return st.selectbox(parameter.name, words, index=words.index(readable or default), key=key)
    if parameter.kind == "int" and parameter.high:
        number = int(readable or parameter.default or parameter.low)
        value = None if meaning and number == parameter.default else number
        chosen = st.number_input(
            parameter.name, parameter.low, parameter.high, value, key=key, placeholder=meaning or None
        )
        return default if chosen is None else str(int(chosen))
    value_text = "" if meaning and (readable or default) == default else text or human(parameter, parameter.default)
    entered = st.text_input(parameter.name, value=value_text, key=key, placeholder=meaning or None).strip()
    if not entered:
        return default
    if readable and entered == text:
        return readable
    return _entered(parameter, entered, owner) or readable or default


def _read(parameter: Parameter, word: str | None, owner: str) -> tuple[str, str]:
    """A link's word when it can be read, and as a person reads it; what cannot be read stays in the widget."""
    if not word:
        return "", ""
    try:
        return word, human(parameter, parameter.parse(word, owner))
    except InputError as error:
        if parameter.kind in ("int", "bool") or parameter.words:  # their widgets cannot hold it
            refuse(error)
        return "", word


def can_be_read(parameters: Mapping[str, Parameter], words: Mapping[str, str], owner: str) -> bool:
    """Whether these are words for parameters that there are."""
    try:
        for name, word in words.items():
            parameters[name].parse(word, owner)
    except (InputError, KeyError):
        return False
    return True


def _entered(parameter: Parameter, entered: str, owner: str) -> str:
    """What was entered, as links have it; empty, and refused, where it cannot be read."""
    try:
        value = parameter.parse(entered, owner.split("~")[0])
    except InputError as error:
        refuse(error)
        return ""
    if value == parameter.default:
        return usual(parameter)
    return entered if parameter.kind == "str" else _typed(entered)


def settings(parameters: Mapping[str, Parameter], words: str, owner: str) -> str:
    """A widget for each parameter; returns those that are not as usual, as `key=value,…`."""
    now = pairs(words)
    for name in now.keys() - parameters.keys():
        refuse(InputError("parameter.unknown", owner=owner, name=name, choices=", ".join(parameters) or "none"))
    chosen = {name: field(parameter, now.get(name), owner) for name, parameter in parameters.items()}
    return written({name: word for name, word in chosen.items() if word != usual(parameters[name])})


def head(group: str) -> None:
    """Draw the heading of a group of settings."""
    st.markdown(f"**{tell(f'settings.{group}')}**")


def settings_of(options: Mapping[str, Parameter], words: str, owner: str) -> str:
    """Settings of an algorithm, library or format under their heading: a few at once, more in a fold.

    Returns those that are not as usual, as `key=value,…`.
    """
    if options:
        head("algorithm")
    names, now = [*options], pairs(words)
    first, rest = ({name: options[name] for name in part} for part in (names[:FIRST], names[FIRST:]))
    chosen = settings(first, written({name: word for name, word in now.items() if name not in rest}), owner)
    if not rest:
        return chosen
    others = {name: word for name, word in now.items() if name in rest}
    with st.expander(tell("page.parameters.more"), expanded=bool(others)):
        more = settings(rest, written(others), owner)
    return ",".join(filter(None, (chosen, more)))
