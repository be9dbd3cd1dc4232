"""`expected --gate` on ten healthy tables, and on them with half the NICs, a slow rank or NICs on one socket."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from cli import main
from ops.libraries.nccl.own.numbers import calibrated
from ops.measured.accuracy import published
from ops.measured.comparison import compare_table
from ops.measured.files import place, read_file
from ops.measured.own.gate import gate
from ops.measured.rows import Measured, Table
from ops.plan import Plan
from sim.faults.edits import edited
from sim.machines import build
from sim.topology import Topology
from tests.tables import each_row

DATA = Path(__file__).parents[2] / "data" / "nccl-tests"
NUMBERS = {
    "gcp-a3-ultra-2n-allgather": "hop_19.55us,share_0.8459,hosts_2",
    "aws-p5-2n-allreduce": "hop_25.03us,share_0.9473,hosts_2",
    "azure-ndv4-2n-ib-allreduce": "hop_1.92us,share_0.9019,hosts_2",
    "alps-gh200-2n-slingshot-allreduce": "hop_3.276us,share_0.8733,hosts_2",
    "dgxa100-2n-ring-allreduce": "hop_2.503us,share_0.93,hosts_2",
    "oci-a100-2n-allreduce": "share_0.949,hosts_2",
    "oci-mi300x-2n-allreduce": "share_0.9019,hosts_2",
    "gcp-a4-b200-2n-allreduce": "share_0.9293,hosts_2",
    "nebius-h100-2n-ib-allreduce": "hop_2.694us,share_0.949,hosts_2",
    "201-aws-p5-2n-4n-8n-efa": "share_0.8441,hosts_4",
}
"""The first ten tables, by the names of their files, whose hosts have a NIC over RDMA for each of several GPUs.

Beside them what `calibrate` fits to each. NICs that TCP or their number makes slower than what crosses between sockets
(A3 High and Mega, p4d) take as long wherever they are.
"""
ROWS = 10
"""Sizes of each half that are looked at, at most: with six, too few of p5's are as large as half its NICs slow down."""


@cache
def healthy(name: str) -> tuple[Topology, Table]:
    if (path := DATA / f"{name}.txt").exists():
        machine, table, _ = place(read_file(path)[0])
        return machine, table
    run = next(run for run in published() if run.system == name)
    pairs = list(zip(run.sizes, run.measured, strict=True))
    few = [pair for half in (False, True) for pair in spread([p for p in pairs if (p[0] >= 1 << 20) is half])]
    rows = tuple(Measured(run.collective, run.ranks, size, time, line=k + 1) for k, (size, time) in enumerate(few))
    forced = {"algorithm": "ring"} if "ring" in name else {}
    return build(run.machine), Table(f"{name}.txt", "nccl-tests", rows, run.ranks, forced=forced)


def spread(pairs):
    return pairs[:: max(1, -(-len(pairs) // ROWS))]


def half_the_nics(machine: Topology) -> list[str]:
    to = {link.src: link.dst for link in machine.links if link.kind == "NET"}
    nics = [device.name for device in machine.devices if device.kind == "NIC"]
    return [f"cut_cable:src={nic},dst={to[nic]}" for nic in nics[1::2]]


def nics_on_one_socket(machine: Topology) -> list[str]:
    """The NICs of every host behind a switch of its first NUMA node: its other GPUs reach them across the sockets."""
    up = {link.src: link.dst for link in machine.links if link.kind == "PCI"}
    nics = [device for device in machine.devices if device.kind == "NIC"]
    goal = {nic.host: up[nic.name] for nic in reversed(nics)}
    numa = {nic.host: nic.numa for nic in reversed(nics)}
    return [f"move_device:device={nic.name},to={goal[nic.host]}" for nic in nics if nic.numa != numa[nic.host]]


def degraded(name: str, machine: Topology, fault: str = "") -> Table:
    """The healthy table, every time as many times as long as the degraded machine takes longer."""
    usual, table = healthy(name)
    before = compare_table(usual, table)[0]
    settings = "algorithm=Ring" if "ring" in name else ""
    rows = []
    for row, fine in zip(table.rows, before, strict=True):
        plan = Plan(f"nccl.{row.collective}", size=str(max(row.size, 4096)), ranks=row.ranks, settings=settings)
        alone = plan.prepare(usual).run().time
        rows.append(replace(row, seconds=row.seconds * replace(plan, fault=fault).prepare(machine).run().time / alone))
        assert fine.measured == row.seconds
    return replace(table, rows=tuple(rows))


@pytest.mark.slow
@each_row("name", NUMBERS, days=5)
def test_healthy_tables_pass_and_degraded_ones_fail(name):
    machine, table = healthy(name)
    own = calibrated(machine, NUMBERS[name])
    assert not gate([(own, table)]).failed
    assert gate([(own, degraded(name, edited(machine, half_the_nics(machine))))]).failed
    assert gate([(own, degraded(name, edited(machine, nics_on_one_socket(machine))))]).failed
    slow = degraded(name, machine, "straggler:rank=3,slower=4")
    found = gate([(own, slow)])
    assert found.failed
    assert all(one.row.measured > one.most for one in found.failed)


def test_the_terminal_lists_rows_below_the_band_and_exits_with_1(tmp_path, capsys):
    _, table = healthy("oci-a100-2n-allreduce")
    asked = ["expected", "dgx_a100", "--hosts", "2", "--calibration", NUMBERS["oci-a100-2n-allreduce"]]
    for times, status in ((1.0, 0), (2.0, 1)):
        path = tmp_path / f"{status}.txt"
        lines = [
            f"{row.size} {row.size // 4} float sum -1 {row.seconds * times * 1e6:.1f} "
            f"{row.size / row.seconds / times / 1e9:.2f} {row.size / row.seconds / times / 1e9 * 1.875:.2f} 0"
            for row in table.rows
        ]
        path.write_text("# size count type redop root time algbw busbw #wrong\n" + "\n".join(lines) + "\n")
        assert main([*asked, "--gate", str(path)]) == status
        said = capsys.readouterr().out
        assert said.startswith("fails: 4 of 4 rows" if status else "passes: 0 of 4 rows")
        assert said.count("the band ends at") == (4 if status else 0)
