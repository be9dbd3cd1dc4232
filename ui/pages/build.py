"""The page on which one draws a schedule by hand: a ladder of tasks, or anything on any machine."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from ops.formats import write_schedule
from ops.ladder import TASKS, LadderTask, ladder
from ops.plan import Plan
from ops.plan.link import from_link
from ops.sketch import Sketch, collectives, columns_of, written, written_columns
from ops.sketch.as_python import as_python
from sim.base.numbers import whole
from sim.errors import InputError, StalledError
from ui import address
from ui.build import component, payload
from ui.build.state import MACHINES, OWN, BuildState, HandDrawing, of_task
from ui.learning.ticked import meant, ticked
from ui.navigation import button_to, is_turning, leave
from ui.pages import page
from ui.player.local_storage import remembered
from ui.share import saving
from ui.simulate import past
from ui.state import become, callback, change, fragment, put, state, value
from ui.text import prose, retold, spoken, tell, tell_or
from ui.workers.asking import ask

WORDS = ("task", "collective", "ranks", "pieces", "root", "machine", "edits", "size", "steps")
LONGEST = 12_000
"""Characters of a drawing that a link may carry."""


@page(order=45, state=BuildState, opens_settings=True)
def build() -> None:
    """Draw the page once."""
    _arrive()
    change(BuildState, solved=frozenset(remembered("ladder", set(state(BuildState).solved), set(TASKS))))
    with st.sidebar:
        st.caption(tell("build.tagline"))
        _choose(state(BuildState).drawing, state(BuildState).solved)
    if problem := state(BuildState).problem:
        st.error(prose(problem), icon=":material/link_off:")
    _board()


def _arrive() -> None:
    """Take what is drawn from the address, unless it was taken before."""
    now = state(BuildState)
    if now.is_read:
        return
    try:
        become(now.arrived(from_query(address.words())))
    except InputError as error:
        become(now.arrived(None, retold(error)))


def from_query(words: Mapping[str, str]) -> HandDrawing:
    """The drawing that query words describe. Raises InputError naming the word that is damaged."""
    steps = words.get("steps", "")
    if len(steps) > LONGEST:
        raise InputError("build.steps_long", most=LONGEST)
    if "task" in words or "collective" not in words:
        task = TASKS[words["task"]] if "task" in words else ladder()[0]
        drawing = of_task(task)
    else:
        ranks, pieces, root = (_whole(words, key, usual) for key, usual in (("ranks", 4), ("pieces", 1), ("root", 0)))
        plan = from_link({key: words[key] for key in ("machine", "edits", "size") if key in words})
        drawing = HandDrawing(OWN, Sketch(words["collective"], ranks, pieces, root), plan)
        _check(drawing)
    try:
        return replace(drawing, sketch=drawing.sketch.with_columns(columns_of(steps)))
    except InputError as error:
        raise InputError("build.steps", error=error) from None


def _whole(words: Mapping[str, str], key: str, usual: int) -> int:
    number = whole(words.get(key, str(usual)))
    if number is None:
        raise InputError("link.whole", word=key, text=words[key])
    return number


def _check(drawing: HandDrawing) -> None:
    """Raise InputError for a promise that does not fit on a board."""
    sketch = drawing.sketch
    slots = sketch.promise.given.shape[1]
    if sketch.ranks > payload.MOST_RANKS or slots > payload.MOST_SLOTS:
        raise InputError(
            "build.too_large",
            most_ranks=payload.MOST_RANKS,
            most_slots=payload.MOST_SLOTS,
            ranks=sketch.ranks,
            slots=slots,
        )


def _depart(drawing: HandDrawing) -> None:
    """Write the drawing into the address."""
    sketch = drawing.sketch
    if drawing.task in TASKS:
        words = {"task": drawing.task}
    else:
        words = {"collective": sketch.collective, "ranks": str(sketch.ranks)}
        words |= {
            key: str(n) for key, n, usual in (("pieces", sketch.pieces, 1), ("root", sketch.root, 0)) if n != usual
        }
        words |= {key: text for key in ("machine", "edits", "size") if (text := getattr(drawing.machine, key))}
    steps = written_columns(sketch.columns)
    words |= {"steps": steps} if steps and len(steps) <= LONGEST else {}
    words |= {key: st.query_params[key] for key in ("page", "lang") if key in st.query_params}
    if words != {key: st.query_params[key] for key in st.query_params}:
        st.query_params.from_dict(words)


def _choose(drawing: HandDrawing, solved: Collection[str]) -> None:
    """The ladder, and below it what a drawing of one's own is about."""
    names = [*(task.name for task in ladder()), OWN]

    @callback
    def chosen() -> None:
        become(state(BuildState).turned(meant(value("ladder_task"), names, _title) or drawing.task))

    put("ladder_task", drawing.task)
    st.radio(
        tell("build.tasks"),
        names,
        format_func=ticked(_title, solved),
        key="ladder_task",
        on_change=chosen,
    )
    if drawing.task == OWN:
        _choose_own(drawing)


def _title(name: str) -> str:
    number = {task.name: k for k, task in enumerate(ladder(), 1)}.get(name)
    return tell(f"ladder.{name}.title") if number is None else f"{number}. {tell(f'ladder.{name}.title')}"


