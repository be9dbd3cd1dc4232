"""Scenes worth a look, by the name under which `assets/text` tells what they show."""

from ui.scenes import Scene, example_schedules, examples

SCENARIOS = {
    "first": Scene(),
    "slow_hop": Scene(machine="dual_socket_pcie", size="64MiB"),
    "cube_mesh": Scene(capture=examples()["dgx-1v"], size="16MiB"),
    "tree": Scene(algorithm="allreduce.double_binary_tree", machine="switch:ranks=16", size="4MiB"),
    "doubling": Scene(algorithm="allreduce.recursive_doubling", machine="switch:ranks=16", size="64KiB"),
    "two_levels": Scene(algorithm="allreduce.hierarchical_2d", machine="nodes:nodes=4", size="256MiB"),
    "in_switch": Scene(algorithm="allreduce.nvls", machine="dgx_h100", size="64MiB"),
    "bruck": Scene(algorithm="alltoall.bruck", machine="switch:ranks=9", size="9MiB"),
    "hyper_mpi_linear": Scene(algorithm="allgatherv.linear", machine="nodes:gpus=128,nvlink=100GBps", size="1MiB"),
    "plan": Scene(schedule=example_schedules()["allreduce-ring-8 (MSCCL XML)"], machine="dgx_a100", size="8MiB"),
}
"""Every scenario; Huawei Hyper MPI calls `hyper_mpi_linear` UCG_PLANC_UCX_ALLGATHERV_ATTR=I:4."""
