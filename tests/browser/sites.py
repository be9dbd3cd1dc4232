"""The site in a folder, as tests and `python -m tests.browser.axe_files` look at it."""

import functools
import http.server
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.tables import Day
from ui.files import site
from ui.lessons import LESSONS
from ui.plan.gallery import exhibits

EXAMPLES = ("what_is_allreduce", "which_algorithm")
"""An example with one run, and one with several."""


ALWAYS = ("ring", "buckets")
"""A lesson whose pictures are runs, and one whose pictures are timelines."""
PARTS = 3


def lessons_of_the_day() -> list[str]:
    """Return two lessons and a third of the others, another third every day; on a long day all."""
    others = [name for name in LESSONS if name not in ALWAYS]
    return [*ALWAYS, *(others if Day.is_long else others[Day.number % PARTS :: PARTS])]


def write_site(folder: Path, taught: Sequence[str] = tuple(LESSONS)) -> Path:
    """Write it, with the lessons of these names; returns the folder."""
    examples = [exhibit for exhibit in exhibits() if exhibit.name in EXAMPLES]
    site.write(folder, examples, lambda done, of: None, taught=list(taught))
    return folder


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder's files from a port of their own; returns the address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
