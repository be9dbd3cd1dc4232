"""WCAG 2.2 AA on pages that are files: a run, a step, a talk; of the site its front, plans, lessons and the story.

Run `python -m tests.browser.axe_files [PART OF A NAME]...`; names are like `lessons/ring-390-dark-zh`. It prints and
ends as `tests.browser.axe` does, which looks at the dashboard's own pages.
"""

import sys
import tempfile
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from ops.plan import Plan
from ops.plan.training import WorkloadPlan
from tests.browser.axe import SIZES, THEMES, faults_of
from tests.browser.sites import EXAMPLES, write_site
from tests.browser.test_talk import written
from tests.browser.windows import visits
from ui.export.exports import Shot, render
from ui.files import step_page
from ui.lessons import LESSONS
from ui.plan.picture import carried_out
from ui.text import languages


def made(folder: Path, site: Path, taught: Sequence[str] = tuple(LESSONS)) -> dict[tuple[str, str], Path]:
    """Every page by its name and language: those of the site, with the lessons of these names, others in a folder."""
    names = ["index", "story", *(f"scenes/{name}" for name in EXAMPLES), *(f"lessons/{name}" for name in taught)]
    run = carried_out(Plan(machine="switch:ranks=4")).trace
    step = WorkloadPlan(machine=Plan(machine="switch:ranks=4")).run()
    pages = {}
    for language in languages():
        top = site / ("" if language == "en" else language)
        pages |= {(name, language): top / f"{name}.html" for name in names}
        kept = {"run": render(run, "html", Shot(language=language)), "step": step_page.page(step, language)}
        for name, page in kept.items():
            pages[name, language] = folder / f"{name}-{language}.html"
            pages[name, language].write_bytes(page)
        pages["talk", language] = written(folder, language)
    return pages


def main(*parts: str) -> int:
    """Look at all whose name has one of the parts in it, or all; returns how many pages break a rule."""
    faulty = 0
    with tempfile.TemporaryDirectory() as folder:
        pages = made(Path(folder), write_site(Path(folder) / "site"))
        cases = {
            f"{name}-{size[0]}-{theme}-{language}": (size, theme, page)
            for ((name, language), page), size, theme in product(pages.items(), SIZES, THEMES)
        }
        windows = [
            (title, {"viewport": {"width": w, "height": h}, "color_scheme": theme})
            for title, ((w, h), theme, _) in cases.items()
        ]
        for title, visit in visits(windows, parts):
            print(title, flush=True)
            visit.page.goto(cases[title][-1].as_uri())
            visit.painted()
            faulty += bool(faults_of(visit))
    print(f"{faulty} pages have a fault")
    return faulty


if __name__ == "__main__":
    sys.exit(1 if main(*sys.argv[1:]) else 0)
