"""What the clock is worth, in words and a table: `python -m docs` writes all from what `accuracy` kept."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from ops.libraries.nccl.layers import HALVES, CostLayer, bands_kept, classes_kept, layers, unknown_layer
from ops.measured.accuracy import (
    BY_SYSTEM,
    OURS,
    cells,
    median_of_medians,
    published,
    share_inside,
    share_nearest,
    table_medians,
)
from sim.units import fmt_share

PAGE = Path(__file__).with_name("validation.md")
EXPECT = """**With its whole set-up left out of every fit**, a prediction is off by these medians (below and from 1 MiB
on; set-ups weigh the same). *Own numbers* adds the two numbers that `calibrate` fits to other rows of the same table.
*Inside* is the share of a set-up's rows that lie in the band, without and with own numbers; the band is said to hold
80%. Beside them stand NCCL's own tuner, a line of α and β fitted to other rows of the same table, and the cost model of
meta-pytorch/autoparallel, which answers for one host.

| class | set-ups | rows | left out | own numbers | inside | NCCL's tuner | α-β fit | autoparallel |
|---|---|---|---|---|---|---|---|---|
{classes}

`run`, `nccl-choice`, `validate` and `expected` print the band of each prediction. It depends on what the prediction
rests on: a calibration of the machine itself, tables of its network and GPUs, or other kinds alone. Each doubling of
the hosts beyond those measured widens it by a factor of {wider_large} from 1 MiB on and {wider_small} below. No band
is printed for an edited machine, another `--network`, faults, and NCCL variables that change more than the algorithm
and the protocol."""
TABLE = """Medians of absolute errors over all rows, below and from 1 MiB; *left out* is what the same rows come to
where the layer was fitted without that table, *unseen* where nothing of the layer is known. Times by system
(`times.csv`) are NVIDIA's for ai-dynamo/aiconfigurator: four collectives on 2, 4 and 8 GPUs, as far as there. `accuracy
FILE… --leave-out -o` computed these numbers, and `python -m docs` this part of the page.

| table | layer | rows | fitted | left out | unseen |
|---|---|---|---|---|---|
{rows}

By the number of GPUs, where a table has several, left out with all its other numbers:

| table | GPUs | rows | left out |
|---|---|---|---|
{ranks}

| layer | tables | unseen | four of five within |
|---|---|---|---|
{layers}

The median of the {tables} tables' medians is {left_large} from 1 MiB on and {left_small} below where they are left
out; on one host {host_large} and {host_small}. Of the {held_rows} rows left out {held} lie inside the band that is
said to hold 80%. Where a layer has several tables, its band is that of its rows left out. Where it has one, and where
the network between hosts is unknown, it is the expected error of one more unknown layer of its kind:
{unknown_gpus} below and from 1 MiB on one host, {unknown_nets} between hosts. So far
apart are set-ups of one and the same machine, too. GPUs older than all that were measured share the others' latencies
alone: NCCL's rates for them hold what copying takes, as the two tables of A40s show."""
PUBLISHED = """With nothing given by hand, the median of the medians of the {tables} published tables of nccl-tests is
{large} from 1 MiB on and {small} below ({rows} rows; of MI300X's 24 files, which repeat two columns, two count). Of the
{cells} cells of all published rows (a system, a number of GPUs, a collective, a half of the sizes) no other model is
nearer in {nearest}. All {system_rows} times by system that the layers were fitted to are {system_large} off from 1 MiB
on and {system_small} below (medians); {inside} of the rows lie inside the band that is said to hold 80%. `accuracy
FILE… -o ops/measured/published.json` computed these numbers, and prints them table by table with what it leaves out
and why."""


def page() -> str:
    """The page with both parts as the figures are now, between their marks in Markdown."""
    text, every = PAGE.read_text(encoding="utf-8"), layers()
    made = {
        "expect": EXPECT.format(**_expectations()),
        "tables": TABLE.format(**_tables(every)),
        "published": PUBLISHED.format(**_published()),
    }
    for name, part in made.items():
        before, _, rest = text.partition(f"<!-- {name} -->\n")
        _, _, after = rest.partition(f"\n<!-- end of {name} -->")
        text = f"{before}<!-- {name} -->\n{part}\n<!-- end of {name} -->{after}"
    return text


def _expectations() -> dict[str, str]:
    """A line for every class, and how the band widens."""
    wider = bands_kept()["a_doubling"]
    words = {
        f"wider_{key}": f"{math.exp(wider[half]):.2f}" for key, half in zip(("small", "large"), HALVES, strict=True)
    }
    return words | {"classes": "\n".join(map(_class, classes_kept().values()))}


def _class(one: dict[str, Any]) -> str:
    pairs = [[one[f"{key}_{half}"] for half in HALVES] for key in ("stock", "own")]
    inside = [one["inside"], one["own_inside"]]
    cells = [*pairs, inside, *one["others"].values()]
    words = [", ".join(map(_percent, pair)) if any(share is not None for share in pair) else "–" for pair in cells]
    return f"| {one['name']} | {one['tables']} | {one['rows']} | {' | '.join(words)} |"


def _published() -> dict[str, str]:
    """What the kept rows come to, in words."""
    scored = list(cells(published()))
    total = median_of_medians(table_medians(published()))["nccl-tests"]
    words = {"tables": str(total["tables"]), "rows": str(total["rows"]), "cells": str(len(scored))}
    shares = {"nearest": share_nearest(scored), "inside": share_inside(scored)}
    tenths = {"small": total["below_1MiB"], "large": total["from_1MiB"]}
    errors = [
        [e for run in published() if run.kind == BY_SYSTEM for e in run.errors(OURS, half)] for half in (False, True)
    ]
    tenths |= {f"system_{key}": median(map(abs, some)) for key, some in zip(("small", "large"), errors, strict=True)}
    words |= {"system_rows": str(sum(map(len, errors)))} | {key: _percent(share) for key, share in shares.items()}
    return words | {key: "–" if share is None else fmt_share(share, 1) for key, share in tenths.items()}


def _medians(pairs: Iterable[Sequence[float | None]]) -> tuple[str, str]:
    every = list(pairs)
    small, large = ([share for pair in every if (share := pair[half]) is not None] for half in (0, 1))
    return _percent(median(small) if small else None), _percent(median(large) if large else None)


def _tables(every: dict[str, dict[str, CostLayer]]) -> dict[str, str]:
    held = [
        entry
        for some in every.values()
        for layer in some.values()
        for entry in layer.errors.values()
        if entry["inside"] is not None
    ]
    rows = sum(entry["rows"] for entry in held)
    share = sum(entry["inside"] for entry in held) / rows if rows else None
    return {
        "rows": "\n".join(line for some in every.values() for layer in some.values() for line in _rows(layer)),
        "ranks": "\n".join(line for some in every.values() for layer in some.values() for line in _by_ranks(layer)),
        "layers": "\n".join(_layer(layer) for some in every.values() for layer in some.values() if layer.errors),
        "held_rows": str(rows),
        **_left_out(every),
        "unknown_gpus": _band(unknown_layer("generations").strays),
        "unknown_nets": _band(unknown_layer("networks").strays),
        "held": _percent(share),
    }


def _left_out(every: dict[str, dict[str, CostLayer]]) -> dict[str, str]:
    """How many tables there are, and the medians of their medians where they are left out, of all and on one host."""
    tables = {
        kind: [entry["left_out"] for layer in some.values() for entry in layer.errors.values()]
        for kind, some in every.items()
    }
    small, large = _medians([pair for pairs in tables.values() for pair in pairs])
    host_small, host_large = _medians(tables["generations"])
    return {
        "tables": str(sum(map(len, tables.values()))),
        "left_small": small,
        "left_large": large,
        "host_small": host_small,
        "host_large": host_large,
    }


def _rows(layer: CostLayer) -> Iterator[str]:
    for name, entry in layer.errors.items():
        pairs = " | ".join(_pair(entry[key]) for key in ("fitted", "left_out", "unseen"))
        yield f"| {_plain(name)} | {layer.name} | {entry['rows']} | {pairs} |"


def _by_ranks(layer: CostLayer) -> Iterator[str]:
    for name, entry in layer.errors.items():
        if len(entry["by_ranks"]) > 1:
            for ranks, part in entry["by_ranks"].items():
                yield f"| {_plain(name)} | {ranks} | {part['rows']} | {_pair(part['left_out'])} |"


def _plain(name: str) -> str:
    """A table's name without its number and ending."""
    return re.sub(r"^\d{1,4}-|\.txt$", "", name)


def _layer(layer: CostLayer) -> str:
    return f"| {layer.name} | {len(layer.errors)} | {_pair(layer.unseen)} | {_band(layer.strays)} |"


def _band(strays: Mapping[str, float]) -> str:
    """Within how much four of five rows lie, below and from 1 MiB."""
    return _pair([None if (stray := strays.get(half)) is None else math.expm1(stray) for half in HALVES])


def _pair(shares: Sequence[float | None]) -> str:
    return ", ".join(map(_percent, shares))


def _percent(share: float | None) -> str:
    return "–" if share is None else fmt_share(share)
