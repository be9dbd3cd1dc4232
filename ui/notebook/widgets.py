"""The widgets of a notebook: a run, a map of winners, a training step; each with what a saved notebook shows of it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import anywidget
import traitlets
from IPython import get_ipython

from ops.plan import Plan
from sim.errors import InputError
from sim.trace import Trace
from sim.units import fmt_size, fmt_time
from ui.charts import training
from ui.drawing.frames import Film
from ui.export.exports import Shot, render
from ui.layout.palette import BLOCKS, ink_on
from ui.notebook.stills import image, still
from ui.plan.subject import Mapped, Played, Trained
from ui.player.component import player_data, style
from ui.player.offers import offers
from ui.player.scripts import script
from ui.player.views import FIRST, VIEWS
from ui.text import languages, say

LOW, HIGH = 200, 2000
"""Pixels between which a picture's height lies."""
ROWS = 8
"""Ranks of a training step that are drawn."""
NOBODY = "#dddddd"


@dataclass(frozen=True)
class Display:
    """The language of a widget, where its link leads, and how high its picture is, in pixels."""

    language: str
    address: str
    height: int

    def check(self) -> None:
        """Raise InputError for what cannot be."""
        if self.language not in languages():
            raise InputError("notebook.language", language=self.language, choices=languages())
        if not LOW <= self.height <= HIGH:
            raise InputError("notebook.height", height=self.height, low=LOW, high=HIGH)


class Shown(anywidget.AnyWidget):
    """What all widgets have: a still and a link for where no kernel is."""

    _css = style()
    data = traitlets.Dict().tag(sync=True)
    height = traitlets.Int().tag(sync=True)

    def __init__(self, display: Display, link: Mapping[str, str], **traits: Any) -> None:
        self._display, self._link = display, link
        super().__init__(height=display.height, **traits)

    @property
    def link(self) -> Mapping[str, str]:
        """The words of the link to what is shown; empty where none can hold it."""
        return self._link

    def still(self) -> str:
        """What a saved notebook shows, as HTML that needs nothing else."""
        return still(self._pictures(), self.link, self._display.address, self._display.language)

    def _pictures(self) -> list[str]:
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """As any widget, below its still: an output of its own, since one that cannot be drawn takes no other form."""
        if (shell := get_ipython()) is not None:
            shell.display_pub.publish({"text/html": self.still(), "text/plain": type(self).__name__})
        return super()._repr_mimebundle_(**kwargs)


class RunWidget(Shown):
    """The player of a run, or of several on one clock.

    `time`, in seconds from the run's beginning, and `view` are where it stands: set them to move it.
    """

    _esm = f"export default {script('notebook/run.js')};"
    time = traitlets.Float(0.0).tag(sync=True)
    view = traitlets.Unicode(FIRST).tag(sync=True)

    def __init__(self, played: Played, display: Display, view: str, time: float) -> None:
        self._played = played
        runs = played.titled(display.language)
        answer = played.answer(display.language) | {"title": played.heading(display.language)}
        data = player_data(runs, display.language, offers=offers(display.language), answer=answer)
        super().__init__(display, played.link, data=data, view=view or FIRST, time=time)

    @property
    def traces(self) -> tuple[Trace, ...]:
        """The runs."""
        return self._played.traces

    @property
    def end(self) -> float:
        """When the last run has ended, in seconds."""
        return max(trace.time for trace in self.traces)

    @property
    def step(self) -> int:
        """The step of the first run that is under way; 0 before the first."""
        return self._films[0].step(self.traces[0].began + self.time)

    @property
    def caption(self) -> str:
        """What happens now in the first run, in a sentence."""
        return self._films[0].caption(self.traces[0].began + self.time)

    @cached_property
    def _films(self) -> list[Film]:
        return [Film(trace, self._display.language) for trace in self.traces]

    @property
    def link(self) -> Mapping[str, str]:
        """The words of the link to the runs, this instant and this view; empty where none can hold them."""
        where = {"t": f"{self.time:.12g}", "view": self.view}
        return {**self._link, **where} if self._link else {}

    def save(self, file: str, *, width: int = 1280, seconds: float = 10.0, dark: bool = False) -> None:
        """Write the first run as a file: a picture of this instant, a film, a page that plays, as its ending says.

        Raises InputError for an ending there is none of.
        """
        from sim.base.files.whole_file import write_whole
        from ui.export.exports import EXPORTS

        ending = max((kind for kind in EXPORTS if file.lower().endswith(f".{kind}")), key=len, default=file[-20:])
        shot = Shot(self.view, self.time, seconds, width=width, language=self._display.language, dark=dark)
        write_whole(file, render(self.traces[0], ending, shot))

    @traitlets.validate("time")
    def _within(self, proposal: Any) -> float:
        time, end = float(proposal["value"]), self.end
        if not (math.isfinite(time) and 0 <= time <= end * (1 + 1e-9)):
            raise InputError("notebook.time_run", time=time, end=fmt_time(end), seconds=end)
        return min(time, end)

    @traitlets.validate("view")
    def _of_views(self, proposal: Any) -> str:
        view = str(proposal["value"])
        if view not in VIEWS:
            raise InputError("view.unknown", view=view, choices=VIEWS)
        return view

    def _pictures(self) -> list[str]:
        from ui.drawings import DRAWINGS
        from ui.drawings import still as drawn
        from ui.layout.palette import LIGHT

        view = self.view if self.view in DRAWINGS else FIRST
        instants = [trace.began + min(self.time, trace.time) for trace in self.traces]
        pairs = zip(self._films, instants, strict=True)
        return [image(drawn(view, film, t, 12.8, LIGHT), film.caption(t)) for film, t in pairs]


