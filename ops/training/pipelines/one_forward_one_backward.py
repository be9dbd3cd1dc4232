"""1F1B: forward and backward passes take turns."""

from collections.abc import Iterator

from ops.training.pipelines import Turn, in_turns, pipeline


@pipeline("1f1b", bubble=lambda stages, micros, _: (stages - 1) / (micros + stages - 1))
def one_forward_one_backward(stage: int, stages: int, micros: int, chunks: int) -> Iterator[Turn]:
    """As many forward passes as there are stages behind, then a forward and a backward pass in turns.

    Narayanan et al. 2019, PipeDream-Flush.

    >>> " ".join(f"{turn.what}{turn.micro}" for turn in one_forward_one_backward(0, 2, 3, 1))
    'F0 F1 B0 F2 B1 B2'
    """
    yield from in_turns(Turn, min(micros, stages - 1 - stage), micros)
