"""What `run nccl.COLLECTIVE` simulates, held against times worked out by hand from NCCL's constants."""

import json
import math
from pathlib import Path

import pytest

from cli import main
from ops import ALGORITHMS
from ops.libraries.nccl.choice import choose, pace_of, work_of
from ops.libraries.nccl.closed_form import closed_form
from ops.libraries.nccl.constants import ENDS
from ops.libraries.nccl.layers import HALVES, family_of, layers, unknown_layer
from ops.libraries.nccl.own.band import bands_at
from ops.libraries.nccl.own.pace import Pace
from ops.libraries.nccl.protocol_cost import active_channels
from ops.libraries.nccl.variables import Variables
from ops.measured.files import joined_as
from ops.run import execute
from ops.run.work import registered
from sim.errors import InputError
from sim.faults.edits import edited
from sim.formats import read_topology, read_topology_file, write_topology
from sim.machines import build
from sim.placement import placed
from sim.units import GiB, KiB, MiB
from tests.tables import each_row

PLAIN = Pace()


def seconds(machine, collective, size, *, pace=PLAIN, root=0, **options):
    choice = choose(machine, collective, size, options=Variables(**options))
    outcome = execute(machine, work_of(machine, choice, pace=pace, root=root), size)
    assert outcome.verdict.verdict == "ok"
    return outcome.time


def test_a_large_ring_is_its_latency_and_its_bytes():
    """8 A100: 8.4 + 14 · 3.4 µs, and 2 · 7/8 of the size over twelve NVLinks of 20 GB/s."""
    by_hand = (8.4 + 14 * 3.4) * 1e-6 + 2 * 7 / 8 * GiB / 240e9
    assert seconds(build("dgx_a100"), "allreduce", GiB, algorithm="Ring", protocol="Simple") == pytest.approx(by_hand)


def test_a_small_ring_is_its_hops():
    """LL: 6.6 µs and 14 hops of 0.6, of which the machine's own NVLink latency is 0.7; bytes hardly count."""
    found = seconds(build("dgx_a100:nvlink_latency=0.1us"), "allreduce", 64, algorithm="Ring", protocol="LL")
    assert found == pytest.approx((6.6 + 14 * 0.6) * 1e-6, rel=0.01)


def test_hops_between_nodes_cost_more():
    """One GPU a node, 2 nodes: 6.6 + 2 hops of 2.7 µs with LL; the route's own latency counts within."""
    machine = build("nodes:nodes=2,gpus=1,nic_latency=0.1us,nvlink_latency=0.1us")
    found = seconds(machine, "allreduce", 64, algorithm="Ring", protocol="LL")
    assert found == pytest.approx((6.6 + 2 * 2.7) * 1e-6, rel=0.01)


def test_few_channels_do_not_fill_the_links():
    """64 KiB on a ring of 8 with LL keeps 2 of 24 channels busy, which reach 1.8 shares of 120 GB/s each."""
    machine = build("dgx_a100:nvlink_latency=0.1us")
    at = choose(machine, "allreduce", 64 * KiB).seen.situation
    assert active_channels("Ring", "LL", 64 * KiB, at) == 2
    flowing = 2 * 7 / 8 * 64 * KiB / (120e9 * 1.8 * 2 / 24)
    found = seconds(machine, "allreduce", 64 * KiB, algorithm="Ring", protocol="LL")
    assert found == pytest.approx(15.0e-6 + flowing, rel=1e-3)


def test_long_chunks_to_an_adding_switch_lose_less():
    """8 H100: chunks of 32 KiB up to 64 MiB, of 64 up to a GiB; a gap of 16 KiB leaves two thirds, then four fifths."""
    machine, pace = build("dgx_h100"), Pace(nvls=1.0, nvls_gap=16 * KiB)
    for sizes, share in (((16, 32), 2 / 3), ((128, 256), 4 / 5)):
        less, more = (seconds(machine, "allreduce", size * MiB, pace=pace, algorithm="NVLS") for size in sizes)
        assert (sizes[1] - sizes[0]) * MiB * (1 + 1 / 8) / (more - less) == pytest.approx(18 * 20.6e9 * share, rel=0.01)


