"""Variables of NCCL: what files and options set, and what each changes in a run."""

import re
from dataclasses import replace

import pytest

from ops.libraries.nccl.choice import choose
from ops.libraries.nccl.layers import family_of
from ops.libraries.nccl.variables import FREE, Variables, machine_with, read, set_variables
from ops.plan import Plan
from sim.errors import InputError
from sim.machines import build
from sim.units import MiB

READ = [
    ("mpirun -x NCCL_ALGO=Tree -x NCCL_PROTO=^LL128 ./all_reduce_perf", {"algorithm": "Tree", "protocol": "^LL128"}),
    ("export NCCL_MIN_NCHANNELS=4 NCCL_MAX_NCHANNELS=8", {"min_channels": 4, "max_channels": 8}),
    ("NCCL_NTHREADS=256\nNCCL_BUFFSIZE=8388608", {"nthreads": 256, "buffsize": 8 * MiB}),
    ("srun --export=ALL,NCCL_P2P_LEVEL=4,NCCL_SHM_DISABLE=1 a.out", {"p2p_level": "SYS", "shm_disable": True}),
    ("env NCCL_NET_GDR_LEVEL=phb NCCL_CROSS_NIC=0 a.out", {"net_gdr_level": "PHB", "cross_nic": 0}),
    ("n1:9:9 [0] NCCL INFO NCCL_IB_HCA set by environment to =mlx5_0:1,mlx5_2:1", {"ib_hca": "=mlx5_0:1,mlx5_2:1"}),
    ('{"env": {"NCCL_PXN_DISABLE": "1", "NCCL_NVLS_ENABLE": "0"}}', {"pxn_disable": True, "nvls_enable": 0}),
    ("-x NCCL_SOCKET_NTHREADS=4 -x NCCL_NSOCKS_PERTHREAD=4", {"socket_nthreads": 4, "nsocks_perthread": 4}),
    ('export NCCL_ALGO="allreduce:tree;broadcast:ring"', {"algorithm": "allreduce:Tree;broadcast:Ring"}),
    ("NCCL_CROSS_NIC=7 NCCL_NTHREADS=100 NCCL_ALGO=fast", {}),  # NCCL warns of these, and keeps its defaults
    ("set NCCL_P2P_LEVEL=SYS if you can; # NCCL_ALGO=Ring", {}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "given"), READ)
def test_commands_job_files_and_logs_set_variables(text: str, given: dict[str, object]) -> None:
    assert read(text).changed == given


BAD = [
    ("NCCL_ALGO=fast", "NCCL: algorithm='fast' is unknown: choose from Tree, Ring,"),
    ("NCCL_PROTO=^LL,fast", "NCCL: protocol='^LL,fast' is unknown: choose from LL, LL128, Simple"),
    ("NCCL_ALGO=sendrecv:ring", "NCCL: algorithm='sendrecv:ring' is unknown: choose from allreduce,"),
    ("NCCL_CROSS_NIC=3", "run: cross_nic=3 is outside 0..2"),
    ("NCCL_P2P_LEVEL=FAR", "run: p2p_level='FAR' is unknown: choose from"),
    ("NCCL_NTHREADS=100", "NCCL: nthreads=100 is no multiple of 32 from 64 to 640"),
    ("NCCL_DEBUG=INFO", "run has no parameter 'NCCL_DEBUG': it takes algorithm,"),
    ("NCCL_P2P_DISABLE=maybe", "run: p2p_disable='maybe' is neither yes nor no"),
]


@pytest.mark.parametrize(("setting", "sentence"), BAD)
def test_a_value_that_nccl_lacks_is_one_sentence(setting: str, sentence: str) -> None:
    name, _, value = setting.partition("=")
    with pytest.raises(InputError) as error:
        set_variables({name: value}, "run")
    assert str(error.value).startswith(sentence)


def test_contradicting_variables_are_one_sentence() -> None:
    with pytest.raises(InputError, match="min_channels=8 is more than max_channels=2"):
        set_variables({"NCCL_MIN_NCHANNELS": "8", "NCCL_MAX_NCHANNELS": "2"}, "run")
    with pytest.raises(InputError, match="is 256, and a connection has 64 sockets at most"):
        set_variables({"NCCL_SOCKET_NTHREADS": "16", "NCCL_NSOCKS_PERTHREAD": "16"}, "run")


def test_lists_leave_algorithms_and_protocols_out() -> None:
    machine = build("dgx_h100")
    without = choose(machine, "allreduce", 64 * MiB, options=Variables(algorithm="^nvls,tree", protocol="LL,Simple"))
    assert {(c.algorithm, c.protocol) for c in without.candidates} == {("Ring", "LL"), ("Ring", "Simple")}
    elsewhere = choose(machine, "allreduce", 64 * MiB, options=Variables(algorithm="broadcast:Ring"))
    assert elsewhere.candidates == choose(machine, "allreduce", 64 * MiB).candidates


def test_pxn_came_with_2_12_and_can_be_switched_off() -> None:
    assert FREE.uses_pxn
    assert not Variables(pxn_disable=True).uses_pxn
    assert not Variables(nccl="2.8").uses_pxn


