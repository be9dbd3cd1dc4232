"""What workers are copies of: importing this loads all that a run takes, compiled kernels too."""

from ops.request import Request
from sim.base.compiled import compiled
from sim.fabric import kernel
from sim.schedule import replay
from ui.workers import tasks

compiled(kernel)
compiled(replay)
tasks.run(Request(machine="switch:ranks=64"), "en")
