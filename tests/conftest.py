"""What holds for all tests."""

import os

import pytest

from sim.base import formats

os.environ.setdefault("RINGSIDE_NO_WORKERS", "1")
"""Pages that a test draws in its own process have their runs there, too: one process, one set of kernels."""


@pytest.fixture(autouse=True, scope="session")
def readers_refuse_in_sentences_of_their_own():
    """The readers here are tested without the net that keeps a newcomer's slip from being a traceback."""
    formats.SLIPS = ()
