"""Ring or tree, Ethernet or InfiniBand, NCCL or Gloo: what is chosen is what runs, and what has no choice says so."""

import json
from dataclasses import replace

import pytest

import cli
from ops.backends import AUTO, BACKENDS, SHAPES, shape_of
from ops.collectives import COLLECTIVES
from ops.libraries import LIBRARIES
from ops.plan import Plan
from ops.plan.link import from_link, to_link
from ops.plan.plan_file import from_yaml, to_yaml
from ops.registry import ALGORITHMS
from ops.workloads import WORKLOADS
from sim.errors import InputError
from sim.machines import build
from sim.topology.networks import NETWORKS, networked
from sim.trace import FORMAT
from sim.units import Gbps, us
from tests.tables import each_row

PAIR = "switch:ranks=2,bandwidth=1GBps,latency=1us"
CLUSTER = "nodes:nodes=2,gpus=2"


@pytest.fixture
def say(capsys):
    """What a command line answers: its status, its JSON where it has some, and its complaint."""

    def said(line: str):
        status = cli.main([*line.split(), "--json"])
        out, err = capsys.readouterr()
        return status, json.loads(out) if out else None, err

    return said


def rates(topology, kind="NET"):
    return {(link.bandwidth, link.latency) for link in topology.links if link.kind == kind}


@each_row("name", NETWORKS)
def test_every_network_has_its_rates_and_says_where_they_are_from(name):
    network = NETWORKS[name]
    assert 1e6 <= network.bandwidth <= 1e12
    assert 1e-7 <= network.latency <= 1e-3
    assert network.about.endswith(".")
    assert len(network.source) > 10
    joined = networked(build(CLUSTER), name)
    assert rates(joined) == {(network.bandwidth, network.latency)}
    assert rates(joined, "NVL") == rates(build(CLUSTER), "NVL")
    assert joined.name == f"{CLUSTER}, {name}"


def test_networks_of_old_are_what_they_were():
    assert NETWORKS["ethernet"][:2] == (25 * Gbps, 10 * us)
    assert NETWORKS["infiniband"][:2] == (100 * Gbps, 1 * us)


def test_links_between_switches_stay_as_many_times_as_fast_as_a_port():
    before, after = build("dgx_a100:hosts=2"), networked(build("dgx_a100:hosts=2"), "ethernet_10g")
    port = max(link.bandwidth for link in before.links if "NIC" in link.src and link.kind == "NET")
    for old, new in zip(before.links, after.links, strict=True):
        if old.kind == "NET":
            assert new.bandwidth == pytest.approx(old.bandwidth / port * 1.25e9)
            assert new.latency == (old.latency if "SPINE" in (old.src, old.dst) else 10 * us)
        else:
            assert new == old
    thin = networked(build("fat_tree:oversubscription=4"), "infiniband_hdr")
    assert {rate for rate, _ in rates(thin)} == {25e9, 6.25e9}


@pytest.mark.parametrize("machine", ["dgx_a100", "a100_quad", "dual_socket_pcie", "mi300x"])
def test_a_machine_without_a_network_is_refused_one(machine, say):
    status, _, told = say(f"run allreduce.ring --machine {machine} --size 1MiB --network ethernet")
    assert status == 2
    assert f"{machine} has no network between hosts" in told


@pytest.mark.parametrize(
    "line",
    [
        "run allreduce.ring --machine nodes --size 1MiB --network token_ring",
        "workload ddp:network=token_ring --machine nodes",
        "workload ddp:network=ethernet --machine nodes --network ethernet",
        "workload ddp:network=ethernet --machine dgx_a100",
        "workload ddp:algorithm=star --machine nodes",
        "workload ddp:backend=token --machine nodes",
        "workload zero:algorithm=tree --machine nodes:nodes=2,gpus=2",
        "workload zero:algorithm=tree,backend=gloo --machine nodes:nodes=2,gpus=2",
        "run allgather --library gloo --machine nodes --size 1MiB --set algorithm=tree",
        "run allreduce --library gloo --machine nodes --size 1MiB --set segments=2",
        "run allreduce --library gloo --machine nodes --size 1MiB --set algorithm=star",
        "run allreduce.ring --library gloo --machine nodes --size 1MiB --set algorithm=tree",
        "run allreduce --library gloo --machine nodes",
        "run allreduce --library gloo --size 1MiB",
        "run star --library gloo --machine nodes --size 1MiB",
        "compare allreduce.ring --machine nodes --size 1MiB --network ethernet --network ethernet",
        "compare allreduce.ring --machine nodes --size 1MiB --network ethernet",
        f"compare allreduce.ring --machine nodes --size 1MiB --network {' --network '.join([*NETWORKS][:5])}",
    ],
)
def test_what_has_no_such_choice_says_so_in_one_sentence(line, say):
    status, _, told = say(line)
    assert status == 2
    assert told.startswith("cli.py: ")
    assert told.count("\n") == 1


