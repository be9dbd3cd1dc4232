"""Scripts after PyTorch's tutorials: they compute what they compute under gloo, and their calls take time."""

import pytest

from ops.programs.pytorch.gpus import Roofline
from tests.programs.pytorch.conftest import EVERY


@pytest.mark.parametrize("name", EVERY)
def test_a_script_prints_what_it_prints_under_gloo(run, under_gloo, name):
    outcome = run(EVERY[name], compute=Roofline("h100"))
    assert outcome.failure is None
    assert sorted(outcome.output.splitlines()) == under_gloo[name]
    assert outcome.time > 0
    assert outcome.untimed == {}
    assert all(call.end is not None and call.place.line for call in outcome.calls)
