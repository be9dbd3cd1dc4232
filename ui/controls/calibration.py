"""Numbers measured on the chosen machine: typed, or the text of a file that `calibrate -o` wrote."""

from dataclasses import replace

import streamlit as st

from ops.libraries.nccl.own.numbers import own_numbers
from ops.libraries.nccl.own.saved import word_in
from ops.plan import Plan
from sim.errors import InputError
from sim.topology import Topology
from ui.controls import folds
from ui.controls.parameter import RefusedError, fresh, refuse
from ui.simulate.machines import machine_of
from ui.text import tell


def choose(plan: Plan, topology: Topology) -> tuple[Plan, Topology]:
    """Draw the field; returns the plan and its machine with these numbers. Raises RefusedError for what is none."""
    label, icon = tell("page.calibration"), ":material/straighten:"
    panel, is_made = folds.fold("calibration", label, icon, is_needed=bool(plan.calibration))
    if not is_made:
        return plan, topology
    with panel:
        text = st.text_area(
            tell("page.calibration.numbers"),
            plan.calibration,
            placeholder="hop_4.2us,share_0.93",
            help=tell("page.calibration.help"),
            height=68,
            key=fresh("calibration"),
        ).strip()
        try:
            plan = replace(plan, calibration=_word(text))
            return plan, machine_of(plan) if text else topology
        except InputError as error:
            refuse(error)
            raise RefusedError from None


def same_machine(before: Plan, after: Plan) -> str:
    """A plan's calibration, where the other plan has the same machine with any number of hosts; empty otherwise."""
    same = before.capture == after.capture and _name(before) == _name(after)
    return after.calibration if same else ""


def _name(plan: Plan) -> str:
    return plan.machine.partition(":")[0]


def _word(text: str) -> str:
    if not text:
        return ""
    return word_in(text, tell("page.calibration")) if text.startswith("{") else str(own_numbers(text))
