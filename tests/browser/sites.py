"""The site in a folder, as tests and `python -m tests.browser.axe_files` look at it."""

from collections.abc import Sequence
from pathlib import Path

from ui.files import site
from ui.lessons import LESSONS
from ui.plan.gallery import exhibits

EXAMPLES = ("what_is_allreduce", "which_algorithm")
"""An example with one run, and one with several."""


def write_site(folder: Path, taught: Sequence[str] = tuple(LESSONS)) -> Path:
    """Write it, with the lessons of these names; returns the folder."""
    examples = [exhibit for exhibit in exhibits() if exhibit.name in EXAMPLES]
    site.write(folder, examples, lambda done, of: None, taught=list(taught))
    return folder
