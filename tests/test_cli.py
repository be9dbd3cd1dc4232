"""The terminal's front door, in-process through `main` and, where a process matters, as a process."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import cli
from ops import ALGORITHMS
from ops.collectives import COLLECTIVES
from ops.registry import Algorithm
from sim.machines import MACHINES
from sim.schedule import copy
from sim.topology import Device, Topology
from sim.trace import from_json
from terminal import BAD_INPUT, DONE, NO
from terminal.list_ import SECTIONS
from tests.tables import each_row

ROOT = Path(__file__).resolve().parent.parent
CAPTURES = ROOT / "tests" / "data" / "nvidia-smi-topo"
RUN_KEYS = {
    *("collective", "algorithm", "machine", "ranks", "size_bytes", "time_s", "algbw_Bps", "busbw_Bps", "bound_s"),
    *("transfers", "classes", "steps", "instants", "verified", "bottleneck", "build_s", "verify_s", "sim_s", "wall_s"),
    *("parameters", "verdict", "faults", "estimated_s", "estimated_bytes", "nccl", "expected_error", "placement"),
}


def process(*argv: str, **how) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "cli.py", *argv], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how
    )


@pytest.fixture
def ask(capsys):
    """Runs a command that must be done and returns its JSON."""

    def asked(*argv: str, status: int = DONE):
        assert cli.main([*argv, "--json"]) == status
        out, err = capsys.readouterr()
        assert err == ""
        return json.loads(out)

    return asked


@pytest.fixture
def island():
    """A machine whose two GPUs nothing joins."""

    def island() -> Topology:
        """Two GPUs without a link."""
        return Topology("island", (Device("GPU0", "GPU"), Device("GPU1", "GPU")), ())

    with MACHINES.also({"island": island}):
        yield


@pytest.fixture
def forgetful():
    """An algorithm that claims to broadcast and sends to rank 1 only."""

    def steps(n: int, *, root: int = 0):
        yield copy(0, 1, slot=0)

    name = "broadcast.forgetful"
    entry = Algorithm(name, COLLECTIVES["broadcast"], steps, lambda n, **_: 1, lambda n, **_: None, None)
    with ALGORITHMS.also({name: entry}):
        yield name


@pytest.mark.slow
@each_row(
    "encoding, micro",
    [("utf-8", "µs"), ("ascii", "us"), ("latin-1", "µs"), ("cp437", "µs")],
    over=["encoding", "micro"],
)
def test_output_that_knows_few_letters_gets_those_it_knows(encoding, micro):
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    run = ("run", "allreduce.ring", "--machine", "switch:ranks=2", "--size", "1KiB")
    told = subprocess.run([sys.executable, "cli.py", *run], cwd=ROOT, env=environment, capture_output=True, check=True)
    assert f" {micro}" in told.stdout.decode(encoding)
    listed = subprocess.run(
        [sys.executable, "cli.py", "list", "algorithms"], cwd=ROOT, env=environment, capture_output=True, check=True
    )
    assert "allreduce.ring" in listed.stdout.decode(encoding)


def test_a_run_tells_the_closed_form_time_and_the_bandwidths_of_nccl_tests(ask):
    found = ask("run", "allreduce.ring", "--machine", "switch:ranks=8,bandwidth=25GBps,latency=1us", "--size", "64MiB")
    assert set(found) == RUN_KEYS
    seconds = 14 * (2e-6 + 2**26 / 8 / 25e9)
    assert found["time_s"] == pytest.approx(seconds, rel=1e-12)
    assert found["algbw_Bps"] == pytest.approx(2**26 / seconds)
    assert found["busbw_Bps"] == pytest.approx(2**26 / seconds * 14 / 8)
    assert (found["collective"], found["algorithm"]) == ("allreduce", "allreduce.ring")
    assert (found["ranks"], found["size_bytes"], found["transfers"], found["steps"]) == (8, 2**26, 112, 14)
    assert found["verified"] is True
    assert 14 / 8 * 2**26 / 25e9 <= found["bound_s"] <= found["time_s"]
    assert found["bottleneck"]["bytes"] == pytest.approx(14 / 8 * 2**26)
    assert 0 < found["sim_s"] < found["wall_s"]


def test_ranks_default_to_the_whole_machine_and_may_be_fewer(ask):
    load = ("--machine", "switch:ranks=6", "--size", "6KiB")
    assert ask("run", "allgather.ring", *load)["ranks"] == 6
    assert ask("run", "allgather.ring", *load, "--ranks", "3")["transfers"] == 3 * 2


def test_a_run_takes_a_capture_as_its_machine(ask):
    capture = str(CAPTURES / "001-2gpu-nv2.txt")
    found = ask("run", "sendrecv.direct", "--topology", capture, "--size", "1GiB", "--default", "nvlink=10GBps")
    assert found["machine"].endswith("001-2gpu-nv2.txt")
    assert found["time_s"] == pytest.approx(2**30 / 20e9, rel=1e-3)  # NV2: two lanes of 10 GB/s


def test_an_algorithm_takes_parameters_and_a_root(ask):
    load = ("--machine", "switch:ranks=8", "--size", "64KiB")
    assert ask("run", "allreduce.segmented_ring", *load, "--set", "phases=2")["steps"] == 2 * 7 + 7
    assert ask("run", "broadcast.binomial", *load, "--root", "5")["verified"] is True


def test_counts_give_every_block_of_a_v_collective_its_own_size(ask):
    found = ask("run", "allgatherv.linear", "--machine", "switch:ranks=4", "--counts", "1KiB,0,3,8KiB")
    assert found["size_bytes"] == 1024 + 0 + 3 + 8192
    # rank 1 receives everything, rank 3's GPU sends 3 x 8 KiB: its link up is the slowest
    assert found["time_s"] == pytest.approx(2e-6 + 3 * 8192 / 25e9, rel=1e-9)
    square = ask("run", "alltoallv.linear", "--machine", "switch:ranks=2", "--counts", "1,2,4,8")
    assert square["size_bytes"] == 4 + 8


def test_displacements_say_where_blocks_stand(ask, capsys):
    four = ("run", "allgatherv.linear", "--machine", "switch:ranks=4", "--counts", "1KiB,0,3,8KiB")
    found = ask(*four, "--displs", "8KiB,0,10KiB,0")
    assert found["displs_bytes"] == [8192, 0, 10240, 0]
    assert found["extent_bytes"] == 10243
    assert found["time_s"] == ask(*four)["time_s"]
    for displs, says in (("0,1,2", "3 for 4 blocks"), ("0,0,1,1KiB", "blocks 0 and 2 overlap"), ("-1,0,0,0", "-1")):
        assert cli.main([*four, f"--displs={displs}"]) == BAD_INPUT
        assert says in capsys.readouterr().err
    assert cli.main(["run", "allgather.ring", "--machine", "switch", "--size", "1KiB", "--displs", "0"]) == BAD_INPUT


def test_algorithms_that_cut_blocks_take_the_sizes_of_whole_ones(ask):
    counts = ("--machine", "dgx_h100", "--counts", "8KiB,0,64KiB,8,16,24KiB,32KiB,8KiB")
    found = ask("run", "allgatherv.nvls", *counts, "--dtype", "float64")
    assert found["verified"] is True
    assert found["size_bytes"] == 1024 * (8 + 64 + 24 + 32 + 8) + 24
    assert found["numbers"]["right"] is True


@pytest.mark.slow
def test_real_numbers_move_along_when_asked_for(ask, capsys):
    load = ("--machine", "switch:ranks=6", "--size", "6KiB")
    exact = ask("run", "allreduce.ring", *load, "--dtype", "int64", "--op", "prod")["numbers"]
    told = {"dtype": "int64", "op": "prod", "right": True, "largest_error": 0.0}
    assert exact == told | {"block_elements": 128, "checked_elements": 128}
    rounded = ask("run", "allreduce.ring", *load, "--op", "mean")["numbers"]
    assert (rounded["dtype"], rounded["right"]) == ("float32", True)
    assert 0 < rounded["largest_error"] < 1e-6
    uneven = ask("run", "allgatherv.linear", "--machine", "switch:ranks=2", "--counts", "6,0", "--dtype", "float16")
    assert uneven["numbers"]["block_elements"] == 3
    assert cli.main(["run", "allreduce.ring", "--machine", "switch:ranks=64", "--size", "1GiB", "--op", "max"]) == DONE
    assert "float32 max right, first 1,024 of 4,194,304 elements of each block\n" in capsys.readouterr().out


def test_wrong_numbers_are_a_no(ask, forgetful):
    load = ("--machine", "switch:ranks=3", "--size", "1KiB")
    found = ask("run", forgetful, *load, "--dtype", "float64", status=NO)
    assert found["numbers"]["right"] is False
    assert found["numbers"]["largest_error"] is None  # what nobody sent is no number


def test_in_lockstep_every_step_waits_for_its_slowest_message(ask):
    ring = ("run", "allreduce.ring", "--machine", "nodes:nodes=2,gpus=4", "--size", "1MiB")
    through_the_spine = 2 * (0.5e-6 + 2e-6) + 2**20 / 8 / 25e9
    assert ask(*ring, "--lockstep")["time_s"] == pytest.approx(14 * through_the_spine, rel=1e-12)
    assert ask(*ring)["time_s"] < 14 * through_the_spine


def test_a_ring_loses_no_more_than_its_late_rank_is_late(ask):
    ring = ("run", "allreduce.ring", "--machine", "ring:ranks=8", "--size", "64MiB")
    late = ("--fault", "straggler:rank=3,late=20ms")
    alone = ask(*ring)["time_s"]
    assert ask(*ring, "--blocking")["time_s"] == pytest.approx(alone, rel=1e-12)
    assert ask(*ring, "--blocking", *late)["time_s"] == pytest.approx(alone + 0.02, rel=1e-12)
    assert ask(*ring, *late)["time_s"] == pytest.approx(alone + 0.02, rel=1e-12)


def test_a_run_in_fault_tells_what_bore_on_it(ask, capsys):
    run = ("run", "broadcast.linear", "--ranks", "2", "--machine", "switch:ranks=4,bandwidth=1GBps,latency=1us")
    slow = ("--fault", "slow_link:src=GPU0,dst=SW,share=0.5", "--fault", "straggler:rank=3,late=1s")
    found = ask(*run, "--size", "4MB", *slow)
    assert found["time_s"] == pytest.approx(2e-6 + 8e-3)
    assert found["bound_s"] <= 2e-6 + 4e-3
    told = [(one["fault"].split(":")[0], one["transfers"]) for one in found["faults"]]
    assert told == [("slow_link", 1), ("straggler", 0)]
    assert found["faults"][0]["longest_s"] == pytest.approx(8e-3)
    assert cli.main([*run, "--size", "4MB", "--fault", "dead_link:src=GPU0,dst=SW"]) == NO
    sentence, reason, *_ = capsys.readouterr().out.splitlines()
    assert sentence.startswith("GPU0 → SW down: ")
    assert sentence.endswith("never ends.")
    assert reason == "GPU0 → SW carries nothing and stops the messages 0 → 1."


def test_a_barrier_needs_no_size(ask):
    found = ask("run", "barrier.dissemination", "--machine", "switch:ranks=8,latency=1us")
    assert found["size_bytes"] == 0
    assert found["time_s"] == pytest.approx(3 * 2e-6)
    assert found["bottleneck"] is None


def test_a_trace_is_written_that_can_be_read_again(ask, tmp_path):
    file = tmp_path / "ring.json"
    found = ask("run", "allgather.ring", "--machine", "ring:ranks=4", "--size", "4KiB", "--trace", str(file))
    trace = from_json(file.read_text(encoding="utf-8"))
    assert trace.time == found["time_s"]
    assert trace.history is not None
    assert np.all(trace.end <= trace.ended)


def test_a_right_schedule_is_ok(ask):
    nowhere = {"machine": None, "ranks": 8, "nccl": None, "expected_error": None}
    assert ask("verify", "allreduce.rabenseifner", "--ranks", "8") == {"verdict": "ok", "reason": ""} | nowhere


def test_a_file_is_verified_for_the_ranks_it_tells(ask, tmp_path):
    for name in ("msccl-xml/ncv4-ar_tree_12_LL.xml", "mscclpp-json/reduce.json"):
        file = ROOT / "tests" / "data" / name
        found = ask("verify", str(file))
        assert (
            found["ranks"] == ask("run", "--schedule", str(file), "--machine", "a100_quad", "--size", "12MiB")["ranks"]
        )
    square = tmp_path / "square.txt"
    square.write_text("0 1 2\n3 0 4\n5 6 0\n")
    assert ask("verify", str(square))["ranks"] == 3
    square.write_text("0 1 2\n3 0\n")
    assert ask("verify", str(square), status=BAD_INPUT)["ranks"] is None


def test_a_wrong_schedule_is_a_no_with_the_place(ask, forgetful, capsys):
    found = ask("verify", forgetful, "--ranks", "3", status=NO)
    assert found["verdict"] == "wrong"
    assert "rank 2 slot 0" in found["reason"]
    assert ask("run", forgetful, "--machine", "switch:ranks=3", "--size", "1KiB", status=NO)["verified"] is False
    assert cli.main(["run", forgetful, "--machine", "switch:ranks=3", "--size", "1KiB"]) == NO
    assert "NO: broadcast.forgetful: rank 2 slot 0" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["run allreduce.ring --size 1KiB", "topology"])
def test_a_rank_nothing_reaches_is_a_no_in_one_line(command, island, capsys):
    assert cli.main([*command.split(), "--machine", "island"]) == NO
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("cli.py: island: nothing leads from GPU0 to GPU1")
    assert err.count("\n") == 1


def test_a_topology_is_told_whole(ask):
    found = ask("topology", str(CAPTURES / "024-8gpu-v100-cube-mesh-no-nic.txt"))
    assert {"devices", "gpus", "nics", "numa_nodes", "links", "pairs"} <= set(found)
    assert set(found["devices"][0]) == {"name", "kind", "numa", "host"}
    assert set(found["links"][0]) == {"src", "dst", "bandwidth_Bps", "latency_s", "kind"}
    assert (found["gpus"], found["nics"]) == (8, 0)
    printed = dict(zip(*(line.split() for line in _rows(24)), strict=False))
    assert found["pairs"]["GPU0"]["GPU3"] == printed["GPU3"]


def _rows(number: int) -> list[str]:
    lines = next(CAPTURES.glob(f"{number:03}-*")).read_text(encoding="utf-8").splitlines()
    header = next(line for line in lines if "GPU1" in line)
    row = next(line for line in lines if line.strip().startswith("GPU0") and line is not header)
    return [header, row.replace("GPU0", "", 1)]


def test_a_machine_prints_as_nvidia_smi_would(capsys):
    assert cli.main(["topology", "--machine", "dgx_a100"]) == DONE
    lines = capsys.readouterr().out.splitlines()
    row = next(line for line in lines if line.startswith("GPU0 "))
    assert row.split()[:3] == ["GPU0", "X", "NV12"]


@pytest.mark.parametrize("what", [*SECTIONS])
def test_every_list_names_all_of_its_registry(what, ask, capsys):
    entries = ask("list", what)[what]
    assert len(entries) == len({entry["name"] for entry in entries}) > 0
    assert all(entry["summary"] for entry in entries)
    assert cli.main(["list", what]) == DONE
    out = capsys.readouterr().out
    assert all(entry["name"] in out for entry in entries)
    if what == "algorithms":
        assert {entry["name"] for entry in entries} == set(ALGORITHMS)


def test_a_listed_machine_can_be_built_from_its_own_line(capsys):
    cli.main(["list", "machines"])
    lines = capsys.readouterr().out.splitlines()
    assert "                  also p4d, p4de, p4d.24xlarge, p4de.24xlarge" in lines
    out = iter([line for line in lines if not line.startswith("  ") or line.split()[0] != "also"])
    for head in out:
        name, settings = head.split()[0], next(out).strip()
        given = ",".join(pair for pair in settings.split(",") if not pair.endswith("…"))
        assert cli.main(["topology", "--machine", f"{name}:{given}"]) == DONE
        capsys.readouterr()


def test_listing_loads_nothing_heavy():
    heavy = {"numba", "simpy", "matplotlib", "streamlit", "pandas", "scipy"}
    code = f"import sys, cli; cli.main(['list']); print(sorted({heavy} & set(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_a_reader_that_hangs_up_is_no_error():
    with process("list") as listing:
        listing.stdout.close()
        assert listing.stderr.read() == ""
    assert listing.returncode == cli.PIPE_CLOSED


def test_ctrl_c_ends_with_one_word(monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setitem(SECTIONS, "machines", interrupted)
    assert cli.main(["list", "machines"]) == cli.INTERRUPTED
    assert capsys.readouterr() == ("", "\ncli.py: stopped\n")


def test_a_run_beyond_memory_ends_with_a_sentence():
    with process("verify", "alltoall.linear", "--ranks", "100000") as huge:
        out, err = huge.communicate()
    assert (huge.returncode, out) == (BAD_INPUT, "")
    assert err.startswith("cli.py: alltoall.linear would take about 10,000,000,000 transfers and ")
    assert err.count("\n") == 1


def test_help_is_done(capsys):
    assert cli.main(["--help"]) == DONE
    text = capsys.readouterr().out
    assert all(command in text for command in ("list", "run", "verify", "topology"))


def test_the_version_is_that_of_the_package(capsys):
    assert cli.main(["--version"]) == DONE
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert capsys.readouterr().out == f"ringside {project['version']}\n"


def test_a_word_that_is_nearly_a_command_is_answered_with_the_command(capsys):
    assert cli.main(["synthesise"]) == BAD_INPUT
    assert "Did you mean 'synthesize'?" in capsys.readouterr().err


def test_a_shell_completes_commands_and_their_options(monkeypatch, capsys):
    for words, found in (("cli.py synth", "plain,synthesize"), ("cli.py run --mach", "plain,--machine")):
        monkeypatch.setenv("_CLI_PY_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
        with pytest.raises(SystemExit):
            cli.main([])
        assert capsys.readouterr().out == f"{found}\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [("--" + "trouble", "--fault"), ("--" + "scenario", "--plan"), ("--" + "most-memory", "--max-memory")],
)
def test_an_option_that_was_renamed_says_what_it_is_called(old, new, capsys):
    assert cli.main(["run", "allreduce.ring", "--machine", "switch:ranks=4", old, "1GB"]) == BAD_INPUT
    assert f"{old} is called {new} now: write {new}" in capsys.readouterr().err


def test_a_setting_that_was_renamed_says_what_it_is_called(monkeypatch, capsys):
    monkeypatch.setenv("RINGSIDE_" + "MOST_MEMORY", "1GB")
    assert cli.main(["list", "machines"]) == BAD_INPUT
    assert "RINGSIDE_" + "MOST_MEMORY is called RINGSIDE_MAX_MEMORY now" in capsys.readouterr().err
