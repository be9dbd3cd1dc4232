"""Examples, and questions that one answers, by names under which `assets/text` tells what they show."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ops.plan import Plan
from ops.plan.examples import example_captures, example_schedules


@dataclass(frozen=True)
class Example:
    """A plan in a view, or in `words` the address of another page.

    With `asks` it answers a question, `example.NAME`; on the stage the text `answer.NAME` says what is seen. One with
    a chapter of the `story` opens that there, where it can be told.
    """

    plan: Plan = field(default_factory=Plan)
    view: str = ""
    words: Mapping[str, str] = field(default_factory=dict)
    asks: bool = False
    story: str = ""


def _lesson(name: str, step: int, *, story: str = "") -> Example:
    return Example(words={"page": "learn", "lesson": name, "step": str(step)}, asks=True, story=story)


NIC = "lost_nic:nic=H0.NIC1,start=200us,reroute=yes"
WIDE = "set_class:kind=SYS,times=10"
TWO_NICS = Plan(
    algorithm="allreduce.hierarchical_2d", machine="nodes:nodes=2,gpus=4,nics=2", fault=NIC, against="fault="
)
RACE = ("recursive_doubling", "rabenseifner", "double_binary_tree")
EXAMPLES = {
    "what_is_allreduce": _lesson("basics", 6, story="gradients"),
    "why_ring": _lesson("ring", 3, story="ring"),
    "numa_cost": Example(Plan(machine="dual_socket_pcie", against=f"edits={WIDE}"), view="machine", asks=True),
    "holds_back": Example(Plan(machine="dgx1v"), view="machine", asks=True),
    "nic_dies": Example(TWO_NICS, view="machine", asks=True),
    "which_algorithm": Example(
        Plan(size="4MiB", against="|".join(f"algorithm=allreduce.{name}" for name in RACE)), view="shape", asks=True
    ),
    "ring_or_tree": Example(Plan(against="algorithm=allreduce.double_binary_tree"), view="shape", asks=True),
    "slower_than_bound": Example(
        Plan(algorithm="allreduce.multi_ring", machine="dual_socket_pcie"), view="machine", asks=True
    ),
    "how_exposed": Example(
        words={"page": "train", "workload": "ddp", "machine": "switch:ranks=4,bandwidth=3GBps"}, asks=True
    ),
    "read_right": Example(Plan(capture=example_captures()["dgx-1v"]), view="machine", asks=True),
    "in_class": Example(Plan(machine="ring:ranks=8"), view="shape", asks=True),
    "first": Example(Plan()),
    "slow_hop": Example(Plan(machine="dual_socket_pcie", size="64MiB")),
    "cube_mesh": Example(Plan(capture=example_captures()["dgx-1v"], size="16MiB")),
    "tree": Example(Plan(algorithm="allreduce.double_binary_tree", machine="switch:ranks=16", size="4MiB")),
    "doubling": Example(Plan(algorithm="allreduce.recursive_doubling", machine="switch:ranks=16", size="64KiB")),
    "two_levels": Example(Plan(algorithm="allreduce.hierarchical_2d", machine="nodes:nodes=4", size="256MiB")),
    "in_switch": Example(Plan(algorithm="allreduce.nvls", machine="dgx_h100", size="64MiB")),
    "bruck": Example(Plan(algorithm="alltoall.bruck", machine="switch:ranks=9", size="9MiB")),
    "hyper_mpi_linear": Example(
        Plan(algorithm="allgatherv.linear", machine="nodes:gpus=128,nvlink=100GBps", size="1MiB")
    ),
    "plan": Example(
        Plan(schedule=example_schedules()["allreduce-ring-8 (MSCCL XML)"], machine="dgx_a100", size="8MiB")
    ),
}
"""Every one; Huawei Hyper MPI calls `hyper_mpi_linear` UCG_PLANC_UCX_ALLGATHERV_ATTR=I:4."""
