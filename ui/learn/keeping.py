"""What was learned in a visit: kept in the browser, taken away as a link or a file, and loaded again."""

from functools import partial
from urllib.parse import urlencode

import streamlit as st

from sim.base.files.textfile import decoded
from sim.errors import InputError
from ui.controls.folds import fold
from ui.learning.predictions import ProgressWords, finished, from_text, from_word, predictions, to_text, to_word
from ui.learning.state import LearnState
from ui.lessons import LESSONS
from ui.player.local_storage import remembered
from ui.share import saving
from ui.state import become, callback, change, state, value
from ui.text import prose, retold, spoken, tell

WORD = "progress"
"""The word of a link that carries it."""
FILE = "ringside-progress.txt"


def learned() -> frozenset[str]:
    """The words of this visit, with those that the browser and the link bring."""
    _arrive()
    words = frozenset(remembered("lessons", set(state(LearnState).words), ProgressWords()))
    change(LearnState, words=words)
    return words


def _arrive() -> None:
    """Take what the link brings, once; a damaged one is told."""
    if WORD in st.query_params:
        try:
            become(state(LearnState).brought(from_word(st.query_params[WORD])))
        except InputError as error:
            change(LearnState, problem=retold(error))
        del st.query_params[WORD]


def announce() -> None:
    """What was wrong with a link or a file, or that it was taken over."""
    problem = state(LearnState).problem
    change(LearnState, problem=None)
    if problem:
        st.error(prose(problem), icon=":material/link_off:")
    elif problem == "":
        st.success(_summary(), icon=":material/history_edu:")


def _summary() -> str:
    words = state(LearnState).words
    first = [key for key in predictions(words) if not key[2]]
    return tell("page.learn.kept", done=len(finished(words)), lessons=len(LESSONS), said=len(first))


def controls() -> None:
    """How far one is, and the ways to take that along; nothing of it stays on the server."""
    words = state(LearnState).words
    panel, is_made = fold("progress", tell("page.learn.progress"), ":material/history_edu:")
    if not is_made:
        return
    with panel:
        st.caption(_summary())
        label, make = tell("page.learn.progress.save"), partial(to_text, words)
        saving.button(label, FILE, "text/plain", make, key="progress_save")
        st.caption(tell("page.learn.progress.link"))
        language = {"lang": spoken()} if spoken() != "en" else {}
        st.code(f"?{urlencode({'page': 'learn', WORD: to_word(words)} | language)}", language=None, wrap_lines=True)
        st.file_uploader(tell("page.learn.progress.load"), key="progress_file", on_change=_load)


@callback
def _load() -> None:
    """Take what a file brings, all of it or nothing."""
    file = value("progress_file")
    if file is None:
        return
    try:
        words = from_text(decoded(file.getvalue(), file.name[:80]), file.name[:80])
        become(state(LearnState).brought(words))
    except InputError as error:
        change(LearnState, problem=retold(error))
