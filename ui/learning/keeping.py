"""What was learned in a visit: kept in the browser, taken away as a link or a file, and loaded again."""

from functools import partial
from urllib.parse import urlencode

import streamlit as st

from sim.base.files.textfile import decoded
from sim.errors import InputError
from ui.drawer.folds import fold
from ui.learning.predictions import ProgressWords, finished, from_text, from_word, predictions, to_text, to_word
from ui.lessons import LESSONS
from ui.player.local_storage import remembered
from ui.text import plain, retold, spoken, tell

WORD = "progress"
"""The word of a link that carries it."""
FILE = "ringside-progress.txt"


def learned() -> set[str]:
    """The words of this visit, with those that the browser and the link bring."""
    state = st.session_state
    state.setdefault("learned", set())
    _arrive()
    state.learned = remembered("lessons", state.learned, ProgressWords())
    words: set[str] = state.learned
    return words


def _arrive() -> None:
    """Take what the link brings, once; a damaged one is told."""
    state = st.session_state
    if WORD in st.query_params:
        try:
            state.learned = state.learned | from_word(st.query_params[WORD])
            state.progress_told = ""
        except InputError as error:
            state.progress_told = retold(error)
        del st.query_params[WORD]


def announce() -> None:
    """What was wrong with a link or a file, or that it was taken over."""
    problem = st.session_state.pop("progress_told", None)
    if problem:
        st.error(plain(problem), icon=":material/link_off:")
    elif problem == "":
        st.success(_summary(), icon=":material/history_edu:")


def _summary() -> str:
    words = st.session_state.learned
    first = [key for key in predictions(words) if not key[2]]
    return tell("page.learn.kept", done=len(finished(words)), lessons=len(LESSONS), said=len(first))


def controls() -> None:
    """How far one is, and the ways to take that along; nothing of it stays on the server."""
    words = st.session_state.learned
    panel, is_made = fold("progress", tell("page.learn.progress"), ":material/history_edu:")
    if not is_made:
        return
    with panel:
        st.caption(_summary())
        st.download_button(
            tell("page.learn.progress.save"), partial(to_text, words), FILE, "text/plain", key="progress_save",
            on_click="ignore",
        )  # fmt: skip
        st.caption(tell("page.learn.progress.link"))
        language = {"lang": spoken()} if spoken() != "en" else {}
        st.code(f"?{urlencode({'page': 'learn', WORD: to_word(words)} | language)}", language=None, wrap_lines=True)
        st.file_uploader(tell("page.learn.progress.load"), key="progress_file", on_change=_load)


def _load() -> None:
    """Take what a file brings, all of it or nothing."""
    state = st.session_state
    file = state.progress_file
    if file is None:
        return
    try:
        state.learned = state.learned | from_text(decoded(file.getvalue(), file.name[:80]), file.name[:80])
        state.progress_told = ""
    except InputError as error:
        state.progress_told = retold(error)
