"""What nccl-tests and rccl-tests print, as people paste it."""

from ops.measured.formats.nccl_tests.ranks import ranks_of
from ops.measured.formats.nccl_tests.reader import read

__all__ = ["ranks_of", "read"]
