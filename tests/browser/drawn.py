"""What is drawn is what the trace says: random instants of ten runs, in a browser and in the file of `run --trace`.

Run `python -m tests.browser.drawn [SEED]`. At every instant the player is asked, by what it shows to the outside, who
sends what to whom, how far it is and where it stands, what ranks hold, and how full every link is. A table tells what
was compared; the command ends with 1 where anything differs.
"""

import random
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
from playwright.sync_api import sync_playwright

from ops.plan.link import from_link
from sim.trace import Trace
from sim.trace.kept import from_json
from tests.browser.conftest import FLAGS, PLAYER, Visit, chromium_path
from ui.drawing.frames import Film
from ui.export.exports import Shot, played
from ui.plan.picture import carried_out

RUNS = (
    ("machine=dgx_a100",),
    ("machine=dual_socket_pcie",),
    ("machine=gb200_nvl72&algorithm=allreduce.rabenseifner&size=1MiB",),
    ("machine=nodes:nodes=4&algorithm=alltoall.linear",),
    ("machine=dgx1v&fault=slow_link:src=CPU0,dst=CPU1,share=0.5,start=300us,end=900us&algorithm=alltoall.linear",),
    ("machine=switch:ranks=16&fault=straggler:rank=3,late=200us&algorithm=allgather.bruck&size=1MiB",),
    ("machine=dgx_h100:hosts=32",),
    ("machine=fat_tree:pods=16,leaves=4,gpus=16&algorithm=allreduce.recursive_doubling",),
    ("machine=switch:ranks=1024",),
    ("machine=torus:dims=4x4", "machine=torus:dims=4x4&algorithm=allreduce.recursive_doubling"),
)
INSTANTS = 175
RANKS = 24
"""So many ranks of a run are asked what they hold."""
NEAR = 2e-4
"""Of a way or of a link's load: times are sent as whole ticks, rates in four bytes."""
TOLD = """([t, ranks]) => [...document.querySelectorAll('[data-ringside="player"]')].map((e, k) => {
  e.ringside.seek(t);
  const { clientWidth: width, clientHeight: height } = e.querySelector(".rs-stage");
  return { at: Number(e.dataset.timeS), blocks: e.ringside.blocks(), loads: e.ringside.loads(), width, height,
    slots: ranks[k].map((rank) => e.ringside.slots(rank)) };
})"""
ROW = "{:76} {:>8} {:>8} {:>7} {:>6}  {}"


@dataclass
class Tally:
    """What was compared, and what differed, a line each."""

    flights: int = 0
    places: int = 0
    links: int = 0
    differences: tuple[str, ...] = ()

    def differ(self, line: str) -> None:
        """Note a difference."""
        self.differences += (line,)


def main(seed: int = 0) -> int:
    """Compare all; returns how many runs differ."""
    wrong, chance = 0, random.Random(seed)
    print(ROW.format("run", "instants", "flights", "places", "links", "differences"), flush=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        for k, queries in enumerate(RUNS):
            count = INSTANTS // len(RUNS) + (k < INSTANTS % len(RUNS))
            tally = compared(browser, Path(folder), queries, count, chance)
            wrong += bool(tally.differences)
            row = (
                " | ".join(queries),
                count,
                tally.flights,
                tally.places,
                tally.links,
                len(tally.differences) or "none",
            )
            print(ROW.format(*row), *(f"\n    {line}" for line in tally.differences[:8]), flush=True)
        browser.close()
    return wrong


def compared(browser: Any, folder: Path, queries: tuple[str, ...], count: int, chance: random.Random) -> Tally:
    """A page with these runs, against their traces as `run --trace` writes them, at random instants."""
    traces = [carried_out(from_link(dict(parse_qsl(query)))).trace for query in queries]
    file, tally = folder / "drawn.html", Tally()
    file.write_bytes(played(traces, Shot("machine")))
    visit = Visit(browser, folder.as_uri())
    visit.page.goto(file.as_uri())
    visit.page.locator(PLAYER).first.wait_for()
    films = [Film(from_json(trace.to_json())) for trace in traces]
    longest = max(trace.time for trace in traces)
    asked = [sorted(chance.sample(range(trace.schedule.n), min(RANKS, trace.schedule.n))) for trace in traces]
    for t in sorted(chance.uniform(0, longest) for _ in range(count)):
        for film, ranks, seen in zip(films, asked, visit.page.evaluate(TOLD, [t, asked]), strict=True):
            for line in _differing(film, min(t, film.trace.time), ranks, seen, tally):
                tally.differ(f"at {t:.6g} s: {line}")
    for complaint in visit.complaints:
        tally.differ(complaint)
    visit.context.close()
    return tally


def _differing(film: Film, t: float, ranks: list[int], seen: dict[str, Any], tally: Tally) -> Iterator[str]:
    if abs(seen["at"] - t) > 1e-9 * film.trace.time:
        yield f"it shows {seen['at']:.9g} s"
    now = film.trace.began + t
    yield from _flights(film.trace, film, now, seen, tally)
    held = film.held(now)
    for rank, slots in zip(ranks, seen["slots"], strict=True):
        block = [-1 if slot["block"] is None else slot["number"] for slot in slots]
        tally.places += len(block)
        if block != held.block[rank].tolist():
            yield f"rank {rank} holds other blocks"
        elif [slot["count"] for slot in slots] != np.where(held.block[rank] < 0, 0, held.count[rank]).tolist():
            yield f"rank {rank} holds other sums"
    loads = film.loads(now, film.machine)
    drawn = np.zeros(len(loads))
    for link in seen["loads"]:
        drawn[link["link"]] = link["share"]
    tally.links += len(loads)
    for link in np.nonzero(np.abs(drawn - loads) > NEAR)[0].tolist():
        yield f"link {link} is {drawn[link]:.4f} full and not {loads[link]:.4f}"


def _flights(trace: Trace, film: Film, now: float, seen: dict[str, Any], tally: Tally) -> Iterator[str]:
    drawn = {block["transfer"]: block for block in seen["blocks"]}
    flying = [int(i) for i in film.moving(now)]
    tally.flights += len(flying)
    if sorted(drawn) != flying:
        yield f"{len(drawn)} fly and not {len(flying)}"
        return
    for i in flying:
        block = drawn[i]
        first = int(trace.schedule.moves[i])
        number = int(film.contents.block[first])
        if (block["src"], block["dst"], block["block"]) != (trace.schedule.src[i], trace.schedule.dst[i], number):
            yield f"message {i} is another"
        if abs(block["progress"] - film.progress(i, now)) > NEAR:
            yield f"message {i} is {block['progress']:.4f} of its way and not {film.progress(i, now):.4f}"
        if not (0 <= block["x"] <= seen["width"] and 0 <= block["y"] <= seen["height"]):
            yield f"message {i} stands beside the picture"


if __name__ == "__main__":
    sys.exit(1 if main(*map(int, sys.argv[1:2])) else 0)