def _choose_own(drawing: HandDrawing) -> None:
    sketch, machine = drawing.sketch, drawing.machine
    names = collectives()
    name = st.selectbox(tell("build.collective"), names, index=names.index(sketch.collective), key="own_collective")
    ranks = st.select_slider(tell("build.ranks.label"), range(2, payload.MOST_RANKS + 1), sketch.ranks, key="own_ranks")
    pieces = st.number_input(tell("build.pieces"), 1, 8, sketch.pieces, key="own_pieces")
    rooted = Sketch(name).kind.rooted
    root = st.number_input(tell("build.root"), 0, ranks - 1, min(sketch.root, ranks - 1)) if rooted else 0
    specs = list(
        dict.fromkeys([machine.machine, *(spec.format(n=ranks, half=max(1, ranks // 2)) for spec in MACHINES)])
    )
    spec = st.selectbox(tell("build.machine"), specs, index=0, accept_new_options=True, key=f"own_machine_{ranks}")
    size = st.text_input(tell("build.size"), machine.size, key="own_size")
    chosen = HandDrawing(
        OWN, Sketch(name, ranks, pieces, root), replace(machine, machine=spec or machine.machine, size=size)
    )
    if replace(sketch, columns=()) == chosen.sketch:
        chosen = replace(chosen, sketch=sketch)
    if chosen != drawing:
        try:
            _check(chosen)
            change(BuildState, drawing=chosen)
        except InputError as error:
            st.error(prose(retold(error)), icon=":material/error:")


@fragment
def _board() -> None:
    """The board with the referee's words, and ways to take the drawing away."""
    if is_turning():
        st.rerun()
    drawing = state(BuildState).drawing
    task = TASKS.get(drawing.task)
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.title(_title(drawing.task), anchor=False, width="content")
        button_to("draw", tell("draw.title"), ":material/polyline:")
    goal = tell_or(f"task.{task.name}", task.goal) if task else tell("build.own")
    st.markdown(goal)
    board = _judged(drawing)
    if board is None:
        return
    _depart(drawing)
    component.show(
        board, drawing.document, written_columns(drawing.sketch.columns), spoken(), key="build_board", drawn=_drawn
    )
    if task and board["solved"]:
        st.success(tell_or(f"task.{task.name}.because", task.because), icon=":material/emoji_events:")
        _go_on(task)
    _take_away(drawing, right=board["verdict"] in ("right", "slower"))


def _judged(drawing: HandDrawing) -> dict[str, Any] | None:
    """What the board shows; where that cannot be worked out why, and nothing."""
    task = drawing.task if drawing.task in TASKS else ""
    try:
        board = ask(payload.board, drawing.sketch, drawing.machine, drawing.spare, task, spoken())
    except (InputError, StalledError) as error:
        st.error(prose(retold(error)), icon=":material/error:")
        return None
    if board["solved"] and task not in state(BuildState).solved:
        become(state(BuildState).solving(task))
        st.rerun()
    return board


@callback
def _drawn() -> None:
    """Take what a person has drawn; it comes from a browser, so it is checked like a link."""
    drawn, drawing = value("build_board").drawn, state(BuildState).drawing
    if not isinstance(drawn, dict) or drawn.get("document") != drawing.document:
        return
    steps = drawn.get("steps")
    if isinstance(steps, str) and len(steps) <= LONGEST:
        try:
            after = replace(drawing, sketch=drawing.sketch.with_columns(columns_of(steps)))
            change(BuildState, drawing=after, problem="")
        except InputError as error:
            change(BuildState, problem=retold(error))


def _go_on(task: LadderTask) -> None:
    names = [entry.name for entry in ladder()]
    after = names[names.index(task.name) + 1 :]
    if after:
        label, icon = tell("build.go_on"), ":material/arrow_forward:"
        st.button(label, icon=icon, type="primary", key="go_on", on_click=_turned, args=(after[0],))


@callback
def _turned(name: str) -> None:
    become(state(BuildState).turned(name))


def _take_away(drawing: HandDrawing, *, right: bool) -> None:
    """Files of the drawing, and the way to the stage with it."""
    sketch = drawing.sketch
    with st.container(horizontal=True, gap="small"):
        icon, empty = ":material/play_circle:", not any(sketch.columns)
        st.button(tell("build.watch"), icon=icon, disabled=empty, key="watch", on_click=_watched, args=(drawing,))
        name = f"{sketch.collective}-{sketch.ranks}"
        python, text = partial(as_python, sketch), partial(written, sketch)
        xml = partial(ask, _as_xml, sketch, drawing.machine)
        saving.button(tell("build.save.python"), f"{name}.py", "text/x-python", python, key="save_py")
        saving.button(tell("build.save.xml"), f"{name}.xml", "application/xml", xml, key="save_xml", disabled=not right)
        saving.button(tell("build.save.text"), f"{name}.txt", "text/plain", text, key="save_txt")
    st.caption(tell("build.link"))


@callback
def _watched(drawing: HandDrawing) -> None:
    past.restore(replace(drawing.machine, schedule=written(drawing.sketch), schedule_name="sketch"))
    leave("stage")


def _as_xml(sketch: Sketch, machine: Plan) -> str:
    return write_schedule(sketch.schedule(), "msccl_xml", machine=machine.topology())
