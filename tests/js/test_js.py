"""The player's own tests, run by the Node that Playwright brings, on runs packed here."""

import json
import subprocess
from pathlib import Path

import numpy as np
import playwright
import pytest

from ops import ALGORITHMS
from ops.plan import Plan
from sim.engine import simulate
from sim.faults.kinds import faults
from sim.machines import build
from sim.units import fmt_share
from tests.js import arenas, whatifs
from tests.tables import each_row
from ui.drawing.frames import Film
from ui.player import payload
from ui.story.telling import added_up, gradients

HERE = Path(__file__).parent
WORDS = HERE.parents[1] / "assets" / "trace" / "words.js"
STORY = 4
"""Ranks of the runs that are a story's."""
RUNS = {
    "ring": ("switch:ranks=8", "allreduce.ring", 8, ()),
    "contention": ("nodes:nodes=2,gpus=4", "alltoall.linear", 8, ()),
    "doubling": ("dgx1v", "allreduce.recursive_doubling", 8, ()),
    "tree": ("mesh:ranks=6", "broadcast.binomial", 6, ()),
    "folded": ("dgx_a100", "allreduce.ring", 8, ()),
    "in_switch": ("switch:ranks=8", "allreduce.nvls", 8, ()),
    "fault": ("dual_socket_pcie", "allreduce.ring", 8, ("slow_link:src=CPU0,dst=CPU1,share=0.5,start=2ms,end=3ms",)),
    "slow": ("switch:ranks=8", "allreduce.ring", 8, ("slow_link:src=SW,dst=GPU3,share=0.5,start=1ms",)),
    "server": ("switch:ranks=4", "allreduce.linear", 4, ()),
    "sockets": ("dual_socket_pcie:gpus=4", "allreduce.ring", 4, ()),
    "large": ("switch:ranks=8", "allgather.ring", 8, ()),
    "numbers": ("switch:ranks=8", "allreduce.rabenseifner", 8, ()),
}
WITH_NUMBERS = {"numbers": Plan(values="small", op="mean")}
"""Those whose blocks show numbers."""


def node():
    return Path(playwright.__file__).parent / "driver" / "node"


def traced(machine, algorithm, n, words):
    topology = build(machine)
    perturbations = faults(list(words), topology)
    return simulate(topology, ALGORITHMS[algorithm].schedule(n), 1 << 26, history=True, perturbations=perturbations)


def instant(film, t, *, exact):
    """What the film shows at an instant; rates may jump at one that is `exact`ly an arrival's."""
    held = film.held(t)
    return {
        "t": t - film.trace.began,
        "step": film.step(t),
        "caption": film.caption(t),
        "blocks": [
            {"transfer": block.transfer, "block": block.number, "label": block.label, "x": block.x, "y": block.y}
            for block in film.blocks(t, film.machine)
        ],
        "shares": film.loads(t, film.machine).tolist(),
        "faulty": [spell.link for spell in film.faulty(t)],
        "held": [
            [[int(block), int(count) if block >= 0 else 0] for block, count in zip(*pair, strict=True)]
            for pair in zip(held.block, held.count, strict=True)
        ],
        "names": [
            film.place_name(place, slot) if block >= 0 else ""
            for place, blocks in enumerate(held.block)
            for slot, block in enumerate(blocks)
        ],
        "exact": exact,
    }


def instants(name, trace):
    if name == "large":
        return []
    ends = np.unique(trace.end)
    exact = {*ends[:: max(1, len(ends) // 6)].tolist(), trace.ended}
    between = set(np.linspace(trace.began, trace.ended, 12)[1:-1].tolist())
    film = Film(trace, plan=WITH_NUMBERS.get(name))
    return [instant(film, t, exact=t in exact) for t in sorted(between | exact)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder of runs."""
    folder = tmp_path_factory.mktemp("runs")
    for name, plan in RUNS.items():
        trace = traced(*plan)
        with pytest.MonkeyPatch.context() as patch:
            if name == "large":
                patch.setattr(payload, "FULL", 10)
            packed = payload.pack(trace, plan=WITH_NUMBERS.get(name))
        entry = {"payload": packed, "instants": instants(name, trace)}
        if trace.schedule.n == STORY:
            entry["story"] = added_up(trace, packed) | {"own": gradients(STORY)}
        (folder / f"{name}.json").write_text(json.dumps(entry))
    return folder


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A folder of runs with the kernel's arrays before them."""
    folder = tmp_path_factory.mktemp("arenas")
    for name, (machine, algorithm, more) in arenas.RUNS.items():
        (folder / f"{name}.json").write_text(json.dumps(arenas.recorded(machine, algorithm, **more)))
    return folder


@pytest.fixture(scope="module")
def what_ifs(tmp_path_factory):
    """A folder of what-ifs and what Python says of them."""
    folder = tmp_path_factory.mktemp("whatifs")
    for name in whatifs.BASES:
        (folder / f"{name}.json").write_text(json.dumps(whatifs.cases(name)))
    return folder


@pytest.mark.slow
@each_row("path", sorted(HERE.glob("*.test.js")))
def test_the_players_modules(path, runs, recorded, what_ifs):
    command = [node(), "--test-reporter=dot", path]  # `--test` would start a second Node for the one file
    folders = {"RINGSIDE_RUNS": str(runs), "RINGSIDE_ARENAS": str(recorded), "RINGSIDE_WHATIFS": str(what_ifs)}
    done = subprocess.run(command, env=folders, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_shares_are_rounded_alike_in_a_browser_and_elsewhere():
    shares = [k / 800 for k in range(1000)]
    script = f'import {{ percent }} from "{WORDS.as_uri()}"; console.log(JSON.stringify({shares}.map(percent)))'
    command = [node(), "--input-type=module", "--eval", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [fmt_share(share) for share in shares]
