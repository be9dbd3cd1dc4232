"""GPipe: all forward passes, then all backward passes."""

from collections.abc import Iterator

from ops.training.pipelines import BACKWARD, FORWARD, Turn, pipeline


@pipeline("gpipe", bubble=lambda stages, micros, _: (stages - 1) / (micros + stages - 1))
def gpipe(stage: int, stages: int, micros: int, chunks: int) -> Iterator[Turn]:
    """All forward passes, then all backward passes in reverse (Huang et al. 2019)."""
    yield from (Turn(FORWARD, k) for k in range(micros))
    yield from (Turn(BACKWARD, k) for k in reversed(range(micros)))
