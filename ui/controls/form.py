"""The settings as a whole: made when somebody opens them, or has to be told what is wrong."""

from ops.plan import Plan
from ops.plan.notation import by_name
from sim.errors import InputError
from sim.topology import Topology
from ui import address
from ui.controls import folds, sidebar
from ui.simulate.machines import machine_of
from ui.simulate.state import SimulateState
from ui.state import change, state
from ui.visit import VisitState

FORM = "form"
"""The fold that the form is."""


def is_skipped(plan: Plan) -> bool:
    """Whether nobody has opened the form yet, and it would change nothing about a plan that can be run."""
    if folds.is_made(FORM) or plan.schedule:
        return False
    try:
        return by_name(plan.algorithm, plan.settings) == (plan.algorithm, plan.settings)
    except InputError:
        return False


def choose(is_run: bool) -> tuple[Plan, Topology | None]:
    """Draw it: returns the chosen plan and its machine, or None where a message already says why not.

    `is_run` says of the visit's plan that it was run as it is, without the form.
    """
    change(VisitState, refused=())
    before = state(SimulateState).plan
    if not folds.is_made(FORM, is_needed=not is_run):
        folds.watch(FORM)
        change(SimulateState, is_broken=False, is_unopened=True)
        return before, machine_of(before)
    plan, topology = sidebar.choose(before)
    if state(SimulateState).is_unopened and topology is not None:
        _rewritten(plan)
    is_another = plan != state(SimulateState).plan  # until it has run
    is_broken = bool(state(VisitState).refused) or topology is None or is_another
    change(SimulateState, is_broken=is_broken, is_unopened=False)
    return plan, topology


def _rewritten(plan: Plan) -> None:
    """A form that has just been made may write a plan otherwise than a link did, which changes nothing."""
    if state(VisitState).address == state(SimulateState).plan:
        address.stands_for(plan)
    change(SimulateState, plan=plan)