def test_a_rank_copies_its_own_block_of_an_alltoall():
    """By 32 channels of 22 GB/s; a factor on it counts once."""
    machine = build("dgx_a100")
    once, twice = (seconds(machine, "alltoall", GiB, pace=Pace(ends=1.0, own=own)) for own in (1.0, 2.0))
    assert twice - once == pytest.approx(GiB / 8 / 704e9)


@pytest.mark.parametrize("key", ["ll", "simple", "launch", "simple_start", "ends", "nvlink"])
def test_each_factor_bends_what_it_says(key):
    machine, protocol = build("dgx_a100"), "LL" if key == "ll" else "Simple"
    changed = {"ll": 2.0, "simple": 2.0, "launch": 1e-5, "simple_start": 1e-5, "ends": 1.0, "nvlink": 0.5}[key]
    added = {
        "ll": 14 * 0.6e-6,
        "simple": 14 * 3.4e-6,
        "launch": 1e-5,
        "simple_start": 1e-5,
        "ends": ENDS["Simple"]["allreduce"] * 64 * MiB / 8 / 240e9,
        "nvlink": 2 * 7 / 8 * 64 * MiB / 240e9,
    }[key]
    size = 64 if key == "ll" else 64 * MiB
    plain = seconds(machine, "allreduce", size, algorithm="Ring", protocol=protocol)
    bent = seconds(machine, "allreduce", size, pace=Pace(**{key: changed}), algorithm="Ring", protocol=protocol)
    assert bent - plain == pytest.approx(added, rel=1e-3)


def test_hops_with_simple_pass_while_the_chunk_before_is_copied():
    """A hop of 3.4 µs shows in small steps; in steps of 8 MiB a channel's half chunk of 1 MiB takes longer than it."""
    machine, pace = build("dgx_a100"), Pace(slot=1e-9)
    small, large = (
        [seconds(machine, "allgather", size, pace=one, algorithm="Ring", protocol="Simple") for one in (pace, PLAIN)]
        for size in (KiB, 2 * GiB)
    )
    assert small[0] == pytest.approx(small[1], rel=1e-2)
    assert large[1] - large[0] == pytest.approx(7 * 3.4e-6, rel=1e-2)


@each_row("collective", ["allreduce", "allgather", "reduce_scatter", "alltoall"])
@each_row("spec", ["dgx_a100", "dgx_h100", "gb200_nvl72:trays=1"])
def test_the_sum_that_fits_use_is_what_the_simulation_comes_to(spec, collective):
    machine = build(spec)
    for ranks, size in ((2, KiB), (machine.n, 256 * KiB), (machine.n, 32 * MiB)):
        choice = choose(machine, collective, size, ranks)
        simulated = execute(machine, work_of(machine, choice), size).time
        assert closed_form(machine, choice, pace_of(machine)) == pytest.approx(simulated, rel=1e-3)


def test_nothing_moves_more_than_its_links_carry():
    """Four DGX H100 have 400 GB/s of NICs each, which every allgather's bus bandwidth stays below."""
    for spec in ("dgx_h100:hosts=4", "dgx_b200:hosts=4", "aws_p5:hosts=2", "gh200_quad:hosts=2"):
        machine = build(spec)
        nics = sum(link.bandwidth for link in machine.links if link.kind == "NET" and link.src.startswith("H0."))
        outcome = execute(machine, work_of(machine, choose(machine, "allgather", 4 * GiB)), 4 * GiB)
        assert 0.5 * nics < outcome.busbw <= nics
    for layer in (layer for kind in layers().values() for layer in kind.values()):
        assert all(0 < layer.pace.get(share, 1.0) <= 1 for share in ("nvlink", "net", "nvls", "peer_share"))


@pytest.mark.slow
@each_row("collective", ["allreduce", "allgather", "reduce_scatter", "broadcast", "reduce", "alltoall", "sendrecv"])
@each_row(
    "spec", ["dgx_a100", "dgx_h100:hosts=2", "mi300x", "dual_socket_pcie", "switch:ranks=6", "nodes:nodes=3,gpus=2"]
)
def test_every_collective_is_right_everywhere(collective, spec):
    machine = build(spec)
    for size in (4 * KiB, MiB, 256 * MiB):
        root = 1 if collective in ("broadcast", "reduce") else 0
        assert seconds(machine, collective, size, root=root) > 0