@pytest.mark.parametrize("network", ["ethernet_10g", "infiniband_hdr"])
def test_a_network_alone_joins_hosts_of_one_gpu(network, say):
    """A ring of 8: 14 steps of two latencies and an eighth of the size."""
    status, ran, _ = say(f"run allreduce.ring --size 64MiB --network {network}")
    rate, latency = NETWORKS[network][:2]
    assert (status, ran["machine"], ran["ranks"]) == (0, f"switch:ranks=8, {network}", 8)
    assert ran["time_s"] == pytest.approx(14 * (2 * latency + (1 << 23) / rate), rel=1e-9)


def test_a_network_stands_in_links_and_files_and_beside_others():
    plan = Plan(machine=CLUSTER, network="infiniband_hdr", size="1MiB", against="network=ethernet_10g|network=")
    assert to_link(plan)["network"] == "infiniband_hdr"
    assert from_link(to_link(plan)) == plan
    assert from_yaml(to_yaml(plan), "x") == plan
    names = [each.topology().name for each in (plan, *plan.others())]
    assert names == [f"{CLUSTER}, infiniband_hdr", f"{CLUSTER}, ethernet_10g", CLUSTER]
    with pytest.raises(InputError, match="a run that was kept has its own machine"):
        replace(plan, schedule=f'{{"format": "{FORMAT}"}}').topology()


@pytest.mark.slow
def test_networks_stand_side_by_side(say):
    several = "gloo.allreduce:algorithm=ring gloo.allreduce:algorithm=tree"
    line = f"compare {several} --machine nodes:nodes=4,gpus=1 --size 1MiB"
    _, both, _ = say(f"{line} --network ethernet_10g --network infiniband_hdr")
    assert [(row["algorithm"][-4:], row["network"]) for row in both["runs"]] == [
        (shape, network) for network in ("ethernet_10g", "infiniband_hdr") for shape in ("ring", "tree")
    ]
    assert both["winner_network"] == "infiniband_hdr"
    for network in ("ethernet_10g", "infiniband_hdr"):
        _, one, _ = say(f"{line} --network {network}")
        times = [row["time_s"] for row in both["runs"] if row["network"] == network]
        assert [row["time_s"] for row in one["runs"]] == times


@each_row("name", WORKLOADS)
def test_every_workload_takes_a_network_an_algorithm_and_a_backend(name):
    words = {key: parameter.words for key, parameter in WORKLOADS[name].params.items()}
    assert words["network"] == ("machine", *NETWORKS)
    assert words["algorithm"] == (AUTO, *SHAPES)
    assert words["backend"] == tuple(BACKENDS)


@each_row("backend", BACKENDS)
@each_row("shape", SHAPES)
def test_gradients_are_summed_round_a_ring_or_along_a_tree_with_every_backend(shape, backend):
    layers = "a 250000 1ms 2ms; b 250000 1ms 2ms"
    words = {"layers": layers, "algorithm": shape, "backend": backend, "network": "ethernet_10g"}
    step = WORKLOADS["ddp"].run(build(CLUSTER), words)
    assert step.verified
    assert {shape_of(call.algorithm) for call in step.calls} == {shape}
    assert step.topology.name == f"{CLUSTER}, ethernet_10g"
    free = WORKLOADS["ddp"].run(build(CLUSTER), words | {"algorithm": AUTO, "network": "machine"})
    assert free.time < step.time


@pytest.mark.parametrize("shape", SHAPES)
def test_rings_and_trees_are_registered_algorithms(shape):
    for name in SHAPES[shape]:
        assert ALGORITHMS[name].name == name
        assert shape_of(name) == shape


@pytest.mark.parametrize("library", sorted(LIBRARIES))
@pytest.mark.parametrize("collective", ["allreduce", "allgather", "reduce_scatter", "broadcast", "reduce", "alltoall"])
def test_a_library_runs_what_its_rule_takes(library, collective, say):
    status, ran, _ = say(f"run {collective} --library {library} --machine {CLUSTER} --size 64KiB --root 0")
    assert (status, ran["verdict"], ran["collective"]) == (0, "ok", collective)
    again = Plan(algorithm=f"{library}.{collective}", machine=CLUSTER, size="64KiB")
    assert again.run().trace.time == ran["time_s"]


def test_a_backend_costs_its_launch_its_messages_and_its_sums():
    """Two ranks: 1 MB from one to the other after 2 µs of latency, 15 µs a message and 30 µs of launch."""
    plan = Plan(algorithm="gloo.broadcast", machine=PAIR, size="1MB")
    assert plan.run().trace.time == pytest.approx(2e-6 + 1e-3 + 15e-6 + 30e-6, rel=1e-9)
    ring = replace(plan, algorithm="gloo.allreduce").run()
    assert ring.work.name == "allreduce.ring"
    assert ring.trace.time == pytest.approx(30e-6 + 2 * (2e-6 + 15e-6 + 0.5e-3) + 0.5e6 / 5e9, rel=1e-9)


@each_row("library", sorted(set(LIBRARIES) - {"nccl"}))
@each_row("collective", sorted(COLLECTIVES))
def test_a_library_has_an_answer_to_every_collective(collective, library):
    blocks = {"counts": ",".join(["1000"] * (16 if collective == "alltoallv" else 4)), "size": ""}
    load = blocks if COLLECTIVES[collective].vector else {"size": "1KiB"}
    ran = Plan(algorithm=f"{library}.{collective}", machine="switch:ranks=4", **load).run()
    assert ran.trace.verdict.ok