class MapWidget(Shown):
    """A map of winners: sizes across, ranks down. `cell` is the one that is chosen, as `ranks` and `bytes`."""

    _esm = f"export default {script('notebook/map.js')};"
    cell = traitlets.Dict(allow_none=True, default_value=None).tag(sync=True)

    def __init__(self, mapped: Mapped, display: Display) -> None:
        self._mapped = mapped
        super().__init__(display, {}, data=self._data(mapped, display.language))

    @staticmethod
    def _data(mapped: Mapped, language: str) -> dict[str, Any]:
        winners = mapped.winners
        colours = {name: BLOCKS[k % len(BLOCKS)] for k, name in enumerate(winners.names)}
        words = {key: say(f"page.lab.{key}", language) for key in ("winner", "ranks", "size", "margin", "nobody")}

        def cell(n: int, size: int) -> dict[str, Any]:
            name, margin = winners.winner(n, size), winners.margin(n, size)
            times = f"{min(margin, 99):.3g}" if math.isfinite(margin) else ""
            colour = colours.get(name, NOBODY)
            place = f"{words['ranks']} {n}, {fmt_size(size)}"
            if not name:
                return {"bytes": size, "colour": colour, "ink": ink_on(colour), "margin": "–",
                        "said": f"{place}: {words['nobody']}"}  # fmt: skip
            time = winners.time[winners.ranks.index(n), winners.sizes.index(size)].min()
            said = f"{place}: {name}, {fmt_time(float(time))}" + (f"; {words['margin']}: {times}" if times else "")
            return {"bytes": size, "colour": colour, "ink": ink_on(colour), "margin": times, "said": said}

        return {
            "head": [fmt_size(size) for size in winners.sizes],
            "rows": [{"ranks": n, "cells": [cell(n, size) for size in winners.sizes]} for n in winners.ranks],
            "winners": [{"name": name, "colour": colours[name]} for name in winners.winners],
            "text": words | {"choose": say("notebook.choose", language)},
        }

    @property
    def winner(self) -> str:
        """The fastest algorithm in the cell that is chosen; empty where none is."""
        return self._mapped.winners.winner(self.cell["ranks"], self.cell["bytes"]) if self.cell else ""

    @property
    def plan(self) -> Plan:
        """The winner's run in the cell that is chosen, to be shown. Raises InputError where none is."""
        if not self.winner:
            raise InputError("notebook.no_cell")
        place = {"ranks": self.cell["ranks"], "size_bytes": self.cell["bytes"]}
        for row in self._mapped.rows:
            plain = Plan(machine=str(row["machine"]), network=str(row.get("network") or "")).of(self.winner)
            if all(row[key] == value for key, value in place.items()) and row["algorithm"] == plain.algorithm:
                return Plan(
                    plain.algorithm, plain.machine, network=plain.network, settings=plain.settings,
                    ranks=place["ranks"], size=str(place["size_bytes"]),
                )  # fmt: skip
        raise InputError("notebook.map")

    @traitlets.validate("cell")
    def _on_the_map(self, proposal: Any) -> dict[str, int] | None:
        cell, winners = proposal["value"], self._mapped.winners
        if not cell:
            return None
        if cell.get("ranks") not in winners.ranks or cell.get("bytes") not in winners.sizes:
            raise InputError("notebook.cell", cell=str(cell), ranks=winners.ranks, sizes=winners.sizes)
        return {"ranks": int(cell["ranks"]), "bytes": int(cell["bytes"])}

    def _pictures(self) -> list[str]:
        from ui.charts import lab_figures

        words = self.data["text"]["winner"]
        return [image(lab_figures.winners(self._mapped.winners, words), words)]


class TrainingWidget(Shown):
    """The timeline of a training step. `time`, in seconds from its beginning, is the instant that is looked at."""

    _esm = f"export default {script('notebook/training.js')};"
    time = traitlets.Float(0.0).tag(sync=True)

    def __init__(self, trained: Trained, display: Display, time: float) -> None:
        self._step = trained.step
        super().__init__(display, trained.link, data=self._data(trained.step, display.language), time=time)

    @staticmethod
    def _data(step: Any, language: str) -> dict[str, Any]:
        words = training.texts_of(step, language)
        ranks = range(min(step.ranks, ROWS))
        html = training.timeline(step, ranks, (0.0, step.time), words)
        if "blocks" in step.facts:
            html += training.buffer(step.facts["blocks"], words)
        under = [
            {
                "rank": words["rank"].format(rank=rank),
                "under": [[span.start, span.end, span.name] for span in step.spans_of(rank)],
            }
            for rank in ranks
        ]
        text = {"time": say("page.time", language), "nothing": say("notebook.nothing", language)}
        return {"html": html, "spans": under, "end": step.time, "text": text}

    @property
    def doing(self) -> dict[int, list[str]]:
        """What every rank does at `time`."""
        step = self._step
        busy: dict[int, list[str]] = {rank: [] for rank in step.stands_for}
        for span in step.spans:
            if span.start <= self.time < span.end:
                busy[span.rank].append(span.name)
        return {rank: list(busy[step.player(rank)]) for rank in range(step.ranks)}

    @traitlets.validate("time")
    def _within(self, proposal: Any) -> float:
        time, end = float(proposal["value"]), self._step.time
        if not (math.isfinite(time) and 0 <= time <= end * (1 + 1e-9)):
            raise InputError("notebook.time_step", time=time, end=fmt_time(end), seconds=end)
        return min(time, end)

    def _pictures(self) -> list[str]:
        return [str(self.data["html"])]
