"""Runs that are written into files, and how."""

from ops import ALGORITHMS
from sim.engine import simulate
from sim.machines import build
from sim.units import MiB
from ui.export.exports import Shot

SVG = "{http://www.w3.org/2000/svg}"
SMALL = Shot(seconds=1, fps=5, width=480)


def run(name="allreduce.ring", machine="dgx1v", n=8, size=8 * MiB):
    return simulate(build(machine), ALGORITHMS[name].schedule(n), size, history=True)


TRACE = run()
HOSTS = run(machine="dgx_a100:hosts=2", n=16)
TREE = run("scatter.binomial", "switch:ranks=12", 12)
