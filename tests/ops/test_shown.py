"""What a result is at a prompt and in a cell: one line, a table, a data frame, axes, a graph; names, not numbers."""

import sys
from itertools import pairwise

import numpy as np
import pytest

from ops import ALGORITHMS
from ops.collectives import COLLECTIVES
from ops.lab.grid import Grid
from ops.lab.winners import results, winner_map
from ops.plan import Plan
from ops.plan.call import run
from ops.programs import run_source
from ops.training.world import World
from ops.workloads import WORKLOADS
from sim.faults.kinds import FAULTS
from sim.formats import FORMATS
from sim.machines import MACHINES, build
from sim.topology import Device, Link, Topology
from sim.trace.metrics import bottleneck, link_use

SLOW = "slow_link:src=GPU0,dst=NVS0,share=0.5"
LONG = ";".join(f"straggler:rank={rank % 8},late={rank + 1}us" for rank in range(60))


@pytest.fixture(scope="module")
def ring():
    return run("allreduce.ring", "dgx_a100", "64MiB", faults=[SLOW])


@pytest.fixture(scope="module")
def large():
    return run("allreduce.ring", "switch:ranks=1024", "64MiB")


@pytest.fixture(scope="module")
def step():
    return WORKLOADS["ddp"].run(build("switch:ranks=4,bandwidth=3GBps"), {})


def test_every_object_is_one_helpful_line(ring, large, step):
    grid = Grid(algorithms=["allreduce.ring"], machines=["switch:ranks=4"], sizes=["1KiB", "1MiB"], ranks=["2", "4"])
    winners = winner_map(row for some in results(grid.cells(), jobs=1) for row in some)
    parts = [ring, large, run(faults=LONG), ring.trace, ring.trace.schedule, ring.topology, ring.timing, ring.breakdown]
    parts += [ring.bottleneck, ring.critical_path[0], ring.work, Plan(), Plan(fault=LONG, capture="x" * 500)]
    parts += [Plan().prepare(), winners, step, ALGORITHMS["allreduce.ring"], COLLECTIVES["allreduce"], grid]
    parts += [WORKLOADS["ddp"], ring.trace.schedule.promise, World(ring.topology)]
    parts += [run_source("print('x' * 1000)", build("switch:ranks=2"), 2)]
    parts += [ALGORITHMS, MACHINES, FORMATS, COLLECTIVES, WORKLOADS, FAULTS]
    for part in parts:
        assert len(repr(part)) < 200, part
        assert "\n" not in repr(part)
        assert " object at " not in repr(part)
    assert repr(ring) == (
        f"<Run allreduce.ring on dgx_a100: 8 ranks, 64 MiB, 980.1 µs, busbw 119.8 GB/s, verified, with {SLOW}>"
    )
    assert repr(Plan(size="1MiB", ranks=4)) == (
        "Plan(algorithm='allreduce.ring', machine='dgx_a100', ranks=4, size='1MiB')"
    )
    assert eval(repr(Plan(size="1MiB", ranks=4))) == Plan(size="1MiB", ranks=4)


def test_the_bottleneck_and_the_critical_path_have_names(ring, large):
    use = ring.bottleneck
    assert (use.name, use.kind, repr(use)[:19]) == ("GPU0 -> NVS0", "NVL", "<Use GPU0 -> NVS0: ")
    assert tuple(use) == (use.link, ring.timing.link_bytes[use.link], ring.link_use[use.link])
    assert use == bottleneck(ring.trace)
    assert ring.topology.links[use.link] == Link(use.src, use.dst, use.bandwidth, 0.35e-6, "NVL", lanes=12)
    assert use.share == pytest.approx(link_use(ring.trace).max())
    for one in (ring, large):
        path = one.critical_path
        assert path[-1].end_s == pytest.approx(one.time)
        assert len(path) == len(one.breakdown.path)
        assert all(before.end_s <= after.start_s for before, after in pairwise(path))
        names = {device.name for device in one.topology.devices}
        assert {end for hop in path for end in (hop.src_device, hop.dst_device)} <= names
    still = run("barrier.dissemination", Topology("one", tuple(Device(f"GPU{i}", "GPU") for i in range(2)), (
        Link("GPU0", "GPU1", 1e9, 1e-6), Link("GPU1", "GPU0", 1e9, 1e-6))))  # fmt: skip
    assert still.bottleneck is None


