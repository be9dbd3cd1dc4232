"""Edits of a machine: what they change and leave, what they refuse, and what they cost a run."""

import json

import pytest

import cli
from ops.plan import Plan
from ops.plan.link import from_link, to_link
from sim.errors import InputError
from sim.faults.edits import EDITS, MOST, differences, edited
from sim.formats import read_topology, write_topology
from sim.machines import build
from sim.topology.path_classes import describe
from terminal import BAD_INPUT, DONE
from tests.tables import each_row

SWITCH = build("switch:ranks=4,bandwidth=1GBps,latency=1us")
SOCKETS = build("dual_socket_pcie:gpus=4")


def test_a_link_has_other_rates_in_one_direction_or_both():
    both = edited(SWITCH, ["set_link:src=GPU0,dst=SW,bandwidth=2GBps"])
    assert [(link.src, link.dst) for link in both.links if link.bandwidth == 2e9] == [("GPU0", "SW"), ("SW", "GPU0")]
    up = edited(SWITCH, ["set_link:src=GPU0,dst=SW,latency=9us,both=no"])
    assert [(link.src, link.dst) for link in up.links if link.latency == 9e-6] == [("GPU0", "SW")]
    assert differences(SWITCH, up) == ["GPU0 -> SW: 9 µs, not 1 µs"]
    assert differences(up, both) == ["GPU0 -> SW: 2 GB/s, 1 µs, not 1 GB/s, 9 µs", "SW -> GPU0: 2 GB/s, not 1 GB/s"]
    again = edited(SWITCH, ["set_link:src=GPU0,dst=SW,times=2", "set_link:src=SW,dst=GPU0,times=0.25"])
    assert again.path("GPU0", "SW")[0].bandwidth == 0.5e9
    shared = edited(build("numa"), ["set_link:src=MEM0,dst=CPU0,times=0.5,both=no"])  # one link for both directions
    assert len(differences(build("numa"), shared)) == 1


def test_a_kind_of_link_changes_everywhere_and_routes_stay():
    torus = build("torus:dims=3x3")
    kind = torus.links[0].kind
    wider = edited(torus, [f"set_class:kind={kind},bandwidth=90GBps"])
    assert {link.bandwidth for link in wider.links} == {90e9}
    assert wider.path("GPU0", "GPU8") == tuple(
        wider.links[torus.links.index(link)] for link in torus.path("GPU0", "GPU8")
    )


def test_what_crossed_a_cable_that_is_cut_goes_another_way_and_a_new_one_is_taken():
    ring = build("ring:ranks=4")
    cut = edited(ring, ["cut_cable:src=GPU0,dst=GPU1"])
    assert [link.dst for link in cut.path("GPU0", "GPU1")] == ["GPU3", "GPU2", "GPU1"]
    joined = edited(SOCKETS, ["add_cable:src=GPU1,dst=GPU2,bandwidth=100GBps"])
    assert [(link.src, link.dst, link.bandwidth) for link in joined.path("GPU1", "GPU2")] == [("GPU1", "GPU2", 100e9)]
    numa = build("numa")
    bridged = edited(numa, ["add_cable:src=GPU0,dst=GPU1"])
    assert [describe(machine)["pairs"]["GPU0"]["GPU1"] for machine in (numa, bridged)] == ["PIX", "NV1"]
    with pytest.raises(InputError, match="GPU0"):
        edited(SWITCH, ["cut_cable:src=GPU0,dst=SW"]).path("GPU0", "GPU1")


def test_a_device_hangs_elsewhere_with_its_domain():
    moved = edited(SOCKETS, [MOVE])
    before, after = SOCKETS.path("GPU0", "GPU3"), moved.path("GPU0", "GPU3")
    assert len(after) < len(before)
    assert moved.devices[moved.index["GPU0"]].numa == SOCKETS.devices[SOCKETS.index["GPU3"]].numa
    assert differences(SOCKETS, moved) == [
        "GPU0: NUMA 1 of host 0, not 0 of 0",
        "GPU0 - PCI0: cut, it had 24 GB/s, 250 ns",
        "GPU0 - PCI1: a new cable of 24 GB/s, 250 ns",
    ]


def test_a_nic_on_another_rail_stays_in_its_host():
    hosts = build("dgx_a100:hosts=2")
    moved = edited(hosts, ["move_device:device=H0.NIC0,to=RAIL1"])
    assert moved.devices == hosts.devices
    assert [link.dst for link in moved.path("H0.NIC0", "H1.NIC1")] == ["RAIL1", "H1.NIC1"]


MOVE = f"move_device:device=GPU0,to={SOCKETS.path('GPU3', 'GPU2')[0].dst}"


