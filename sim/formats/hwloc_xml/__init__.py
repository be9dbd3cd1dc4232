"""hwloc's XML, as `lstopo` writes it."""

from sim.formats.hwloc_xml import reader

__all__ = ["reader"]
