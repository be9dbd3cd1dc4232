"""How a page has something done: asked of the pool, waited for with a bar and a button, given up with the run."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.errors import StreamlitDuplicateElementKey
from streamlit.runtime.scriptrunner import get_script_run_ctx

from ops.lab.cells import Cell, Row, rows
from ops.lab.pool import Pool, carried_out
from ops.plan import Plan
from sim.errors import InputError, StalledError
from sim.units import fmt_share, fmt_size
from ui.state import callback, change, state
from ui.text import tell
from ui.visit import VisitState
from ui.workers.one import the_pool
from ui.workers.pool import PageJob, WorkerDiedError
from ui.workers.process import FULL, Call, Result
from ui.workers.remembered import LateError
from ui.workers.turns import aside

Value = TypeVar("Value")
PATIENCE = 0.4
"""Seconds until a person is told that something is under way."""
LOOK = 0.25
"""Seconds between two looks; each of them is a place where Streamlit may end this run of the page."""


def visitor() -> str:
    """Whose page this is; nobody's outside of one."""
    context = get_script_run_ctx(suppress_warning=True)
    return context.session_id if context else ""


def ask(function: Callable[..., Value], *args: Any) -> Value:
    """What the function returns, carried out by a worker. Raises InputError and StalledError as it does.

    Function and arguments must be such that they can be sent, and looked up. Whoever asks the same gets the same
    answer, a copy each. When the page's run ends, because its tab was closed or something else was chosen, the job
    is ended, unless others wait for it.
    """
    place = st.empty()
    return _answer_to(Call(function, args), lambda: place)  # type: ignore[no-any-return]


def read(function: Callable[..., Value], *args: Any) -> Value:
    """What is read of a text from outside, by a worker; a text that was read before is not read again.

    Nothing of it stands on the page unless one has to wait. Raises InputError in the language of the visit where the
    text takes too long or too much memory, and as the function does.
    """
    try:
        return _answer_to(Call(function, args), st.empty)  # type: ignore[no-any-return]
    except LateError:
        raise InputError(tell("page.reading.late", seconds=f"{the_pool().limits.seconds:.3g}")) from None
    except WorkerDiedError:
        raise InputError(tell("page.reading.full")) from None
    except (InputError, StalledError) as error:
        raise InputError(tell("page.reading.full") if error.message.text == FULL else error) from None


def _answer_to(call: Call, made: Callable[[], DeltaGenerator]) -> Any:
    """What a call comes to; where one has to wait for it, that is told in the place that is `made`."""
    pool = the_pool()
    if state(VisitState).stopped == call:
        with suppress(StreamlitDuplicateElementKey):  # it was asked twice, and the button is there
            made().button(tell("page.again"), icon=":material/replay:", on_click=_again, key="again")
        raise InputError(tell("page.stopped"))
    job = pool.ask(visitor(), call)
    try:
        if not _ends(job, PATIENCE):
            _wait(job, made())
        return job.result().read()
    except CancelledError:
        raise InputError(tell("page.stopped")) from None
    finally:
        pool.leave(job)


@callback
def _again() -> None:
    change(VisitState, stopped=None)


def ask_rows(cells: Sequence[Plan]) -> Iterator[list[Row]]:
    """The rows of cells as they come; what is not taken is not carried out."""
    pool, whose, jobs = the_pool(), visitor(), set[PageJob]()

    def submit(batch: Sequence[Cell]) -> Future[list[Row]]:
        future: Future[list[Row]] = Future()
        job = pool.ask(whose, Call(rows, (tuple(batch),)), shared=False)
        jobs.add(job)

        def arrived(job: Future[Result]) -> None:
            try:
                future.set_result(job.result().read())
            except BaseException as error:  # noqa: BLE001  whoever waits for the rows is told
                future.set_exception(error)

        job.add_done_callback(arrived)
        return future

    try:
        batches = carried_out(cells, Pool(submit, pool.limits.seats, (WorkerDiedError, LateError)))
        while True:
            with aside():
                batch = next(batches, None)
            if batch is None:
                break
            yield batch
    finally:
        for job in jobs:
            with suppress(CancelledError):
                pool.leave(job)


def _ends(job: PageJob, seconds: float) -> bool:
    """Whether a job is done within so many seconds."""
    if not job.done():
        with aside(), suppress(TimeoutError, CancelledError):
            job.exception(seconds)
    return job.done()


def _wait(job: PageJob, place: DeltaGenerator) -> None:
    """Show that it is under way, how far it is, and a button that ends it, until it is done."""
    number = state(VisitState).waits + 1
    change(VisitState, waits=number)

    @callback
    def stop() -> None:
        change(VisitState, stopped=job.call)

    with place.container():
        bar = st.progress(0.0, tell("page.waits"))
        st.button(tell("page.stop"), icon=":material/stop_circle:", on_click=stop, key=f"stop_{number}")
    while not _ends(job, LOOK):
        bar.progress(job.share, _in_words(job))
    place.empty()


def _in_words(job: PageJob) -> str:
    """How far a job is, and what it is going to take."""
    if not job.is_running:
        return tell("page.waits")
    how_far = tell("page.compiling" if the_pool().is_compiling else "page.runs", share=fmt_share(job.share))
    if job.estimate is None or job.estimate.seconds < PATIENCE:  # then it is not the run that takes long
        return how_far
    count, size = f"{job.estimate.transfers:,.0f}", fmt_size(round(job.estimate.bytes, -6))
    return f"{how_far} {tell('page.estimate', count=count, size=size, seconds=f'{job.estimate.seconds:.1f}')}"
