"""MSCCL's XML: programs of thread blocks, read, carried out and written."""

from ops.formats.msccl_xml import reader, writer

__all__ = ["reader", "writer"]