def test_a_frame_has_every_transfer_by_name(ring):
    frame = ring.to_frame()
    assert len(frame) == ring.trace.schedule.transfers
    assert frame.end_s.max() == pytest.approx(ring.time)
    assert frame.bytes.sum() == pytest.approx(ring.trace.bytes.sum())
    assert set(frame.src_device) == {f"GPU{i}" for i in range(8)}
    assert set(frame.op) == {"reduce", "copy"}
    assert frame.step.max() == 14
    assert set(ring.to_frame(ranks=[3]).query("src != 3").dst) == {3}
    switched = run("allreduce.nvls", "dgx_h100", "1MiB").to_frame()
    assert "NVS0" in set(switched.dst_device)


def test_a_frame_of_a_large_run_has_the_representatives(large):
    assert not large.is_written_out
    frame, one = large.to_frame(), large.to_frame(ranks=[1000])
    assert set(large.representatives.tolist()) <= set(frame.src) | set(frame.dst)
    whole = run("allreduce.ring", "switch:ranks=1024", "64MiB", written_out=True).to_frame()
    own = whole[(whole.src == 1000) | (whole.dst == 1000)]
    assert len(one) == len(own)
    np.testing.assert_allclose(np.sort(one.end_s), np.sort(own.end_s), rtol=1e-9)
    with pytest.raises(ValueError, match=r"has ranks 0\.\.1023, not"):
        large.to_frame(ranks=[1024])


def test_a_plot_has_a_bar_for_every_transfer_and_returns_its_axes(ring, large):
    pytest.importorskip("ui.notebook")
    from matplotlib.figure import Figure

    for one, ranks in ((ring, [0, 1]), (large, [1]), (run("alltoall.linear", "switch:ranks=4"), [0, 1])):
        ax = Figure().subplots()
        assert one.plot(ax=ax, ranks=ranks) is ax
        assert len(ax.patches) == len(one.to_frame(ranks=ranks))
        assert ax.get_xlabel().startswith("time (")
    words = [label.get_text() for label in ring.plot(ax=Figure().subplots()).get_yticklabels()]
    assert words == [f"{rank} (GPU{rank})" for rank in range(8)]


def test_a_cell_shows_a_table_and_a_still(ring, step):
    pytest.importorskip("ui.notebook")
    for one, word in ((ring, "GPU0 -&gt; NVS0, full for"), (step, "exposed communication")):
        html = one._repr_html_()
        assert html.startswith("<table>")
        assert word in html
        assert "<img" in html or "<div" in html
    assert "&lt;b&gt;" in run(machine=build("dgx_a100").but(name="<b>"))._repr_html_()


def test_without_the_layer_that_draws_a_cell_shows_the_table_alone(ring, monkeypatch):
    monkeypatch.setattr("ops.cells.PICTURES", {})
    monkeypatch.setattr("ops.run.model.PICTURES", {})
    assert ring._repr_html_().endswith("</table>")
    with pytest.raises(ImportError, match=r"drawn by ui\.notebook, which is not loaded: import it"):
        ring.plot()


@pytest.mark.parametrize("package, call", [("pandas", "to_frame"), ("networkx", "to_networkx")])
def test_a_missing_package_is_named(package, call, ring, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=f"needs {package}: run `pip install {package}`"):
        getattr(ring if call == "to_frame" else ring.topology, call)()


def test_a_machine_is_a_graph():
    networkx = pytest.importorskip("networkx")
    machine = build("dgx_a100:hosts=2")
    graph = machine.to_networkx()
    assert isinstance(graph, networkx.MultiDiGraph)
    assert graph.number_of_nodes() == len(machine.devices)
    assert {facts["rank"]: name for name, facts in graph.nodes(data=True) if "rank" in facts} == {
        rank: machine.devices[device].name for rank, device in enumerate(machine.ranks)
    }
    for src, dst, facts in graph.edges(data=True):
        link = machine.links[facts["link"]]
        assert {src, dst} == {link.src, link.dst}
        assert (facts["bandwidth"], facts["latency"], facts["kind"]) == (link.bandwidth, link.latency, link.kind)
    assert graph.number_of_edges() == len(machine.links) + sum(link.both for link in machine.links)
    assert networkx.is_strongly_connected(graph)
