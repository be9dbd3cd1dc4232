"""Losses over features of all ranks, their gradients on ranks that see only their share, and on one device.

Every rank computes the part of the mean loss that its own rows contribute. `Features` are indexed
`[rank, sample, dimension]`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ops.training.losses import numbers
from ops.training.losses.numbers import Array

SCALE = 1 / 0.07
"""CLIP's initial temperature (Radford et al. 2021)."""
GRADIENTS = ("none", "own", "allreduce", "reduce_scatter")
"""What the backward pass of a gather gives: nothing (plain `all_gather`), the own block's own part, or all of it."""


class Case(NamedTuple):
    """Features of both towers, or features and class weights; labels for classes."""

    first: Array
    second: Array
    labels: np.ndarray


def _softmax_error(logits: Array, labels: np.ndarray) -> Array:
    """Gradient of the summed cross entropy by the logits."""
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    error = shifted / shifted.sum(axis=1, keepdims=True)
    error[np.arange(len(labels)), labels] -= 1.0
    return np.asarray(error, np.float64)


def one_device(loss: str, case: Case) -> tuple[Array, Array]:
    """The gradients of the whole batch by both arrays, computed at once."""
    first, second = (x.reshape(-1, x.shape[-1]) for x in (case.first, case.second))
    if loss == "faces":
        error = SCALE * _softmax_error(SCALE * first @ second.T, case.labels) / len(first)
        return (error @ second).reshape(case.first.shape), (error.T @ first).reshape(case.second.shape)
    labels = np.arange(len(first))
    sides = 1 if loss == "infonce" else 2
    error = SCALE * _softmax_error(SCALE * first @ second.T, labels) / len(first) / sides
    if sides == 2:
        error = error + SCALE * _softmax_error(SCALE * second @ first.T, labels).T / len(first) / sides
    return (error @ second).reshape(case.first.shape), (error.T @ first).reshape(case.second.shape)


def on_ranks(loss: str, case: Case, gradient: str) -> tuple[Array, Array]:
    """The same gradients as the ranks get them, what moves between them carried by the schedules."""
    return _classes(case, gradient) if loss == "faces" else _pairs(loss, case, gradient)


def _pairs(loss: str, case: Case, gradient: str) -> tuple[Array, Array]:
    n, b, d = case.first.shape
    texts = numbers.allgather(case.second).reshape(n, n * b, d)
    sides = 1 if loss == "infonce" else 2
    labels = np.arange(n * b).reshape(n, b)
    own_first, own_second = np.zeros_like(case.first), np.zeros_like(case.second)
    to_texts, to_images = np.zeros((n, n, b, d)), np.zeros((n, n, b, d))
    images = numbers.allgather(case.first).reshape(n, n * b, d) if sides == 2 else texts
    for r in range(n):
        error = SCALE * _softmax_error(SCALE * case.first[r] @ texts[r].T, labels[r]) / (n * b) / sides
        own_first[r] = error @ texts[r]
        to_texts[r] = (error.T @ case.first[r]).reshape(n, b, d)
        if sides == 2:
            error = SCALE * _softmax_error(SCALE * case.second[r] @ images[r].T, labels[r]) / (n * b) / sides
            own_second[r] = error @ images[r]
            to_images[r] = (error.T @ case.second[r]).reshape(n, b, d)
    back = BACKWARD[gradient]
    return own_first + (back(to_images) if sides == 2 else 0.0), own_second + back(to_texts)


def _classes(case: Case, gradient: str) -> tuple[Array, Array]:
    """Class weights stay on their ranks; the softmax runs over all of them by two small allreduces."""
    n, b, d = case.first.shape
    gathered = numbers.allgather(case.first).reshape(n, n * b, d)
    logits = SCALE * gathered @ case.second.transpose(0, 2, 1)
    top = numbers.allgather(logits.max(axis=2)).max(axis=1)
    shifted = np.exp(logits - top[:, :, None])
    total = numbers.allreduce(shifted.sum(axis=2))
    error = shifted / total[:, :, None]
    classes = case.second.shape[1]
    for row, label in enumerate(case.labels):
        error[label // classes, row, label % classes] -= 1
    error *= SCALE / (n * b)
    to_features = (error @ case.second).reshape(n, n, b, d)
    return BACKWARD[gradient](to_features), error.transpose(0, 2, 1) @ gathered


def _own(gradients: Array) -> Array:
    return gradients[np.arange(len(gradients)), np.arange(len(gradients))]


BACKWARD: dict[str, Callable[[Array], Array]] = {
    "none": lambda gradients: np.zeros_like(gradients[:, 0]),
    "own": _own,
    "allreduce": lambda gradients: _own(numbers.allreduce(gradients)),
    "reduce_scatter": numbers.reduce_scatter,
}
"""From `gradients[rank, owner]` by the gathered features to every owner's own."""


def example(loss: str, n: int, batch: int, features: int, classes: int, seed: int = 0) -> Case:
    """Random features of length one, the same for the same seed."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(n, batch, features))
    second = rng.normal(size=(n, classes if loss == "faces" else batch, features))
    first, second = (x / np.linalg.norm(x, axis=2, keepdims=True) for x in (first, second))
    return Case(first, second, rng.integers(0, n * classes, n * batch))


def error(loss: str, case: Case, gradient: str) -> float:
    """The largest difference to one device's gradients, relative to the largest of them."""
    pairs = list(zip(on_ranks(loss, case, gradient), one_device(loss, case), strict=True))
    scale = max(float(np.abs(due).max()) for _, due in pairs)
    return max(float(np.abs(got - due).max()) for got, due in pairs) / scale