@each_row(
    "spec, says",
    [
        ("set_link:src=GPU0,dst=GPU9,times=2", "no device called 'GPU9'"),
        ("set_link:src=GPU0,dst=GPU1,times=2", "no link GPU0 -> GPU1"),
        ("set_link:src=GPU0,dst=SW", "changes nothing"),
        ("set_link:src=GPU0,dst=SW,times=0", "times=0 is not between"),
        ("set_link:src=GPU0,dst=SW,times=nan", "times"),
        ("set_link:src=GPU0", "needs dst"),
        ("set_link:src=GPU0,dst=SW,bandwidth=1000000TBps,times=10", "would carry 1e+19 B/s"),
        ("set_link:src=GPU0,dst=SW,bandwidth=1Bps,times=0.5", "would carry 0.5 B/s"),
        ("set_class:kind=PCI,times=2", "no link of kind PCI"),
        ("cut_cable:src=GPU0,dst=GPU0", "no link GPU0 -> GPU0"),
        ("add_cable:src=GPU0,dst=GPU0", "is useless"),
        ("move_device:device=GPU0,to=SW", "is attached to SW already"),
        ("move_device:device=SW,to=SW", "SW is a NVS: choose one of kind GPU, NIC"),
        ("move_device:device=GPU0,to=GPU1", "GPU1 is a GPU: choose one of kind PCI, NVS, CPU, NET"),
        ("paint:device=GPU0", "no edit is called 'paint'"),
    ],
)
def test_what_cannot_be_made_is_told(spec, says, capsys):
    line = ["topology", "--machine", "switch:ranks=4", "--edit", spec]
    assert cli.main(line) == BAD_INPUT
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert says in err


@pytest.mark.parametrize("name", EDITS)
def test_every_edit_is_listed_and_changes_what_it_says(name):
    spec = MOVE if name == "move_device" else EDITS[name].first_look(SOCKETS)
    changed = edited(SOCKETS, [spec])
    assert EDITS.summary(name)
    assert differences(SOCKETS, changed)
    assert differences(changed, changed) == []
    assert changed.name.endswith("edited")


def test_an_edited_machine_is_a_link_and_a_file():
    edits = "set_link:src=GPU0,dst=SW,times=0.5;add_cable:src=GPU0,dst=GPU2,bandwidth=5GBps"
    plan = Plan(machine="switch:ranks=4", edits=edits, size="1MiB")
    assert from_link(to_link(plan)) == plan
    machine = plan.topology()
    again = read_topology(write_topology(machine, "ringside_yaml"), "edited.yaml")
    assert again.links == machine.links
    assert [link.dst for link in again.path("GPU0", "GPU2")] == ["GPU2"]
    assert plan.differences() == ["GPU0 - SW: 12.5 GB/s, not 25 GB/s", "GPU0 - GPU2: a new cable of 5 GB/s, 1 µs"]
    plain = Plan(machine="switch:ranks=4", size="1MiB").run().trace.time
    assert plan.run().trace.time > plain
    assert plan.changed({"edits": ""}).run().trace.time == plain
    assert plan.changed({"machine": "switch:ranks=8"}).edits == ""


def test_the_terminal_runs_and_lists_edits(capsys):
    line = ["run", "allreduce.ring", "--machine", "switch:ranks=4", "--size", "1MiB", "--json"]
    times = []
    for more in ([], ["--edit", "set_class:kind=NVL,times=0.5"]):
        assert cli.main([*line, *more]) == DONE
        times.append(json.loads(capsys.readouterr().out)["time_s"])
    assert 1.5 < times[1] / times[0] < 2
    assert cli.main(["list", "edits", "--json"]) == DONE
    assert {entry["name"] for entry in json.loads(capsys.readouterr().out)["edits"]} == set(EDITS)
    assert (
        cli.main(["topology", "--machine", "ring:ranks=4", "--edit", "cut_cable:src=GPU0,dst=GPU1", "--json"]) == DONE
    )
    assert json.loads(capsys.readouterr().out)["differs"] == ["GPU0 - GPU1: cut, it had 25 GB/s, 1 µs"]


def test_a_machine_has_so_many_edits_and_no_more():
    edits = ["set_link:src=GPU0,dst=SW,times=2", "set_link:src=GPU0,dst=SW,times=0.5"] * (MOST // 2)
    assert differences(SWITCH, edited(SWITCH, edits)) == []
    with pytest.raises(InputError, match=f"{MOST + 1} edits of one machine are more than {MOST}"):
        edited(SWITCH, [*edits, edits[0]])


def test_two_ranks_change_places():
    before = build("ring:ranks=6")
    after = edited(before, ["swap_ranks:rank=1,other=4"])
    assert [after.devices[place].name for place in after.ranks] == ["GPU0", "GPU4", "GPU2", "GPU3", "GPU1", "GPU5"]
    assert differences(before, after) == ["ranks: rank 1 is GPU4, rank 4 is GPU1"]
    assert edited(after, ["swap_ranks:rank=4,other=1"]).ranks == before.ranks
    for spec, says in (("rank=1,other=1", "1 and 1 are one rank"), ("rank=0,other=6", "6 is no rank of ring:ranks=6")):
        with pytest.raises(InputError, match=says):
            edited(before, [f"swap_ranks:{spec}"])


def test_what_needs_two_places_alone_is_asked_by_dragging_one_onto_the_other():
    drags = {name: kind.drag for name, kind in EDITS.items() if kind.drag}
    assert {name: drag.spec for name, drag in drags.items()} == {
        "add_cable": "add_cable:src={from},dst={to}",
        "move_device": "move_device:device={from},to={to}",
        "swap_ranks": "swap_ranks:rank={from},other={to}",
    }
    assert (drags["swap_ranks"].on, drags["move_device"].on) == (("rank",), ("GPU", "NIC"))
    assert "PCI" in drags["move_device"].to
    assert "GPU" not in drags["move_device"].to
