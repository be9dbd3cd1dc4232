"""What was kept before requests were one thing opens for ever after, with the same result.

The files in `tests/data/kept` were written by the project as it was then; none of them is ever written anew.
"""

import json
import shlex
import shutil
from pathlib import Path

import pytest

import cli
from ops.lab.grid import Grid
from ops.lab.sweep import sweep
from ops.request import Request
from ops.request.link import from_link, to_link
from ops.request.scenario import from_yaml, to_yaml
from terminal.shared.facts import facts

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "tests" / "data" / "kept"


def read(name: str):
    return json.loads((KEPT / name).read_text(encoding="utf-8"))


CALIBRATED = ("family", "segments", "transfers", "steps", "instants", "bottleneck")
"""What a calibration of NCCL names and cuts anew, beside every number of seconds or bytes a second."""


def same(now, then, *, calibrated: bool = False) -> None:
    """Everything that was said is said still, numbers to the last digits; more may be said.

    What NCCL costs is measured better every time: where that is `calibrated` in, numbers are there still.
    """
    if isinstance(then, dict):
        for key, value in then.items():
            assert key in now
            if not (calibrated and key in CALIBRATED):
                same(now[key], value, calibrated=calibrated)
    elif isinstance(then, list):
        assert len(now) == len(then)
        for one, other in zip(now, then, strict=True):
            same(one, other, calibrated=calibrated)
    elif isinstance(then, float) and calibrated:
        assert isinstance(now, float)
        assert (now > 0) == (then > 0)
    elif isinstance(then, float):
        assert now == pytest.approx(then, rel=1e-12, abs=1e-15)
    else:
        assert now == then


def plain(request: Request):
    return json.loads(json.dumps(facts(request.run())))


def same_run(request: Request, then) -> None:
    """The run of a request is what it was; its seconds are today's clock's where messages stand in line.

    What gathered behind a slow link or a late rank flowed at once then, which no connection does.
    """
    outcome = request.run()
    in_line = bool((outcome.trace.left > outcome.trace.ready).any())
    same(json.loads(json.dumps(facts(outcome))), then, calibrated=in_line)
    assert not in_line or outcome.trace.time <= then["time_s"] * (1 + 1e-12)


IN_LINE = ("nodes", "quad", "scene-4.yaml", "sensitivity", "synthesize")
"""What machines and command lines are called in whose runs messages stand in line."""


LINKS, SCENARIOS, TRACES, MACHINES, SCHEDULES, LINES = (
    read(name)
    for name in (
        "links.json",
        "scenarios/results.json",
        "traces/results.json",
        "machines/results.json",
        "schedules/results.json",
        "commands.json",
    )
)


@pytest.mark.parametrize("link", LINKS, ids=lambda link: "&".join(f"{k}={v[:30]}" for k, v in link["words"].items()))
def test_a_link_brings_its_run_back(link):
    request = from_link(link["words"])
    for one, then in zip([request, *request.others()], [link["run"], *link.get("beside", [])], strict=True):
        same_run(one, then)
    assert from_link(to_link(request)) == request


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_is_what_it_was(name):
    request = from_yaml((KEPT / "scenarios" / f"{name}.yaml").read_text(encoding="utf-8"), name)
    kept = [SCENARIOS[name]["run"], *SCENARIOS[name].get("beside", [])]
    for one, then in zip([request, *request.others()], kept, strict=True):
        same_run(one, then)
    assert plain(from_yaml(to_yaml(request), name)) == plain(request)


@pytest.mark.parametrize("name", TRACES)
def test_a_trace_shows_the_run_as_it_ended(name):
    text = (KEPT / "traces" / f"{name}.json").read_text(encoding="utf-8")
    same(plain(Request(schedule=text)), TRACES[name])


@pytest.mark.parametrize("name", MACHINES)
def test_a_machine_in_yaml_carries_what_it_carried(name, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    path = f"tests/data/kept/machines/{name}.yaml"
    assert cli.main(["run", "allreduce.ring", "--topology", path, "--size", "3MiB", "--json"]) == 0
    same(json.loads(capsys.readouterr().out), MACHINES[name], calibrated=name in IN_LINE)


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_that_was_written_runs(name, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    size = [] if name.endswith("goal") else ["--size", "1MiB"]
    path = f"tests/data/kept/schedules/{name}"
    assert cli.main(["run", "--schedule", path, "--machine", "ring:ranks=4", *size, "--json"]) == 0
    same(json.loads(capsys.readouterr().out), SCHEDULES[name])


def test_a_sweep_that_was_stopped_goes_on(tmp_path):
    for name in ("t.parquet", "t.parquet.journal"):
        shutil.copy(KEPT / "sweep" / name, tmp_path / name)
    then = read("sweep/rows.json")
    done = sweep(Grid(**read("sweep/grid.json")), tmp_path / "t.parquet", jobs=1)
    assert (done.before, done.failed) == (then["before"], then["failed"])
    assert 0 < done.before < done.cells
    rows = [row | {"trouble": row["trouble"].replace(" + ", ";")} for row in then["rows"]]
    now = done.table.to_pylist()
    same(now, rows, calibrated=True)
    times = [(one["time_s"] or 0.0, row["time_s"] or 0.0) for one, row in zip(now, rows, strict=True)]
    assert sum(one == pytest.approx(row, rel=1e-12) for one, row in times) >= done.before
    assert all(one <= row * (1 + 1e-12) for one, row in times)  # less where messages stand in line
    assert any(";" in row["trouble"] for row in rows)


@pytest.mark.parametrize("kept", LINES, ids=lambda kept: kept["line"])
def test_a_command_line_says_what_it_said(kept, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert cli.main([*shlex.split(kept["line"]), "--json"]) == kept["status"]
    out, err = capsys.readouterr()
    assert err == ""
    now, then = json.loads(out), kept["json"]
    for swings in (said["swings"] for said in (now, then) if "swings" in said):  # the largest first, which seconds say
        swings.sort(key=lambda swing: (swing["what"], swing["links"]))
    same(now, then, calibrated=any(word in kept["line"] for word in ("nccl", *IN_LINE)))
