"""Scenes worth a look, by the name under which `assets/text` tells what they show."""

from ops.request import Request
from ops.request.examples import example_captures, example_schedules

SCENARIOS = {
    "first": Request(),
    "slow_hop": Request(machine="dual_socket_pcie", size="64MiB"),
    "cube_mesh": Request(capture=example_captures()["dgx-1v"], size="16MiB"),
    "tree": Request(algorithm="allreduce.double_binary_tree", machine="switch:ranks=16", size="4MiB"),
    "doubling": Request(algorithm="allreduce.recursive_doubling", machine="switch:ranks=16", size="64KiB"),
    "two_levels": Request(algorithm="allreduce.hierarchical_2d", machine="nodes:nodes=4", size="256MiB"),
    "in_switch": Request(algorithm="allreduce.nvls", machine="dgx_h100", size="64MiB"),
    "bruck": Request(algorithm="alltoall.bruck", machine="switch:ranks=9", size="9MiB"),
    "hyper_mpi_linear": Request(algorithm="allgatherv.linear", machine="nodes:gpus=128,nvlink=100GBps", size="1MiB"),
    "plan": Request(schedule=example_schedules()["allreduce-ring-8 (MSCCL XML)"], machine="dgx_a100", size="8MiB"),
}
"""Every scenario; Huawei Hyper MPI calls `hyper_mpi_linear` UCG_PLANC_UCX_ALLGATHERV_ATTR=I:4."""
