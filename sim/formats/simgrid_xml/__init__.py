"""SimGrid's platform files, read and written."""

from sim.formats.simgrid_xml import reader, writer

__all__ = ["reader", "writer"]
