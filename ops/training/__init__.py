"""What training steps are made of: models, layers, buckets, losses, a world of ranks that compute and communicate."""

from ops.training.step import TrainingStep
from ops.training.world import Process, World

__all__ = ["Process", "TrainingStep", "World"]
