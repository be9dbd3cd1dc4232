"""MSCCL++'s execution plans, read and carried out."""

from ops.formats.mscclpp_json import reader, writer

__all__ = ["reader", "writer"]
