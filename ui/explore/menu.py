"""Questions, examples, lessons, machines and algorithms in one list, which a word narrows down."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache

import streamlit as st

from ops import ALGORITHMS
from ops.collectives import COLLECTIVES
from ops.plan import Plan
from ops.plan.notation import kept
from sim.machines import MACHINES
from ui.controls.parameter import fresh
from ui.explore.questions import is_same
from ui.lessons import LESSONS
from ui.navigation import visit
from ui.plan.beginning import Beginning
from ui.plan.examples import EXAMPLES
from ui.plan.gallery import USUAL
from ui.player.page_script import page_script
from ui.simulate.past import restore
from ui.simulate.state import SimulateState
from ui.simulate.story import WORD
from ui.state import callback, change, state, value
from ui.text import catalogue, languages, say, spoken, tell

KEY = "explore_list"
GROUPS = "question", "example", "lesson", "machine", "algorithm"
"""What entries are, in the order of the list; the last are so many that only a search shows them."""
PICTURES = "gallery"
"""The page that shows all of these with small pictures."""


def draw(plan: Plan) -> None:
    """Draw the list; what is chosen takes the place of this plan."""
    with st.popover(tell("page.explore"), icon=":material/search:", key=fresh("explore")):

        @callback
        def opened() -> None:
            entry = value(KEY).open
            if not isinstance(entry, Mapping):
                return
            group, name = str(entry.get("group")), str(entry.get("name"))
            if name in [it["name"] for it in _entries(spoken()).get(group, [])]:
                OPENERS[group](name)
            elif group == PICTURES:
                visit({"page": PICTURES})

        page_script("explore", "explore")(
            key=KEY,
            data={"groups": _entries(spoken()), "now": _shown(plan), "text": _texts(), "language": spoken()},
            on_open_change=opened,
        )
    page_script("slash", "explore")(key="script_slash", data={"opens": "explore"})


def _shown(plan: Plan) -> list[str]:
    """The example that a plan is, if it is one."""
    return [name for name, it in EXAMPLES.items() if not it.words and is_same(plan, it.plan)][:1]


def _texts() -> dict[str, str]:
    words = catalogue(spoken())
    return {name: words[name] for name in words if name.startswith("page.explore.")}


@cache
def _entries(language: str) -> dict[str, list[dict[str, str]]]:
    """Entries by group: name, title, what is said of it, and in `find` all words of every language that find it."""
    groups: dict[str, dict[str, dict[str, str]]] = {group: {} for group in GROUPS}
    for each in (language, *(other for other in languages() if other != language)):
        for group, name, title, about in _described(each):
            entry = groups[group].setdefault(name, {"name": name, "title": title, "about": about, "find": name})
            entry["find"] += f" {title} {about}".lower()
    return {group: list(entries.values()) for group, entries in groups.items()}


def _described(language: str) -> Iterator[tuple[str, str, str, str]]:
    """Group, name, title and description of every entry."""
    words = catalogue(language)
    for name, example in EXAMPLES.items():
        yield "question" if example.asks else "example", name, say(f"example.{name}", language), ""
    for name in sorted(LESSONS, key=lambda name: LESSONS[name].order):
        yield "lesson", name, say(f"lesson.{name}.title", language), ""
    for name in MACHINES:
        title = words.get(f"name.machine.{name}") or MACHINES.title(name)
        yield "machine", name, title, words.get(f"summary.{name}", MACHINES.summary(name))
    for name in ALGORITHMS:
        collective, _, own = name.partition(".")
        of = words.get(f"name.collective.{collective}") or COLLECTIVES.title(collective)
        title = f"{of}: {words.get(f'name.algorithm.{own}') or ALGORITHMS.title(name)}"
        yield "algorithm", name, title, words.get(f"summary.{name}", ALGORITHMS.summary(name))


def _open_example(name: str) -> None:
    example = EXAMPLES[name]
    change(SimulateState, question=name)
    if example.story:
        visit({"page": "stage", WORD: example.story})
    elif example.words:
        visit(example.words)
    else:
        restore(example.plan, Beginning(view=example.view))


def _open_lesson(name: str) -> None:
    visit({"page": "learn", "lesson": name})


def _open_machine(name: str) -> None:
    restore(Plan(machine=name, size=USUAL))


def _open_algorithm(name: str) -> None:
    plan = state(SimulateState).plan
    restore(replace(plan, algorithm=name, settings="", schedule="", root=0, against=kept(plan.against)))


OPENERS: dict[str, Callable[[str], None]] = {
    "question": _open_example,
    "example": _open_example,
    "lesson": _open_lesson,
    "machine": _open_machine,
    "algorithm": _open_algorithm,
}
