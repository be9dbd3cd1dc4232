"""The answer line: what a plan's change did to the run it is compared with, in one sentence above the picture."""

from collections.abc import Sequence

import streamlit as st

from sim.errors import InputError, StalledError
from ui.controls.compare import Run
from ui.text import plain, worded
from ui.workers import tasks
from ui.workers.asking import ask


def show(runs: Sequence[Run]) -> None:
    """Draw the sentence for two runs: the second is the baseline. Nothing for one run, or for more than two."""
    if len(runs) != 2:
        return
    try:
        answered = ask(tasks.answered, runs[1][0], runs[0][0])
    except (InputError, StalledError):  # the page already says why
        return
    st.markdown(f"## {plain(worded(answered.sentence))}")
    rest = (answered.reason, answered.remedy)
    st.markdown(" ".join(plain(worded(sentence)) for sentence in rest if sentence))
