"""One widget for one parameter of a machine, an algorithm, a format or a trouble."""

import streamlit as st

from sim.parameters import Parameter
from sim.units import MiB, fmt_size


def fresh(key: str) -> str:
    """A widget's key for this scene: another one once a scene has been restored, so that widgets forget theirs."""
    turn = st.session_state.get("turn", 0)
    return f"{key}~{turn}" if turn else key


def usual(parameter: Parameter) -> str:
    """A parameter's default as a person would type it."""
    value = parameter.default
    match parameter.kind:
        case "bandwidth" if value is not None:
            return f"{value / 1e9:g}GBps"
        case "time" if value is not None:
            return f"{value * 1e6:g}us"
        case "size" if value is not None:
            return fmt_size(value).replace(" ", "") if value % MiB == 0 and value else str(value)
        case "dims":
            return "x".join(map(str, value))
        case "bool":
            return "yes" if value else "no"
    return "" if value is None else str(value)


def field(parameter: Parameter, word: str | None, owner: str) -> str:
    """One widget for one parameter; returns what a person would type."""
    default = usual(parameter)
    key = fresh(f"{owner}_{parameter.name}")
    if parameter.kind == "int" and parameter.high:
        value = int(word) if word and word.isdecimal() else int(parameter.default)
        return str(st.number_input(parameter.name, parameter.low, parameter.high, value, key=key))
    if parameter.kind == "bool":
        return "yes" if st.toggle(parameter.name, value=(word or default) == "yes", key=key) else "no"
    if parameter.words:
        words = list(parameter.words)
        return st.selectbox(parameter.name, words, index=words.index(word if word in words else default), key=key)
    return st.text_input(parameter.name, value=word or default, key=key).strip() or default
