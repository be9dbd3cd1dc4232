"""`winners`: the fastest algorithm for every size and number of ranks."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.errors import InputError
from terminal import DONE, Answer, argument, command
from terminal.lab import AXES, FIGURE, JOBS, SIZES, draw, figure_ending, grid, jobs, rows, table

if TYPE_CHECKING:
    from ops.lab.grid import Grid
    from ops.lab.winners import Change, WinnerMap


@command(
    *AXES,
    argument("--table", metavar="TABLE.parquet", help="instead: rows that `sweep` found"),
    argument("--grid-only", action="store_true", help="leave out the exact sizes at which the winner changes"),
    JOBS,
    FIGURE,
)
def winners(given: argparse.Namespace) -> Answer:
    """Map which algorithm is fastest at which size on how many ranks, and where exactly that changes."""
    from ops.lab.winners import winner_map

    figure_ending(given.output)
    asked = None if given.table else _asked(given)
    found = winner_map(_kept(given) if asked is None else rows(asked, jobs(given)))
    exact = {} if asked is None or given.grid_only else _exact(asked, found)
    name = given.table or ", ".join([*given.machine, *given.topology])
    draw(given.output, lambda charts: charts.winners(found, f"{name}: the fastest, and how much longer the next takes"))
    return Answer(DONE, _told(found, exact, name), _text(found, exact, name))


def _asked(given: argparse.Namespace) -> "Grid":
    """The grid; without `--ranks`, powers of two up to the machine's own where one machine is all there is."""
    whole = grid(given, sizes=SIZES)
    if given.ranks or len(whole.machines) != 1 or whole.vary:
        return whole
    n = _topology(whole, whole.machines[0]).n
    return grid(
        given, sizes=SIZES, ranks=[str(k) for k in sorted({n, *(2**e for e in range(1, n.bit_length()))}) if k <= n]
    )


def _topology(asked: "Grid", machine: str) -> Any:
    from sim.formats import read_topology
    from sim.machines import build

    return read_topology(asked.texts[machine], machine) if machine in asked.texts else build(machine)


def _kept(given: argparse.Namespace) -> list[dict[str, Any]]:
    from ops.lab.journal import SCHEMA, read_table

    if given.algorithms or given.machine or given.topology or given.sizes or given.ranks:
        raise InputError(f"{given.table} has its own algorithms, machines, sizes and ranks: leave those out")
    found: list[dict[str, Any]] = read_table(Path(given.table)).select(SCHEMA.names).to_pylist()
    if not found:
        raise InputError(f"{given.table} has no rows: sweep something into it")
    return found


def _exact(asked: "Grid", found: "WinnerMap") -> "dict[int, list[Change]]":
    """For every number of ranks the exact sizes at which the winner changes."""
    from ops import ALGORITHMS
    from ops.lab.winners import changes
    from ops.work import registered
    from sim.parameters import parse_spec

    machine_of = {}
    for cell in asked.cells():
        machine_of[cell.ranks or _topology(asked, cell.machine).n] = cell.machine
    exact = {}
    for r, n in enumerate(found.ranks):
        there = _topology(asked, machine_of[n])
        able = [name for a, name in enumerate(found.names) if found.time[r, :, a].min() < float("inf")]
        works = {}
        for name in able:
            entry, settings = parse_spec(name)
            works[name] = registered(ALGORITHMS[entry], n, topology=there, given=settings)
        exact[n] = changes(there, works, found.sizes) if len(found.sizes) > 1 else []
    return exact


def _told(found: "WinnerMap", exact: "dict[int, list[Change]]", name: str) -> dict[str, Any]:
    return {
        "machine": name,
        "sizes_bytes": list(found.sizes),
        "ranks": list(found.ranks),
        "algorithms": list(found.names),
        "winners": [[found.winner(n, size) or None for size in found.sizes] for n in found.ranks],
        "times_s": [
            {name: _finite(found.time[r, :, a]) for a, name in enumerate(found.names)} for r in range(len(found.ranks))
        ],
        "changes": [
            {"ranks": n, "size_bytes": change.size, "before": change.before, "after": change.after}
            for n, several in exact.items()
            for change in several
        ],
        "failed": [{"ranks": n, "algorithm": name, "reason": why} for (n, name), why in found.reasons.items()],
    }


def _finite(times: Any) -> list[float | None]:
    return [float(t) if t < float("inf") else None for t in times]


def _text(found: "WinnerMap", exact: "dict[int, list[Change]]", name: str) -> str:
    from sim.units import fmt_size

    number = {winner: f"{k + 1}" for k, winner in enumerate(found.winners)}
    head = ["ranks", *(fmt_size(size).replace(" ", "") for size in found.sizes)]
    body = [[str(n), *(number.get(found.winner(n, size), "-") for size in found.sizes)] for n in found.ranks]
    lines = [f"{name}: the fastest of {len(found.names)} algorithms", *(f"  {line}" for line in table([head, *body]))]
    lines += [f"  {k:>2}  {winner}" for winner, k in number.items()]
    for n, several in exact.items():
        first = found.winner(n, found.sizes[0])
        told = [first, *(f"from {fmt_size(change.size)} on {change.after}" for change in several)]
        lines.append(f"{n} ranks: {', '.join(told)}" if first else f"{n} ranks: no algorithm can do it")
    return "\n".join(lines)
