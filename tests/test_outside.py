"""Schedules from outside through the terminal: files of known formats, Python files, library numbers."""

import json
import re
from pathlib import Path

import pytest

import cli
from ops import ALGORITHMS
from ops.run.work import natural_group, registered
from sim.machines import build
from terminal import BAD_INPUT, DONE, NO

DATA = Path(__file__).parent / "data"
PLAN = next((DATA / "msccl-xml").glob("*allpairs*.xml"), None) or min((DATA / "msccl-xml").glob("*.xml"))
MACHINE = ("--machine", "switch:ranks=16")
RING = '''
import numpy as np
from ops import algorithm
from ops.collectives import allreduce
from sim.schedule import copy, reduce

@algorithm(allreduce, cost=lambda n: (2 * (n - 1), 2 * (n - 1) / n))
def ring(n):
    """Partial sums travel once round the ring, then the totals do."""
    r = np.arange(n)
    for k in range(n - 1):
        yield reduce(r, (r + 1) % n, slot=(r - k - 1) % n)
    for k in range(n - 1):
        yield copy(r, (r + 1) % n, slot=(r - k) % n)
'''


@pytest.fixture
def ask(capsys):
    """Runs a command and returns its status, its JSON if it printed any, and what it told on the side."""

    def asked(*argv: str):
        status = cli.main([*argv, "--json"])
        out, err = capsys.readouterr()
        return status, json.loads(out) if out else None, err

    return asked


@pytest.fixture
def own(tmp_path):
    def written(text: str, name: str = "mine.py") -> str:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return written


def test_a_file_is_verified_and_run_like_any_algorithm(ask):
    status, found, complaint = ask("verify", str(PLAN))
    assert (status, found["verdict"], found["reason"], complaint) == (DONE, "ok", "", "")
    ranks = int(re.search(r'ngpus="(\d+)"', PLAN.read_text())[1])
    assert found["ranks"] == ranks
    status, found, _ = ask("run", "--schedule", str(PLAN), "--machine", f"switch:ranks={ranks}", "--size", "64MiB")
    assert status == DONE
    assert (found["verdict"], found["ranks"], found["size_bytes"]) == ("ok", ranks, 64 << 20)
    assert found["bound_s"] <= found["time_s"]


