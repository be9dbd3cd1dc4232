"""What nccl-tests and rccl-tests print, as people paste it."""

from ops.measured.formats.nccl_tests.reader import ranks_of, read

__all__ = ["ranks_of", "read"]
