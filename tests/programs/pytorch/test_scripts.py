"""Scripts after PyTorch's tutorials: they compute what they compute under gloo, and their calls take time."""

import pytest

from ops.programs.pytorch.gpus import Roofline
from tests.programs.pytorch.scripts import HEAD, SCRIPTS
from tests.programs.pytorch.tutorials import TUTORIALS

EVERY = SCRIPTS | TUTORIALS


@pytest.mark.parametrize("name", EVERY)
def test_a_script_prints_what_it_prints_under_gloo(run, plainly, name):
    script = HEAD + EVERY[name]
    outcome = run(script, compute=Roofline("h100"))
    assert outcome.failure is None
    assert sorted(outcome.output.splitlines()) == plainly(script)
    assert outcome.time > 0
    assert outcome.untimed == {}
    assert all(call.end is not None and call.place.line for call in outcome.calls)
