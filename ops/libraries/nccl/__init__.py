"""NCCL: its tuner, the rings it lays, what its ways of sending cost."""

from ops.libraries.nccl import rule  # noqa: F401  puts NCCL on the list of libraries
