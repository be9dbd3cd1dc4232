"""NCCL's topology XML, read and written."""

from sim.formats.nccl_xml import reader, writer

__all__ = ["reader", "writer"]
