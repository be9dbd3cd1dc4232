"""Fields for the numbers in the blocks: the numbers, the operation and the element type."""

from dataclasses import replace

import streamlit as st

from ops.plan import Plan
from ops.run.values import SMALL, kinds_of, parsed
from sim.errors import InputError
from sim.schedule.numeric import DTYPES, OPS
from ui.controls import folds
from ui.controls.parameter import RefusedError, fresh, refuse
from ui.text import tell


def choose(plan: Plan) -> Plan:
    """Draw the fields and return the plan with the numbers. Raises RefusedError for a word that is no number."""
    panel, is_made = folds.fold("values", tell("page.values"), ":material/123:", is_needed=bool(plan.values))
    if not is_made:
        return plan
    with panel:
        if not st.toggle(tell("page.values.show"), bool(plan.values), key=fresh("values_show")):
            return replace(plan, values="", op="", dtype="")
        op, dtype = kinds_of(plan.op, plan.dtype)
        op = st.selectbox(tell("page.values.op"), list(OPS), list(OPS).index(op), key=fresh("values_op"))
        dtype = st.selectbox(tell("page.values.dtype"), DTYPES, DTYPES.index(dtype), key=fresh("values_dtype"))
        own = "" if plan.values == SMALL else plan.values
        help_ = tell("page.values.help")
        text = st.text_input(
            tell("page.values.own"), own, placeholder="3, 1, 4, 1", help=help_, key=fresh("values_own"), max_chars=2000
        )
        words = ",".join(text.replace(",", " ").split())
        try:
            if words:
                parsed(words, dtype)
        except InputError as error:
            refuse(error)
            raise RefusedError from None
        return replace(plan, values=words or SMALL, op="" if op == "sum" else op, dtype=_unusual(op, dtype))


def _unusual(op: str, dtype: str) -> str:
    return "" if kinds_of(op, "")[1] == dtype else dtype
