"""Ringside's own YAML of a machine, read and written."""

from sim.formats.ringside_yaml import reader, writer

__all__ = ["reader", "writer"]
