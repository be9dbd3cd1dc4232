"""`expected`: what a machine should reach, and whether a measured table does."""

from collections.abc import Callable, Sequence
from typing import Any

import click

from ops.expected import SIZES, USUAL, ExpectedRow, rows_of, with_hosts
from ops.lab.grid import sizes_of, split
from ops.libraries.nccl.own.numbers import calibrated
from ops.measured.files import place, read_all
from ops.measured.own.gate import GatedRow, GateVerdict, gate
from ops.plan import Plan
from sim.errors import InputError
from sim.machines import MACHINES
from sim.parameters import parse_spec
from sim.units import fmt_size, fmt_time
from terminal import DONE, NO, Answer, command
from terminal.shared import expected_text
from terminal.shared.options import CALIBRATION, NETWORK, RANKS, is_file, names_of, read, takes
from terminal.shared.types import WHOLE

FORMATS: dict[str, Callable[[Sequence[ExpectedRow]], str]] = {
    "table": expected_text.table,
    "csv": expected_text.csv,
    "nccl-tests": expected_text.nccl_tests,
    "prometheus": expected_text.prometheus,
}
MACHINE = (CALIBRATION, *NETWORK, *RANKS)


@command
@click.argument("machine", metavar="MACHINE|FILE")
@takes(*MACHINE)
@click.option("--hosts", "--nodes", "hosts", type=WHOLE, default=0, metavar="N", help="hosts of the machine")
@click.option(
    "--collective",
    "collectives",
    multiple=True,
    metavar="NAME",
    help=f"repeatable; {', '.join(USUAL)} if left out",
)
@click.option("--sizes", default=SIZES, metavar="SIZE,…", help=f"sizes, or a range; {SIZES} if left out")
@click.option(
    "--format", "name", type=click.Choice([*FORMATS]), default="table", help="how rows are printed; --json is JSON"
)
@click.option(
    "--gate",
    "tables",
    multiple=True,
    metavar="TABLE",
    help="judge a measured table; exit 1 if too many rows are slow",
)
def expected(
    machine: str, hosts: int, collectives: tuple[str, ...], sizes: str, name: str, tables: tuple[str, ...], **words: Any
) -> Answer:
    """Show what a machine should reach: time, bandwidth, error band, lower bound and limiting link.

    With --gate, a table of nccl-tests is held against the band instead. One of ten rows of a healthy
    machine is below the band; the answer is no if more rows are than one of twenty healthy tables has, below or from
    1 MiB.
    """
    plan = _plan(machine, hosts, words)
    if tables:
        return _gated(plan, tables)
    rows = rows_of(plan, plan.topology(), collectives or USUAL, sizes_of(split(sizes)))
    data = {
        "machine": plan.topology().name,
        "calibration": plan.calibration or None,
        "rows": [row.as_dict() for row in rows],
    }
    return Answer(DONE, data, FORMATS[name](rows))


def _plan(machine: str, hosts: int, words: dict[str, Any]) -> Plan:
    own = {key: words[key] for key in names_of(MACHINE)}
    if is_file(machine) and parse_spec(machine)[0] not in MACHINES:
        if hosts:
            raise InputError("expected.file_hosts", file=machine)
        return read({**own, "topology": machine})
    return read({**own, "machine": with_hosts(machine, hosts) if hosts else machine})


def _gated(plan: Plan, files: Sequence[str]) -> Answer:
    placed = []
    for table in read_all(files)[0]:
        machine = plan.topology() if plan.capture or plan.network else plan.machine
        topology, own, _ = place(table, machine, plan.ranks)
        placed.append((calibrated(topology, plan.calibration) if plan.calibration else topology, own))
    gated = gate(placed)
    if not gated.rows:
        raise InputError("expected.no_band", machine=placed[0][0].name)
    data = {
        "machine": placed[0][0].name,
        "calibration": plan.calibration or None,
        "rows": len(gated.rows),
        "below_band": sum(one.is_below for one in gated.rows),
        "passes": not gated.failed,
        "failed": [_gated_row(one) for one in gated.failed],
    }
    return Answer(NO if gated.failed else DONE, data, _gate_text(data, gated))


def _gated_row(one: GatedRow) -> dict[str, Any]:
    row = one.row
    return {
        "source": row.source,
        "line": row.line,
        "collective": row.collective,
        "ranks": row.ranks,
        "size_bytes": row.size,
        "measured_s": row.measured,
        "expected_s": row.simulated,
        "most_s": one.most,
        "band": one.band,
    }


def _gate_text(data: dict[str, Any], gated: GateVerdict) -> str:
    said = f"{data['below_band']} of {data['rows']} rows are below the band of {data['machine']}"
    lines = [f"{'passes' if data['passes'] else 'fails'}: {said}"]
    for one in gated.failed:
        row, times = one.row, one.row.measured / one.row.simulated
        lines.append(
            f"  {row.source}, line {row.line}: {row.collective} {fmt_size(row.size)} took {fmt_time(row.measured)},"
            f" {times:.2f} times the expected {fmt_time(row.simulated)}; the band ends at {fmt_time(one.most)}"
        )
    return "\n".join(lines)
