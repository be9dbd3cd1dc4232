"""Zero bubble: the gradients of weights wait until a stage would be idle."""

from collections.abc import Iterator

from ops.training.pipelines import BACKWARD, FORWARD, WEIGHTS, Turn, pipeline


@pipeline("zero_bubble", bubble=lambda stages, micros, _: (stages - 1) / (3 * micros + stages - 1), splits=True)
def zero_bubble(stage: int, stages: int, micros: int, chunks: int) -> Iterator[Turn]:
    """1F1B with weights' gradients apart, as many of them behind as there are stages before: ZB-H1.

    Qi et al. 2023, "Zero Bubble Pipeline Parallelism". Memory is that of 1F1B's first stage on every stage. With
    forward, backward and weights of one length the bubble is a third of 1F1B's.

    >>> " ".join(f"{turn.what}{turn.micro}" for turn in zero_bubble(1, 2, 3, 1))
    'F0 B0 F1 B1 W0 F2 B2 W1 W2'
    """
    ahead = min(micros, stages - 1 - stage)
    yield from (Turn(FORWARD, k) for k in range(ahead))
    for k in range(micros):
        if ahead + k < micros:
            yield Turn(FORWARD, ahead + k)
        yield Turn(BACKWARD, k)
        if k >= stage:
            yield Turn(WEIGHTS, k - stage)
    yield from (Turn(WEIGHTS, k) for k in range(max(0, micros - stage), micros))
