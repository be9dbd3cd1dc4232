"""The monkey without a browser: seeded random values for every widget of every page, in every language."""

import random
import time
from pathlib import Path
from unittest.mock import patch
from urllib.parse import urlencode

from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.testing.v1 import AppTest, element_tree

from ops.plan.examples import example_captures, example_schedules
from tests.attack.harness import OURS
from tests.monkey.garbage import LINKS, TEXTS
from tests.monkey.once import look_for_components_once
from ui import text
from ui.controls import folds
from ui.pages import PAGES

APP = str(Path(__file__).parents[2] / "app.py")
SPOKEN = text.spoken
LARGEST = 24
"""Numbers of ranks or hosts grow no larger: a monkey that asks for thousands does little else."""
SLOW = ("1024", "8 nodes", "8 个节点", "gb200", "GiB")
"""Options that are left out for the same reason."""
KINDS = (
    *("selectbox", "radio", "select_slider", "text_input", "text_area", "number_input", "slider"),
    *("checkbox", "toggle", "button", "multiselect", "button_group"),
)
DRAWN = ("markdown", "heading", "title", "alert")
LONGEST = 900
"""Seconds of a script that hangs: four runs beside each other may each take their minute, and two on a busy machine."""
VISIT = 150
"""Actions after which the next visit begins."""


class Label(str):
    """An option as it is shown; AppTest would format it once more."""


def _formatted(format_func, value):
    return str(value) if isinstance(value, Label) else format_func(value)


class Monkey:
    """One visit after the other; `broken` says what went wrong and after what."""

    def __init__(self, seed):
        look_for_components_once()
        self.draw, self.done, self.broken, self.log = random.Random(seed), 0, [], []
        self.open()

    def language(self):
        """The language that options stand in: AppTest formats them outside of the visit, where no address is."""
        if get_script_run_ctx(suppress_warning=True) is not None:
            return SPOKEN()
        return self.drawn

    def open(self):
        """Begin a visit."""
        self.at = AppTest.from_file(APP, default_timeout=LONGEST)
        self.log, self.drawn = [], "en"
        words = {"page": self.draw.choice(list(PAGES)), "lang": self.draw.choice(text.languages())}
        if self.draw.random() < 0.4:
            name, _, word = self.draw.choice(LINKS).partition("=")
            words |= {"page": self.draw.choice(["stage", "stage", "train"]), name: word}
        for name, word in words.items():
            self.at.query_params[name] = word
        self.at.session_state["code_panel"] = self.draw.random() < 0.3  # which nothing opens without a browser
        self._do(f"open {words}", self.at.run)

    def act(self):
        """Do one thing: to a widget, or to the address."""
        if len(self.log) > VISIT or self.draw.random() < 0.01:
            self.open()
            return
        widgets = [w for kind in KINDS for w in getattr(self.at, kind) if not getattr(w, "disabled", False)]
        if not widgets or self.draw.random() < 0.05:
            pairs = [("page", name) for name in PAGES] + [("lang", name) for name in text.languages()]
            name, word = self.draw.choice(pairs)
            self.at.query_params[name] = word
            self._do(f"{name}={word}", self.at.run)
            return
        widget = self.draw.choice(widgets)
        value = getattr(self, f"_{widget.type}", self._option)(widget)
        if value is None:
            return
        if widget.type == "button":
            self._do(f"button {widget.key}", lambda: widget.click().run())
        else:
            self._do(f"{widget.type} {widget.key}: {str(value)[:80]!r}", lambda: widget.set_value(value).run())

    def _option(self, widget):
        options = [option for option in widget.options if not any(word in option for word in SLOW)]
        return Label(self.draw.choice(options)) if options else None

    def _select_slider(self, widget):
        """Only where options are shown as they are."""
        option = self._option(widget)
        shown = option is not None and not isinstance(widget.value, int | float)
        return str(option) if shown else None

    def _text_input(self, _):
        return self.draw.choice(TEXTS)

    def _text_area(self, _):
        whole = self.draw.choice([*TEXTS, *example_captures().values(), *example_schedules().values()])
        return whole if self.draw.random() < 0.7 else whole[: self.draw.randrange(len(whole) + 1)]

    def _number_input(self, widget):
        low = int(widget.min or 0)
        return self.draw.randint(low, max(low, min(int(widget.max if widget.max is not None else LARGEST), LARGEST)))

    def _slider(self, widget):
        pair = sorted(self.draw.randint(int(widget.min), int(widget.max)) for _ in range(2))
        return tuple(pair) if isinstance(widget.value, list | tuple) else pair[0]

    def _checkbox(self, widget):
        return not widget.value

    _toggle = _checkbox

    def _button(self, _):
        return True

    def _multiselect(self, widget):
        options = [option for option in widget.options if not any(word in option for word in SLOW)]
        most = min(len(options), widget.proto.max_selections or len(options))  # a browser lets nobody choose more
        return [Label(option) for option in self.draw.sample(options, min(most, self.draw.randint(0, 2)))]

    def _do(self, name, action):
        self.log.append(name)
        self.done += 1
        try:
            with (
                patch.object(text, "spoken", self.language),
                patch.object(folds, "is_made", lambda _fold, **_: True),
                patch.object(element_tree, "_format_value_for_widget", _formatted),
            ):
                action()
            word = dict(self.at.query_params).get("lang", "en")
            self.drawn = word[-1] if isinstance(word, list) else word
        except Exception as error:  # noqa: BLE001  whatever it is, it is what is looked for
            self._complain(f"{type(error).__name__}: {error}")
            return
        if self.at.exception:
            self._complain(f"{self.at.exception[0].message}\n{chr(10).join(self.at.exception[0].stack_trace[-6:])}")
        elif faults := [error.value for error in self.at.error if any(words in error.value for words in OURS)]:
            self._complain(f"a fault of ours: {faults[0]}")
        elif not any(element.type in DRAWN for element in self.at.main):
            self._complain("an empty page")

    def _complain(self, what):
        address = urlencode(dict(self.at.query_params), doseq=True)
        self.broken.append(f"{what[:1500]}\n    at ?{address}\n    after {' | '.join(self.log[-5:])}")
        if len(self.broken) < MOST:
            self.open()


MOST = 30
"""Complaints after which a monkey gives up."""


def play(actions, seed, seconds):
    """So many actions, or as many as fit into so many seconds of the processor; how many, and what broke."""
    until, monkey = time.process_time() + seconds, Monkey(seed)
    while monkey.done < actions and time.process_time() < until and len(monkey.broken) < MOST:
        monkey.act()
    return monkey.done, monkey.broken
