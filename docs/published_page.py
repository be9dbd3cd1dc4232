"""The page of published training steps: `python -m docs` writes it from what `accuracy --steps all -o` kept."""

from ops.measured.steps import PredictedRow, StepSource, judged, kept, sources
from sim.units import fmt_share

HEAD = """# Published training steps

<!-- made by `python -m docs` -->

Other people publish how fast they train: tokens, images or operations per second and GPU. Ringside cannot know how fast
a GPU multiplies, so one row gives that speed: in each group the row with the fewest GPUs. The speed is the TFLOP/s with
which the simulated step takes exactly what was published. All other rows of the group are predicted with it: what more
GPUs, hosts and micro-batches add. The error is the simulated time over the published one, less one.

`accuracy --steps SOURCE` simulates the rows of a source again, `accuracy --steps all` those of all; the rows below were
kept by `accuracy --steps all -o ops/measured/predicted_steps.json`. A source is a file in `ops/measured/steps/`, with
its set-up: machine, workload and parameters of every row.

| source | rows predicted | median error | largest error |
|---|---|---|---|
{sources}
"""
LIMITS = """## What the errors are made of

- One odd row of a group causes errors in all others: MPT 760m ran slower on 8 H100 than on 16, MPT 1b slower on 32
  A100 than on 64.
- Small models lose 5 to 10% from 128 to 512 GPUs, and the simulation 1%: it has no input pipeline, no optimizer,
  no garbage collection and no traffic of others. All of these matter more for a short step.
- Megatron's row of 1.7 billion parameters gives one speed for matrices of every width; wider ones multiply faster, so
  that large models are predicted too slow.
"""


def page() -> str:
    """Return the page in Markdown."""
    rows, every = kept(), sources()
    scored = judged(rows)
    heads = [
        f"| {every[name].title} | {score['rows']} | {fmt_share(score['median_error'], 1)} |"
        f" {fmt_share(score['largest_error'], 1)} |"
        for name, score in scored.items()
    ]
    parts = [HEAD.format(sources="\n".join(heads))]
    parts += [_source(name, source, rows) for name, source in every.items()]
    return "\n".join([*parts, LIMITS])


def _source(name: str, source: StepSource, rows: list[PredictedRow]) -> str:
    lines = [f"## {source.title}", "", f"`{name}`: {source.source}. {source.note}", ""]
    some = [row for row in rows if row.source == name]
    if some:
        lines += [f"| group | GPUs | published, {source.unit} | simulated | error |", "|---|---|---|---|---|"]
        lines += map(_row, some)
        lines.append("")
    lines += [f"- Not predicted: {left['rows']} rows, {left['what']}: {left['why']}." for left in source.outside]
    return "\n".join([*lines, ""]) if source.outside else "\n".join(lines)


def _row(row: PredictedRow) -> str:
    sign = "+" if row.error >= 0 else "−"
    error = "given" if row.reference else f"{sign}{fmt_share(abs(row.error), 1)}"
    return f"| {row.group} | {row.ranks} | {row.published:,g} | {row.predicted:,.5g} | {error} |"
