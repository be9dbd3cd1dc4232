"""Interleaved 1F1B: every stage holds several chunks, so that a pipeline fills in shorter steps."""

from collections.abc import Iterator

from ops.training.pipelines import FORWARD, Turn, in_turns, pipeline
from sim.errors import InputError


@pipeline(
    "interleaved", bubble=lambda stages, micros, chunks: (stages - 1) / (micros * chunks + stages - 1), chunks=True
)
def interleaved(stage: int, stages: int, micros: int, chunks: int) -> Iterator[Turn]:
    """1F1B over chunks of every stage: as many micro-batches as stages pass each chunk before the next.

    Narayanan et al. 2021, section 2.2. Raises InputError unless `stages` divides `micros`.

    >>> " ".join(f"{turn.what}{turn.micro}.{turn.chunk}" for turn in interleaved(1, 2, 2, 2))
    'F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 B0.0 B1.0'
    """
    if micros % stages:
        raise InputError("pipeline.rounds", micros=micros, stages=stages)
    count, round_ = micros * chunks, stages * chunks

    def turn(what: str, i: int) -> Turn:
        chunk = i % round_ // stages
        return Turn(what, i // round_ * stages + i % stages, chunk if what == FORWARD else chunks - 1 - chunk)

    ahead = min(count, 2 * (stages - 1 - stage) + (chunks - 1) * stages)
    yield from in_turns(turn, ahead, count)
