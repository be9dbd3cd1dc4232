"""Scripts after PyTorch's tutorials: they compute what they compute under gloo, and their calls take time."""

from pathlib import Path

import pytest

from ops.programs.pytorch.gpus import Roofline

SCRIPTS = {path.stem: path for path in sorted((Path(__file__).parents[2] / "data" / "pytorch-scripts").glob("*.txt"))}
HEAD = SCRIPTS.pop("head").read_text(encoding="utf-8")
"""What every script begins with."""


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_prints_what_it_prints_under_gloo(run, plainly, name):
    script = HEAD + SCRIPTS[name].read_text(encoding="utf-8")
    outcome = run(script, compute=Roofline("h100"))
    assert outcome.failure is None
    assert sorted(outcome.output.splitlines()) == plainly(script)
    assert outcome.time > 0
    assert outcome.untimed == {}
    assert all(call.end is not None and call.place.line for call in outcome.calls)