def test_every_candidate_can_be_carried_out():
    machine = build("dgx_h100:hosts=2")
    choice = choose(machine, "allreduce", 16 * MiB)
    assert {one.algorithm for one in choice.candidates} == {"Ring", "Tree", "NVLSTree"}
    for one in choice.candidates:
        outcome = execute(machine, work_of(machine, choice, taken=one), choice.size)
        assert outcome.verdict.verdict == "ok"


def test_bigger_messages_never_arrive_sooner_with_one_algorithm():
    machine = build("h100_quad:hosts=2")
    for options in ({"algorithm": "Ring", "protocol": "Simple"}, {"algorithm": "Tree", "protocol": "LL128"}):
        times = [seconds(machine, "allreduce", 1 << k, **options) for k in range(10, 31, 2)]
        assert times == sorted(times)


def test_a_rack_adds_in_its_one_switch():
    """Two trays of GB200: one NVSwitch of the rack adds for the ranks of both hosts."""
    machine = build("gb200_nvl72:trays=2")
    choice = choose(machine, "allreduce", 64 * MiB)
    assert choice.chosen.algorithm == "NVLS"
    outcome = execute(machine, work_of(machine, choice), choice.size)
    assert outcome.verdict.verdict == "ok"
    assert len(outcome.trace.schedule.switches) == 1


@pytest.mark.turns("spec", "nodes")
@pytest.mark.parametrize(
    ("spec", "nodes"),
    [("gb200_nvl72:racks=2,trays=2", 2), ("gb200_nvl72:racks=3,trays=1", 3), ("gb300_nvl72:racks=2,trays=3,nics=3", 2)],
)
def test_every_rack_adds_in_its_own_switch(spec, nodes):
    """NVSwitches of several racks are several nodes, which trees join."""
    machine = build(spec)
    for name in (spec, "a capture"):
        rack = machine if name == spec else read_topology(write_topology(machine, "ringside_yaml"), spec)
        choice = choose(rack, "allreduce", 64 * MiB)
        assert {"NVLSTree", "Ring", "Tree"} == {one.algorithm for one in choice.candidates}
        assert len(choice.seen.nodes) == nodes
        for one in choice.candidates:
            outcome = execute(rack, work_of(rack, choice, taken=one), choice.size)
            assert outcome.verdict.verdict == "ok"
    assert registered(ALGORITHMS["allreduce.nvls_tree"], machine.n, topology=machine).settings["group"] == (
        machine.n // nodes
    )


def test_ranks_of_uneven_racks_leave_the_rings():
    machine = build("gb200_nvl72:racks=2,trays=2")
    assert {one.algorithm for one in choose(machine, "allreduce", MiB, 12).candidates} == {"Ring"}
    dealt = placed(machine, "0:0-3,2:0-3,1:0-3,3:0-3")
    choice = choose(dealt, "allreduce", MiB)
    assert [len(node) for node in choice.seen.nodes] == [8, 8]
    assert execute(dealt, work_of(dealt, choice), MiB).verdict.verdict == "ok"


def test_a_nic_behind_the_cpu_has_no_ll128():
    """GH200 reach their NICs through Grace, which is PHB: farther than NCCL lets LL128 go."""
    protocols = {one.protocol for one in choose(build("gh200_quad:hosts=2"), "allreduce", MiB).candidates}
    assert protocols == {"LL", "Simple"}
    assert "LL128" in {one.protocol for one in choose(build("gh200_quad"), "allreduce", MiB).candidates}


def test_uneven_nodes_leave_the_rings():
    machine = build("dgx_a100:hosts=2")
    choice = choose(machine, "allreduce", MiB, 11)
    assert {one.algorithm for one in choice.candidates} == {"Ring"}
    assert execute(machine, work_of(machine, choice), MiB).verdict.verdict == "ok"


def test_layers_are_of_machines_that_exist_and_say_where_they_come_from():
    for kind in layers().values():
        for layer in kind.values():
            assert all(build(name).n for name in layer.machines)
            assert layer.tables or layer.note
            assert Pace(**layer.pace).as_dict().keys() >= layer.pace.keys()


