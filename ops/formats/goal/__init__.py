"""GOAL, the schedules of LogGOPSim, read and written."""

from ops.formats.goal import reader, writer

__all__ = ["reader", "writer"]