@pytest.mark.parametrize(
    "change, verdict, status",
    [
        (lambda text: text.replace('type="s"', 'type="nop"', 1), "deadlock", NO),
        (lambda text: text[: len(text) // 2], "malformed", BAD_INPUT),
        (lambda text: text.replace("<algo", "<algorithm", 1), "malformed", BAD_INPUT),
        (lambda text: "hello", "malformed", BAD_INPUT),
    ],
)
def test_a_broken_file_gets_its_verdict(ask, own, change, verdict, status):
    text = (DATA / "msccl-xml" / "ndv4-a2a2ll.xml").read_text(encoding="utf-8")
    assert change(text) != text
    file = own(change(text), "broken.xml")
    got, found, _ = ask("verify", file)
    assert (found["verdict"], got) == (verdict, status)
    got, found, err = ask("run", "--schedule", file, *MACHINE, "--size", "64MiB")
    assert (got, found) == (status, None)
    assert err.count("\n") == 1


def test_a_matrix_brings_its_own_sizes(ask, own):
    counts = own("0 1000 0\n300 0 20\n0 4000 0\n", "counts.txt")
    status, found, _ = ask("run", "--schedule", counts, "--machine", "switch:ranks=3,bandwidth=1GBps,latency=1us")
    assert status == DONE
    assert (found["collective"], found["size_bytes"]) == ("alltoallv", 5000)  # rank 1 receives most
    assert found["time_s"] == pytest.approx(2e-6 + 5000e-9)
    assert 5e-6 <= found["bound_s"] <= found["time_s"]
    status, _, err = ask("run", "--schedule", counts, *MACHINE, "--size", "1KiB")
    assert status == BAD_INPUT
    assert "brings its own sizes: leave out --size" in err


def test_what_promises_nothing_runs_unchecked(ask, own):
    goal = own("num_ranks 2\nrank 0 {\nsend 100b to 1\n}\nrank 1 {\nrecv 100b from 0\n}\n", "pair.goal")
    status, found, _ = ask("run", "--schedule", goal, *MACHINE)
    assert (status, found["collective"], found["verdict"], found["verified"]) == (DONE, "custom", "unchecked", False)
    assert found["time_s"] == pytest.approx(2e-6 + 100 / 25e9)


@pytest.mark.parametrize("decorated", [True, False])
def test_a_python_file_brings_an_algorithm(ask, own, decorated):
    text = RING if decorated else re.sub("@algorithm.*", "", RING)
    argv = ["run", *(() if decorated else ("allreduce",)), "--schedule", own(text) + ":ring"]
    load = ("--machine", "switch:ranks=8,bandwidth=25GBps,latency=1us", "--size", "64MiB")
    status, found, _ = ask(*argv, *load)
    assert status == DONE
    assert found["verified"] is True
    assert found["time_s"] == pytest.approx(14 * (2e-6 + 2**26 / 8 / 25e9), rel=1e-12)
    assert ALGORITHMS["allreduce.ring"].steps.__module__ == "ops.algorithms.ring"  # the list is as it was


def test_a_wrong_python_algorithm_is_a_no(ask, own):
    wrong = own(RING.replace("slot=(r - k) % n", "slot=(r - k + 1) % n"))
    status, found, _ = ask("verify", wrong, "--ranks", "8")
    assert (status, found["verdict"]) == (NO, "wrong")
    assert "rank 0" in found["reason"]


@pytest.mark.parametrize(
    "text, spec, message",
    [
        (RING.replace("np.arange(n)", "np.arange(m)"), ":ring", "line 10: NameError: name 'm' is not defined"),
        (RING.replace("(n):", "(n:"), ":ring", "line 8: "),
        (RING + "\nraise SystemExit(0)", ":ring", "line 16: SystemExit"),
        (re.sub("@algorithm.*", "", RING), ":ring", "does not say which collective it carries out"),
        (RING, ":rang", "has no algorithm called 'rang': choose from"),
        ("x = 1", "", "has no algorithms: define a generator of steps"),
        (RING + RING.replace("def ring", "def rung"), "", "has 2 algorithms: choose from"),
        (RING.replace("% n)\n", "% n + 1)\n", 1), ":ring", "ranks go from 0 to 7"),
    ],
)
def test_mistakes_in_a_python_file_are_told_in_one_line(ask, own, text, spec, message):
    if message.startswith("ranks go"):
        text = RING.replace("(r + 1) % n", "r + 1")
    status, found, err = ask("verify", "--schedule", own(text) + spec, "--ranks", "8")
    assert (status, found) == (BAD_INPUT, None)
    assert message in err
    assert err.count("\n") == 1


def test_a_library_s_number_runs_its_algorithm(ask):
    status, found, _ = ask("run", "allgatherv", "--library", "kucg", "--algorithm-id", "4", *MACHINE, "--size", "16KiB")
    assert (status, found["algorithm"], found["verified"]) == (DONE, "allgatherv.linear", True)
    status, _, err = ask("run", "allgatherv", "--library", "kucg", "--algorithm-id", "9", *MACHINE, "--size", "16KiB")
    assert status == BAD_INPUT
    assert "kucg has no allgatherv algorithm '9': choose from" in err
    assert "allgatherv.linear" in err
    for wrong in (("--library", "kucg"), ("--algorithm-id", "4"), ("--library", "cugk", "--algorithm-id", "4")):
        assert ask("run", "allgatherv", *wrong, *MACHINE, "--size", "16KiB")[0] == BAD_INPUT


@pytest.mark.parametrize("library", ["openmpi", "mpich", "nccl", "ucc", "kucg", "gloo"])
def test_a_library_s_list_leads_to_what_runs(ask, library):
    _, found, _ = ask("list", "algorithms", "--library", library)
    assert len(found["algorithms"]) >= 6
    for row in found["algorithms"]:
        assert ALGORITHMS.known_as(row["collective"], library, row["id"]).name == row["name"]


@pytest.mark.slow
def test_a_thousand_ranks_send_every_block_to_everyone_as_the_library_s_fourth_does(ask):
    nodes = ("--machine", "nodes:nodes=8,gpus=128,nvlink=100GBps,nic=25GBps")
    status, found, _ = ask("run", "allgatherv", "--library", "kucg", "--algorithm-id", "4", *nodes, "--size", "1MiB")
    assert (status, found["ranks"], found["transfers"], found["verified"]) == (DONE, 1024, 1024 * 1023, True)
    # every NIC takes in what 896 ranks elsewhere send to each of its 128, one block of 1 KiB each
    assert found["time_s"] == pytest.approx(2 * (0.5e-6 + 2e-6) + 896 * 128 * 1024 / 25e9, rel=1e-9)
    assert "SPINE" in found["bottleneck"]["src"] + found["bottleneck"]["dst"]


def test_groups_are_the_machine_s_hosts_or_numa_nodes(ask):
    status, found, _ = ask("run", "allreduce.hierarchical", "--machine", "nodes:nodes=3,gpus=6", "--size", "18MiB")
    assert (status, found["parameters"]) == (DONE, {"group": 6})
    assert natural_group(build("dual_socket_pcie"), 8) == 4
    assert natural_group(build("dual_socket_pcie"), 6) == 0  # 4 and 2
    assert natural_group(build("switch:ranks=8"), 8) == 0
    assert natural_group(build("dgx_a100:hosts=2"), 16) == 8  # hosts, whose NUMA nodes are even too
    entry = ALGORITHMS["allreduce.hierarchical"]
    assert registered(entry, 12, topology=build("nodes:nodes=2,gpus=6"), settings={"group": "3"}).settings == {
        "group": 3
    }


def test_a_run_is_written_for_perfetto(ask, tmp_path):
    file = tmp_path / "run.json"
    status, found, _ = ask("trace", "allreduce.ring", *MACHINE, "--size", "1MiB", "-o", str(file))
    assert (status, found["file"]) == (DONE, str(file))
    events = json.loads(file.read_text(encoding="utf-8"))["traceEvents"]
    assert sum(event["ph"] == "s" for event in events) == 2 * 15 * 16
    assert ask("trace", "allreduce.ring", *MACHINE, "--size", "1MiB", "-o", str(tmp_path))[0] == BAD_INPUT
