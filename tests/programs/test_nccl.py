"""NCCL answers alike wherever it is asked: in a program, in a workload, and by `nccl-choice`."""

import json

import numpy as np
import pytest

import cli
from ops.communicators.launch import Launcher
from ops.communicators.selection import Selection
from ops.libraries import CollectiveCall, Members
from ops.libraries.nccl.choice import choose, work_of
from ops.training import World
from sim.machines import MACHINES, build
from sim.schedule.verify import prove
from tests.programs.running import simulated
from tests.tables import each_row

MACHINE_SPECS = ["dgx_a100", "dgx_h100:hosts=2", "dual_socket_pcie", "dgx1v", "nodes:nodes=3,gpus=2"]
CALLS = {
    "allreduce": "comm.Allreduce(np.ones({count}, 'f4'), np.empty({count}, 'f4'))",
    "broadcast": "comm.Bcast(np.ones({count}, 'f4'), root=1)",
    "reduce": "comm.Reduce(np.ones({count}, 'f4'), np.empty({count}, 'f4'), root=1)",
    "allgather": "comm.Allgather(np.ones({count} // n, 'f4'), np.empty({count}, 'f4'))",
    "reduce_scatter": "comm.Reduce_scatter_block(np.ones({count}, 'f4'), np.empty({count} // n, 'f4'))",
    "alltoall": "comm.Alltoall(np.ones({count}, 'f4'), np.empty({count}, 'f4'))",
}
SCRIPT = """
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
n = comm.size
{call}
"""


def columns(schedule):
    return [getattr(schedule, name).tolist() for name in ("src", "dst", "op", "from_slot", "to_slot", "channel")]


