"""One description of a run: every way to write it down brings it back, and what it says is carried out as before."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cli
from ops.plan import Plan
from ops.plan.link import from_link, to_link
from ops.plan.notation import CHANGEABLE, MOST, beside, differences, entries, listed
from ops.plan.plan_file import from_yaml, to_yaml
from ops.plan.words import APART
from sim.errors import InputError
from sim.faults.edits import EDITS
from sim.parameters import pairs, parse_spec, quoted, written
from sim.placement import placed
from sim.topology import Device, Link, Topology
from terminal import BAD_INPUT, DONE

ROOT = Path(__file__).resolve().parents[2]
FAULTS = ("jitter:mean=1us,seed=2", "straggler:rank=1,late=2us", "slow_link:src=GPU0,dst=SW,share=0.5")
STAR = """
from sim.schedule import copy, reduce

def star(n):
    for r in range(1, n):
        yield reduce(r, 0, slot=0)
    for r in range(1, n):
        yield copy(0, r, slot=0)
"""
CAPTURE = "\tGPU0\tGPU1\nGPU0\tX\tPIX\nGPU1\tPIX\tX\n"
PLANS = st.builds(
    Plan,
    algorithm=st.sampled_from(["allreduce.ring", "nccl.allreduce", "allgatherv.kucg:4"]),
    machine=st.sampled_from(["dgx_a100", "switch:ranks=8,latency=2us"]),
    ranks=st.integers(0, 4096),
    size=st.sampled_from(["1KiB", "64MiB", "123"]),
    root=st.integers(0, 7),
    settings=st.sampled_from(["", "segments=4", "radix=3,segments=2"]),
    fault=st.lists(st.sampled_from(FAULTS)).map(listed),
    against=st.sampled_from(["", "algorithm=allreduce.linear|fault=", "machine=dgx1v;size=1MiB"]),
    displs=st.sampled_from(["", "0,1KiB"]),
    lockstep=st.booleans(),
    blocking=st.booleans(),
    dtype=st.sampled_from(["", "int64"]),
    op=st.sampled_from(["", "max"]),
)
CHANGES = st.dictionaries(
    st.sampled_from(["algorithm", "machine", "size", "settings"]), st.just("x:y=1,z=2"), min_size=1
) | st.just({"fault": listed(FAULTS), "size": "1MiB"})


@given(PLANS)
def test_a_link_and_a_file_bring_a_plan_back(plan):
    assert from_link(to_link(plan)) == plan
    assert from_yaml(to_yaml(plan), "a plan") == plan


@given(st.lists(st.sampled_from(FAULTS)))
def test_older_lists_are_read_like_ours(faults):
    assert entries(listed(faults)) == entries(" + ".join(faults)) == tuple(faults)


NAMES = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=12)


@given(NAMES | st.from_regex(r"[A-C,;=|&+ %0-9:{}]{1,8}", fullmatch=True), st.sampled_from(["", "jitter;"]))
def test_any_name_survives_in_lists_links_and_beside_another_run(name, before):
    """Also one of separators, or one that looks quoted."""
    spec = f"slow_link:{written({'src': name, 'dst': 'B', 'share': 0.5})}"
    plan = from_link(to_link(Plan(fault=f"{before}{spec}", against=beside([{"fault": spec, "size": "1B"}]))))
    (changes,) = differences(plan.against)
    assert changes == {"fault": spec, "size": "1B"}
    for text in (plan.faults[-1], entries(" + ".join(["jitter", spec]))[-1], *entries(changes["fault"])):
        assert parse_spec(text) == ("slow_link", {"src": name, "dst": "B", "share": "0.5"})
        assert pairs(text.partition(":")[2]) == {"src": name, "dst": "B", "share": "0.5"}
    links = (Link(name, "Switch", 1e9, 0.0), Link("Switch", name, 1e9, 0.0))
    topology = Topology("t", (Device("Switch", "NVS"), Device(name, "GPU")), links)
    assert placed(topology, quoted(name).replace(" ", "%20").replace(":", "%3A")).ranks == (1,)
    assert EDITS["set_link"].first_look(topology).partition(":")[2].startswith(written({"src": name}))


@given(st.lists(CHANGES, max_size=MOST, unique_by=str))
def test_runs_beside_another_are_read_in_both_notations(runs):
    assert differences(beside(runs)) == runs
    older = "|".join("&".join(f"{word}={value}" for word, value in run.items()) for run in runs)
    assert differences(older) == runs


def test_a_run_beside_another_may_differ_in_any_short_word():
    words = {"algorithm": "a", "machine": "m", "size": "1B", "settings": "", "fault": "", "counts": "1,2"}
    changes = words | {
        "ranks": "3",
        "root": "2",
        "lockstep": "yes",
        "blocking": "yes",
        "network": "ethernet",
        "edits": "set_class",
    }
    changes |= {"capture": "", "rates": "", "placement": "per_host=1", "calibration": "share_0.9"}
    assert set(changes) == set(CHANGEABLE) <= {known.name for known in fields(Plan)}
    other = Plan().changed(changes)
    assert (other.ranks, other.root, other.lockstep, other.counts) == (3, 2, True, "1,2")
    assert len(Plan(against="|".join(f"ranks={k}" for k in range(20))).others()) == MOST


@pytest.mark.parametrize("word", ["size", "python=x.py", "ranks=many", "against=x", "schedule=x", "root=-1"])
def test_what_no_run_can_differ_in_is_refused(word):
    with pytest.raises(InputError, match="the link's against has"):
        Plan(against=word).others()


def test_no_link_and_no_file_that_is_opened_executes_python(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("raise SystemExit('executed')")
    plan = Plan(algorithm="allreduce", python=str(file))
    assert not set(APART) & set(to_link(plan))
    assert from_link({name: str(file) for name in APART}) == Plan()
    with pytest.raises(InputError, match="line 2: this plan runs a Python file: only the terminal does that"):
        from_yaml(to_yaml(plan), "a.yaml")
    assert from_yaml(to_yaml(plan), "a.yaml", execute=True) == plan


def run(*argv: str):
    return cli.main(["run", *argv, "--json"])


@pytest.mark.parametrize(
    "argv",
    [
        ["allgatherv.linear", "--machine", "switch:ranks=4", "--counts", "1KiB,0,3,8KiB", "--displs", "8KiB,0,10KiB,0"],
        ["allreduce.ring", "--machine", "nodes:nodes=2,gpus=4", "--size", "1MiB", "--lockstep"],
        ["allreduce", "--schedule", "{}/star.py:star", "--machine", "switch:ranks=4", "--size", "1MiB"],
        ["nccl.allreduce", "--machine", "dgx_a100", "--size", "1MiB"],
        ["allgatherv", "--library", "kucg", "--algorithm-id", "4", "--machine", "switch:ranks=4", "--size", "1MiB"],
        ["allreduce.ring", "--topology", "{}/box.txt", "--default", "pix=20GBps", "--size", "1MiB"],
        ["barrier.linear", "--machine", "switch:ranks=4"],
    ],
    ids=lambda argv: argv[-1] + argv[0],
)
def test_what_the_terminal_runs_it_writes_as_a_plan_that_runs_the_same(argv, tmp_path, capsys):
    (tmp_path / "star.py").write_text(STAR)
    (tmp_path / "box.txt").write_text(CAPTURE)
    argv = [word.format(tmp_path) for word in argv]
    assert run(*argv) == DONE
    direct = json.loads(capsys.readouterr().out)
    file = str(tmp_path / "plan.yaml")
    assert cli.main(["render", *argv, "-o", file]) == DONE
    trust = ["--allow-exec"] if "--schedule" in argv else []
    if trust:
        assert run("--plan", file) == BAD_INPUT
        assert "with --allow-exec" in capsys.readouterr().err
    capsys.readouterr()
    assert run("--plan", file, *trust) == DONE
    again = json.loads(capsys.readouterr().out)
    real = ("build_s", "verify_s", "sim_s", "wall_s", "machine")
    assert {k: v for k, v in again.items() if k not in real} == {k: v for k, v in direct.items() if k not in real}


def test_a_run_that_was_kept_is_told_again(tmp_path, capsys):
    trace, file = tmp_path / "run.json", tmp_path / "kept.yaml"
    assert run("allgather.ring", "--machine", "ring:ranks=4", "--size", "4KiB", "--trace", str(trace)) == DONE
    then = json.loads(capsys.readouterr().out)
    file.write_text(to_yaml(Plan(schedule=trace.read_text())))
    assert run("--plan", str(file)) == DONE
    now = json.loads(capsys.readouterr().out)
    assert (now["time_s"], now["bound_s"], now["verified"]) == (then["time_s"], then["bound_s"], True)


def test_a_plan_loads_no_web_framework(tmp_path):
    file = tmp_path / "plan.yaml"
    file.write_text(to_yaml(Plan(machine="switch:ranks=4", size="1MiB")))
    code = (
        f"import sys, cli; status = cli.main(['run', '--plan', {str(file)!r}])\n"
        "print(status, 'streamlit' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr.split() == ["0", "False"]


def test_too_few_ranks_are_told_in_one_place():
    sources = [path for room in ("sim", "ops", "ui", "terminal") for path in (ROOT / room).rglob("*.py")]
    told = [path.name for path in sources if '"machine.ranks"' in path.read_text(encoding="utf-8")]
    assert told == ["model.py"]


def test_cells_share_what_they_have_in_common():
    ring = Plan(machine="switch:ranks=4", size="1KiB")
    prepared = ring.prepare()
    for size, fault in (("1KiB", ""), ("1MiB", FAULTS[1])):
        cell = replace(ring, size=size, fault=fault)
        assert prepared.run(cell).time == cell.run().time


FILES, ROOMS = 27, 15
"""Files, and folders, whose functions are handed the machine on its way to the kernel, its four strategies included."""


def test_a_machine_passes_through_few_rooms_on_its_way_to_the_kernel(capsys):
    spec, files, arrived = "dgx_a100", set(), []

    def holds(value, depth=0):
        if isinstance(value, Topology) or (isinstance(value, str) and value == spec):
            return True
        if depth or isinstance(value, type):
            return False
        inside = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
        own = vars(value).values() if hasattr(value, "__dict__") and not callable(value) else ()
        slots = (getattr(value, known.name) for known in fields(value)) if isinstance(value, Plan) else ()
        return any(holds(each, 1) for each in (*inside, *own, *slots))

    def watch(frame, event, _):
        code = frame.f_code
        path = os.path.relpath(code.co_filename, ROOT)
        if event != "call" or arrived or path.split(os.sep)[0] not in ("sim", "ops", "ui", "terminal", "cli.py"):
            return
        taken = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
        if code.co_name != "<module>" and any(holds(frame.f_locals.get(name)) for name in code.co_varnames[:taken]):
            files.add(path)
        if code.co_name == "advance":
            arrived.append(path)

    sys.setprofile(watch)
    try:
        assert run("allreduce.ring", "--machine", spec, "--size", "64MiB") == DONE
    finally:
        sys.setprofile(None)
    capsys.readouterr()
    assert arrived == ["sim/fabric/kernel.py"]
    assert len(files) <= FILES, sorted(files)
    assert len({os.path.dirname(path) for path in files}) <= ROOMS, sorted(files)


@given(st.dictionaries(st.sampled_from([known.name for known in fields(Plan)]), st.text(max_size=12), max_size=4))
def test_any_link_is_a_plan_or_one_sentence(words):
    with suppress(InputError):
        plan = from_link(words)
        assert (plan.python, plan.seed) == ("", -1)


@pytest.mark.parametrize(
    "words",
    [
        {"fault": FAULTS[1]},
        {"edits": "set_link:src=GPU0,dst=SW,times=0.5"},
        {"algorithm": "allgatherv.ring", "counts": "1,2,3,4", "size": ""},
        {"algorithm": "nccl.allreduce", "machine": "dgx_a100"},
        {"algorithm": "openmpi.allreduce"},
        {"algorithm": "broadcast.binomial"},
    ],
    ids=lambda words: next(iter(words)),
)
def test_what_tells_ranks_apart_is_run_whole(words):
    alike = Plan(algorithm="allreduce.ring", machine="switch:ranks=4", size="1MiB")
    assert alike.run(written=0).strategy == "symmetric"
    assert replace(alike, **words).run(written=0).strategy == "written"
