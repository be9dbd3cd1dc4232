"""Runs recorded for the kernel's WebAssembly: the arrays before a run, and after it."""

import base64

import numpy as np

from ops import ALGORITHMS
from sim.engine import Cluster
from sim.fabric.kernel import WAVES
from sim.faults.kinds import faults
from sim.machines import build

GIVEN = ("ready", "start", "end", "cause", "behind", "lead", "now", "job_end")
SIZE = 1 << 26
RUNS = {
    "ring": ("switch:ranks=8", "allreduce.ring", {}),
    "halves": ("dgx_h100:hosts=2", "allreduce.rabenseifner", {}),
    "tree": ("dual_socket_pcie", "reduce.rabenseifner", {"history": True}),
    "alltoall": ("switch:ranks=12", "alltoall.linear", {}),
    "uneven": ("switch:ranks=12", "alltoallv.linear", {"uneven": True}),
    "uneven hosts": ("dgx_a100:hosts=2", "alltoallv.pairwise", {"uneven": True}),
    "crossbar": ("switch:ranks=36", "alltoallv.linear", {"uneven": True}),
    "history": ("nodes:nodes=2,gpus=4", "alltoallv.linear", {"history": True, "uneven": True}),
    "lockstep": ("dual_socket_pcie", "allreduce.recursive_doubling", {"lockstep": True}),
    "late": ("dual_socket_pcie", "allreduce.ring", {"named": ["straggler:rank=1,late=20us,slower=1.5"]}),
    "jitter": ("switch:ranks=8", "allgather.bruck", {"named": ["jitter:mean=1us,seed=3"]}),
    "slow": (
        "switch:ranks=8",
        "alltoall.linear",
        {"named": ["slow_link:src=SW,dst=GPU3,share=0.3,start=1ms"]},
    ),
    "dead": ("switch:ranks=8", "allreduce.ring", {"named": ["dead_link:src=SW,dst=GPU3,start=1ms,end=5ms"]}),
    "far": ("torus:dims=24", "alltoall.pairwise", {}),
}


def flat(value, path=""):
    """The arrays of a named tuple by path."""
    if isinstance(value, tuple):
        for name, it in zip(value._fields, value, strict=True):
            yield from flat(it, f"{path}.{name}" if path else name)
    else:
        yield path, value


def arrays(arena):
    return dict(flat(arena.fabric)) | dict(flat(arena.crossbar, "bar"))


def packed(named):
    return {
        path: [str(it.dtype), it.shape, base64.b64encode(np.ascontiguousarray(it)).decode()]
        for path, it in named.items()
    }


def recorded(machine, algorithm, *, uneven=False, history=False, lockstep=False, named=()):
    """The arrays of a run before it, changes of bandwidth meanwhile, and what it gives."""
    topology = build(machine)
    cluster = Cluster(topology, history=history, perturbations=faults(list(named), topology))
    n = topology.taking_part(len(topology.ranks))
    schedule = ALGORITHMS[algorithm].schedule(n)
    blocks = SIZE / n**2 * np.random.default_rng(7).random(schedule.promise.blocks) if uneven else None
    event = cluster.start(schedule, SIZE, blocks=blocks, lockstep=lockstep)
    before = packed(arrays(cluster.arena))
    routes, overhead = cluster.arena.routes, np.zeros(len(cluster.arena.fabric.lead))
    overhead[np.diff(routes.offsets) > 0] = topology.overhead
    cluster.run(event)
    after = arrays(cluster.arena)
    kept = int(after["net.count"][4])
    history = {"net.history": after["net.history"][:kept], "net.history_transfer": after["net.history_transfer"][:kept]}
    return {
        "before": before,
        "leads": packed({"overhead": overhead, "latency": topology.latency}),
        "plain": not named and not lockstep,
        "changes": cluster._capacities,
        "after": packed({name: after[name] for name in GIVEN} | history),
        "waves": int(after["count"][WAVES]),
    }