def crossed(spec: str, a: int, b: int, **words: str) -> list[str]:
    """Kinds of the devices on the way from a rank to another."""
    machine = machine_with(build(spec), set_variables(words, "run"))
    route = machine.routes([machine.ranks[a]], [machine.ranks[b]])
    return [re.sub(r"^.*\.|\d", "", machine.links[link].dst) for link in route.links]


REACHED = [
    ("dgx_h100", 1, {"NCCL_P2P_DISABLE": "1"}, True),
    ("dgx_h100", 1, {"NCCL_P2P_LEVEL": "NVL"}, False),
    ("dual_socket_pcie:switches_per_socket=2", 1, {"NCCL_P2P_LEVEL": "PIX"}, False),
    ("dual_socket_pcie:switches_per_socket=2", 2, {"NCCL_P2P_LEVEL": "PXB"}, True),
    ("dual_socket_pcie:switches_per_socket=2", 2, {"NCCL_P2P_LEVEL": "PHB"}, False),
    ("dual_socket_pcie:switches_per_socket=2", 4, {"NCCL_P2P_LEVEL": "PHB"}, True),
    ("dual_socket_pcie:switches_per_socket=2", 4, {"NCCL_P2P_LEVEL": "5"}, False),
    ("dgx_h100:hosts=2", 8, {"NCCL_NET_GDR_LEVEL": "PIX"}, True),
    ("dgx_h100:hosts=2", 8, {"NCCL_NET_GDR_LEVEL": "PXB"}, False),
    ("dgx_a100:hosts=2", 8, {"NCCL_NET_GDR_LEVEL": "PIX"}, False),
    ("gb200_nvl72:trays=2", 4, {"NCCL_NET_GDR_LEVEL": "LOC"}, False),
    ("dgx_h100:p2p=no", 1, {}, True),
    ("dgx_h100:hosts=2,gdr=no", 8, {}, True),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "to", "words", "copied"), REACHED)
def test_levels_say_which_messages_go_through_host_memory(
    spec: str, to: int, words: dict[str, str], copied: bool
) -> None:
    assert ("MEM" in crossed(spec, 0, to, **words)) == copied


def test_a_host_without_peers_and_shared_memory_is_one_sentence() -> None:
    with pytest.raises(InputError, match="leave out shm_disable"):
        crossed("dgx_h100", 0, 1, NCCL_P2P_DISABLE="1", NCCL_SHM_DISABLE="1")
    with pytest.raises(InputError, match="switch has no CPU"):
        crossed("switch", 0, 1, NCCL_P2P_DISABLE="1")


def test_a_run_and_its_band_know_that_peers_are_switched_off() -> None:
    plan = Plan(algorithm="nccl.allreduce", machine="dgx_h100", size="64MiB", settings="NCCL_P2P_DISABLE=1")
    usual, slower = replace(plan, settings="").run(), plan.run()
    assert slower.time > 5 * usual.time
    assert family_of(plan.topology()).expected_error(64 * MiB) > 2 * family_of(build("dgx_h100")).expected_error(
        64 * MiB
    )


def slower(machine: str, size: str, setting: str) -> float:
    """How many times as long a run takes with a variable set."""
    plan = Plan(algorithm="nccl.allreduce", machine=machine, size=size)
    return replace(plan, settings=setting).run().time / plan.run().time


EFFECTS = [
    ("dgx_a100", "1GiB", "NCCL_MAX_NCHANNELS=6", (1.9, 2.1)),  # its search finds 12
    ("dgx_a100", "1GiB", "NCCL_MAX_NCHANNELS=12", (0.95, 1.05)),
    ("dgx_a100", "1GiB", "NCCL_MIN_NCHANNELS=32", (0.95, 1.05)),
    ("dgx_a100", "16KiB", "NCCL_NTHREADS=64", (0.5, 0.999)),  # more channels find enough bytes
    ("dgx_a100", "64MiB", "NCCL_BUFFSIZE=1MiB", (0.8, 0.98)),
    ("dgx_h100", "1GiB", "NCCL_NVLS_ENABLE=0", (1.2, 1.5)),
    ("dgx_h100", "1GiB", "NCCL_ALGO=^NVLS", (1.2, 1.5)),
    ("dgx_h100", "1GiB", "NCCL_P2P_LEVEL=NVL", (1.0, 1.0)),
    ("dgx_a100:hosts=2", "1GiB", "NCCL_NET_GDR_LEVEL=LOC", (2.0, 50.0)),
    ("dgx_a100:hosts=2", "1GiB", "NCCL_SOCKET_NTHREADS=4", (1.0, 1.0)),
]


@pytest.mark.parametrize(("machine", "size", "setting", "times"), EFFECTS)
def test_a_variable_changes_what_it_should(machine: str, size: str, setting: str, times: tuple[float, float]) -> None:
    assert times[0] <= slower(machine, size, setting) <= times[1]


def test_what_changes_nothing_is_noted_once() -> None:
    words = "NCCL_NSOCKS_PERTHREAD=2,NCCL_SOCKET_NTHREADS=4"
    plan = Plan(algorithm="nccl.allreduce", machine="dgx_a100", settings=words)
    notes = [note for note in plan.topology().assumed if "nothing here" in note]
    assert notes == ["NCCL_SOCKET_NTHREADS and NCCL_NSOCKS_PERTHREAD change nothing here: sockets are not simulated"]
