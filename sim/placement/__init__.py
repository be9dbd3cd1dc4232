"""Which GPUs of which hosts take part in a run: in words, as a list, or as a launcher's file."""

from sim.placement.rank_file import in_one_line, is_rank_file
from sim.placement.words import placed, placement_of

__all__ = ["in_one_line", "is_rank_file", "placed", "placement_of"]