@pytest.mark.parametrize(
    "machine", ["dgx1v", "dgx2:hosts=2", "mi250x", "a40_pairs", "geforce_4090", "dual_socket_pcie"]
)
def test_gpus_that_nobody_measured_have_the_latencies_of_others_and_a_wide_band(machine):
    family = family_of(build(machine))
    assert family is not None
    assert family.name.startswith("unmeasured GPUs")
    assert len(family.tables) >= 12
    known = [layer.pace["simple"] for layer in layers()["generations"].values()]
    assert min(known) < family.pace.simple < max(known)
    assert (family.pace.nvlink, family.pace.ends, family.pace.slot) == (1, 0, 0)
    wide, bands = unknown_layer("generations").strays, bands_at(build(machine))
    assert all(band >= math.expm1(wide[half]) for band, half in zip(bands, HALVES, strict=True))


def test_abstract_machines_keep_the_constants_of_nccl():
    assert all(family_of(build(machine)) is None for machine in ("switch", "torus", "nodes", "tpu_v4"))


@pytest.mark.parametrize(
    ("capture", "family"),
    [
        ("nvidia-smi-topo/003*", "Ampere"),
        ("nvidia-smi-topo/005*", "Hopper"),
        ("rocm-smi-topo/001*", "CDNA"),
        ("nvidia-smi-topo/015*", "unmeasured GPUs"),
        ("nvidia-smi-topo/021*", "unmeasured GPUs"),
    ],
)
def test_a_capture_keeps_the_pace_of_the_machine_it_is(capture, family):
    machine = read_topology_file(next((Path(__file__).parents[2] / "data").glob(capture)))
    found = family_of(machine)
    assert found is not None
    assert found.name == family


@pytest.mark.parametrize("spec", ["dgx_h100", "dgx_h100:nvlink=25GBps", "dgx_h100:hosts=2"])
def test_an_edited_machine_keeps_its_pace_and_one_without_peers_is_measured_nowhere(spec):
    machine = build(spec)
    changed, apart = edited(machine, ["set_class:times=0.5"]), joined_as("shm", machine)
    assert machine.name not in (changed.name, apart.name)
    assert family_of(changed).name == family_of(machine).name
    assert family_of(apart).name.startswith("unmeasured GPUs")


def test_what_cannot_be_chosen_is_told():
    machine = build("dgx_a100")
    with pytest.raises(InputError, match="no NVLS for allreduce here: choose from Ring/LL"):
        choose(machine, "allreduce", MiB, options=Variables(algorithm="NVLS"))
    with pytest.raises(InputError, match="nccl has no 'scan'"):
        choose(machine, "scan", MiB)


def asked(capsys, *argv):
    status = main([*argv, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_the_terminal_runs_what_nccl_chooses(capsys):
    status, chosen = asked(capsys, "nccl-choice", "--machine", "dgx_h100", "--size", "64KiB")
    assert status == 0
    assert [one["chosen"] for one in chosen["candidates"]].count(True) == 1
    assert chosen["candidates"] == sorted(chosen["candidates"], key=lambda one: one["predicted_s"])
    assert chosen["rings"] == [list(range(8))]
    status, ran = asked(capsys, "run", "nccl.allreduce", "--machine", "dgx_h100", "--size", "64KiB")
    assert (status, ran["verified"], ran["faults"]) == (0, True, [])
    assert ran["time_s"] == chosen["simulated_s"]
    assert (ran["parameters"]["nccl"], ran["parameters"]["protocol"]) == (chosen["algorithm"], chosen["protocol"])


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["run", "nccl.allreduce", "--machine", "dgx_a100"], "depends on the size"),
        (["run", "nccl.nothing", "--machine", "dgx_a100", "--size", "1MiB"], "nccl has no 'nothing'"),
        (
            ["run", "nccl.allreduce", "--machine", "dgx_a100", "--size", "1MiB", "--set", "algorithm=Fast"],
            "choose from",
        ),
        (["verify", "nccl.allreduce"], "nccl"),
        (["nccl-choice", "--machine", "dgx_a100", "--size", "0"], "size"),
        (["nccl-choice", "--machine", "dgx_a100", "--ranks", "99"], "dgx_a100 holds 8 ranks, not 99"),
        (["nccl-choice", "--machine", "switch:ranks=1"], "holds 2 to 1"),
    ],
)
def test_bad_input_is_one_sentence(capsys, argv, told):
    assert main(argv) == 2
    error = capsys.readouterr().err
    assert told in error
    assert "Traceback" not in error