def in_program(tmp_path, spec, collective, size, ranks):
    """The trace of the call, and what the timeline says of it."""
    script = SCRIPT.format(call=CALLS[collective].format(count=size // 4))
    outcome = simulated(script, tmp_path, ranks, spec, library="nccl")
    assert outcome.failure is None
    return outcome.calls[-1]


def in_workload(spec, collective, size, ranks):
    """What a world of ranks notes of the call."""
    world = World(build(spec), ranks, library="nccl")

    def rank(r):
        yield world.everyone.post(r, collective, float(size), root=1 if collective in ("broadcast", "reduce") else 0)

    world.run(rank)
    return world.calls[-1]


@pytest.mark.slow
@pytest.mark.turns("spec")
@pytest.mark.parametrize("collective", CALLS)
@pytest.mark.parametrize("spec", MACHINE_SPECS)
def test_programs_and_workloads_take_what_nccl_choice_says(tmp_path, spec, collective):
    machine = build(spec)
    ranks = machine.n
    for size in (ranks * 1024, ranks << 20):
        choice = choose(machine, collective, size)
        rooted = collective in ("broadcast", "reduce")
        work = work_of(machine, choice, root=1 if rooted else 0)
        called, posted = in_program(tmp_path, spec, collective, size, ranks), in_workload(spec, collective, size, ranks)
        for record in (called, posted):
            assert (record.algorithm, record.protocol) == (work.algorithm.name, choice.chosen.protocol)
            assert (record.size, record.verified) == (size, True)
        assert columns(called.trace.schedule) == columns(work.schedule)
        assert called.end - called.start == pytest.approx(posted.end - posted.start, rel=1e-9)


def test_some_of_the_ranks_are_a_machine_of_their_own(tmp_path):
    spec = "dgx_a100:hosts=2"
    called = in_program(tmp_path, spec, "allreduce", 1 << 20, 8)
    choice = choose(build(spec), "allreduce", 1 << 20, 8)
    assert (called.algorithm, called.protocol) == (work_of(build(spec), choice).algorithm.name, choice.chosen.protocol)
    assert columns(called.trace.schedule) == columns(work_of(build(spec), choice).schedule)


def test_the_terminal_says_the_same_three_times(tmp_path, capsys):
    def ask(*words):
        assert cli.main([*words, "--machine", "dgx_a100", "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    file = tmp_path / "sum.py"
    for size in ("64KiB", "16MiB"):
        count = {"64KiB": 1 << 14, "16MiB": 1 << 22}[size]
        file.write_text(SCRIPT.format(call=f"comm.Allreduce(MPI.IN_PLACE, np.empty({count}, 'f4'))"), encoding="utf-8")
        chosen = ask("nccl-choice", "--size", size)
        ran = ask("run", "nccl.allreduce", "--size", size)
        called = ask("mpi", str(file), "-n", "8", "--library", "nccl")["calls"][-1]
        assert chosen["protocol"] == called["protocol"] == ran["parameters"]["protocol"]
        assert called["algorithm"] == ran["algorithm"]
        assert called["algorithm"].partition(".")[2] == {"Ring": "ring", "Tree": "nccl_tree"}[chosen["algorithm"]]


def test_a_workloads_answer_names_the_protocol(capsys):
    layers = "one 4194304 1ms 2ms"
    assert cli.main(["workload", "ddp", "--machine", "dgx_a100", "--set", f"layers={layers}", "--json"]) == 0
    (call,) = json.loads(capsys.readouterr().out)["calls"]
    chosen = choose(build("dgx_a100"), "allreduce", 4 * 4194304).chosen
    assert call["protocol"] == chosen.protocol


@pytest.mark.slow
@pytest.mark.parametrize(
    "call, algorithm, protocol, size",
    [
        ("comm.Barrier()", "allreduce.ring", "LL", 4),
        ("comm.Alltoall(np.ones(n << 16), np.empty(n << 16))", "alltoall.nccl_p2p",
         "Simple", 16 << 19),
        ("comm.Gather(np.ones(4), np.empty(4 * n) if comm.rank == 0 else None)",
         "gather.linear", "", 16 * 32),
        ("comm.Scatter(np.ones(4 * n) if comm.rank == 0 else None, np.empty(4))", "scatter.linear", "", 16 * 32),
    ],
)  # fmt: skip
def test_what_the_tuner_does_not_answer_is_sends_receives_and_sums(tmp_path, call, algorithm, protocol, size):
    outcome = simulated(SCRIPT.format(call=call), tmp_path, 16, "dgx_a100:hosts=2", library="nccl")
    assert outcome.failure is None
    record = outcome.calls[-1]
    assert (record.protocol, record.size) == (protocol, size)
    assert record.algorithm == (algorithm if "Barrier" not in call else expected_barrier("dgx_a100:hosts=2"))


def expected_barrier(spec):
    """A barrier is an allreduce of one element."""
    machine = build(spec)
    return work_of(machine, choose(machine, "allreduce", 4)).algorithm.name


def test_unequal_blocks_go_round_the_rings_of_equal_ones(tmp_path):
    call = "comm.Alltoallv([np.ones(n * comm.rank), [comm.rank] * n], [np.empty(n * (n - 1) // 2), list(range(n))])"
    outcome = simulated(SCRIPT.format(call=call), tmp_path, 8, "dgx1v", library="nccl")
    assert outcome.failure is None
    assert outcome.calls[-1].algorithm == "alltoallv.nccl_p2p"
    machine = build("dgx1v")
    prepared = Launcher(Selection("nccl")).prepare(
        CollectiveCall("allgatherv", Members(machine, machine.ranks), 1 << 20, 1e6)
    )
    even = choose(machine, "allgather", 8 << 20)
    assert prepared.algorithm == "allgatherv.ring"
    assert prepared.decision.orders == even.seen.orders
    assert prepared.schedule.channel.max() + 1 == len(even.seen.orders) > 1
    blocks = np.repeat(np.arange(8.0) * 1e5, prepared.schedule.promise.blocks // 8)
    assert prove(prepared.schedule, blocks=True).verdict.ok
    assert blocks.sum() > 0


@pytest.mark.slow
@each_row("name", MACHINES, days=5)
def test_nccl_finds_an_answer_on_every_machine(name):
    machine = build(name)
    some = Members(machine, machine.ranks[: min(machine.n, 64)])
    if some.size < 2:
        pytest.skip("a machine of one rank")
    for collective in (*CALLS, "barrier", "allgatherv", "reduce_scatterv", "alltoallv", "gather", "scan"):
        for size in (100.0, float(1 << 24)):
            prepared = Launcher(Selection("nccl")).prepare(CollectiveCall(collective, some, size, size / 4))
            assert prepared.work.proof(blocks=False).verdict.ok


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [(0, 8), (0, 8, 1, 9), (8, 1, 2), (3, 2, 1, 0), tuple(range(15, -1, -1))])
def test_ranks_in_any_order_are_proved(ranks):
    machine = build("dgx_h100:hosts=2")
    members = Members(machine, [machine.ranks[r] for r in ranks])
    for collective in (*CALLS, "barrier", "alltoallv", "reduce_scatterv"):
        for size in (100.0, 1e6, 1e9):
            launcher = Launcher(Selection("nccl"))
            prepared = launcher.prepare(CollectiveCall(collective, members, size, size / 4, len(ranks) - 1))
            assert prepared.work.proof(blocks=False).verdict.ok
