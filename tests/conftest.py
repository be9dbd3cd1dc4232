"""What holds for all tests."""

import pytest

from sim.base import formats


@pytest.fixture(autouse=True, scope="session")
def readers_refuse_in_sentences_of_their_own():
    """The readers here are tested without the net that keeps a newcomer's slip from being a traceback."""
    formats.SLIPS = ()
