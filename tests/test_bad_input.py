"""Whatever a person types or pastes by mistake: one line that says what, where and how to mend it, status 2."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cli
from sim.formats import LARGEST_TEXT
from terminal import BAD_INPUT, DONE
from tests.tables import each_row

CAPTURES = Path(__file__).resolve().parent / "data" / "nvidia-smi-topo"
SWITCH = ("--machine", "switch:ranks=4")


def capture(number: int) -> str:
    return next(CAPTURES.glob(f"{number:03}-*")).read_text(encoding="utf-8")


@pytest.fixture
def refused(capsys):
    """Runs a command that must be refused; returns its one line."""

    def run(*argv: str) -> str:
        assert cli.main(list(argv)) == BAD_INPUT
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert err.endswith("\n")
        assert "Traceback" not in err
        assert err.startswith("cli.py: ")
        return err.removeprefix("cli.py: ").rstrip()

    return run


def ring(*rest: str, size: str = "1MiB", machine: str = "switch:ranks=4") -> tuple[str, ...]:
    return ("run", "allreduce.ring", "--machine", machine, "--size", size, *rest)


COMMANDS = {
    # nothing, or the wrong thing
    (): "Missing command. See `cli.py --help`",
    ("fly",): "No such command 'fly'. See `cli.py --help`",
    ("run",): "a machine must be given once",
    ("run", *SWITCH): "nothing to run is given: name a COLLECTIVE.ALGORITHM, or add --schedule FILE",
    (
        "run",
        "allreduce.ring",
        "--sise",
        "1",
    ): "No such option '--sise'. (Did you mean",
    ("run", "allreduce.ring", "--size"): "Option '--size' requires an argument.",
    ("list", "planets"): "no list of 'planets': choose from collectives, algorithms, machines, faults, formats",
    ("verify", "allreduce.ring"): "can be made for many numbers of ranks: add --ranks 8",
    ("topology",): "add either --machine NAME or the file",
    ("topology", "x.txt", "--machine", "mesh"): "add either --machine NAME or the file",
    # names
    (
        "run",
        "allreduce.bing",
        *SWITCH,
        "--size",
        "1",
    ): "no algorithm is called 'allreduce.bing': choose from allreduce.",
    ("run", "sumall.ring", *SWITCH, "--size", "1"): "no collective is called 'sumall': choose from allgather,",
    ("run", "ring", *SWITCH, "--size", "1"): "'ring' is an algorithm of a collective: write which, allgather.ring, ",
    ("run", "broadcast.binomial_tree", *SWITCH, "--size", "1"): "choose from broadcast.binomial, broadcast.bin",
    ("run", "", *SWITCH, "--size", "1"): "no collective is called ''",
    ("validate", ""): "a file's name is empty: give the path of ",
    ("accuracy", ""): "a file's name is empty: give the path of ",
    ring(machine="swatch"): "no machine is called 'swatch': choose from switch, a100_pcie_pairs,",
    ring(machine=""): "no machine is called ''",
    ring(machine="switch:lanes=4"): "switch has no parameter 'lanes': it takes ranks, bandwidth,",
    ring(machine="switch:ranks"): "switch: 'ranks' is not key=value: write it like ranks=8",
    ring(machine="switch:ranks=4,ranks=5"): "switch: ranks is given twice: keep one",
    ring("--set", "channels=2"): "allreduce.ring has no parameter 'channels'",
    ring("--set", "channels"): "'channels' is not key=value",
    ring("--default", "nvlink=1GBps"): "--default adds values missing from a file",
    ("compare", "allreduce.ring", "allreduce.nvls", *SWITCH, *SWITCH, "--size", "1"): "--machine is given 2 times",
    ring("--size=2"): "--size is given 2 times, and takes one value: keep one",
    ring("--ranks", "2", "--ranks", "3", "--ranks=4"): "--ranks is given 3 times, and takes one value: keep one",
    ring("--set", "a=1", "--set", "a=2"): "allreduce.ring: a is given twice: keep one",
    # ranks and roots
    ring("--ranks", "0"): "needs at least 2 ranks, not 0",
    ring("--ranks", "1"): "needs at least 2 ranks, not 1",
    ring("--ranks", "-3"): "needs at least 2 ranks, not -3",
    ring("--ranks", "5"): "switch:ranks=4 holds 4 ranks, not 5: ask for 4 or fewer",
    ring("--ranks", "99999999999"): "holds 4 ranks, not 99999999999",
    ring("--ranks", "4.5"): "--ranks='4.5' is not a whole number: write one like 8",
    ring("--ranks", "four"): "--ranks='four' is not a whole number",
    ring("--ranks", "9" * 5000): "is not a whole number",
    ring("--ranks", ""): "--ranks='' is not a whole number",
    ring(machine="switch:ranks=1"): "needs at least 2 ranks, not 1",
    ring(machine="switch:ranks=0"): "switch: ranks=0 is outside 1..4194304: choose one inside",
    ring(machine="switch:ranks=-4"): "ranks=-4 is outside",
    ring(machine="switch:ranks=1e3"): "ranks='1e3' is not a whole number",
    ("verify", "allreduce.ring", "--ranks", "1"): "needs at least 2 ranks",
    ("verify", "allreduce.recursive_halving", "--ranks", "6"): "no algorithm is called 'allreduce.recursive_halving'",
    ("verify", "allgather.recursive_doubling", "--ranks", "6"): "needs a power of two of ranks, not 6: choose another",
    ("run", "broadcast.linear", *SWITCH, "--size", "1", "--root", "4"): "root 4 is not among ranks 0..3",
    ("run", "broadcast.linear", *SWITCH, "--size", "1", "--root", "-1"): "root -1 is not among ranks 0..3",
    ("run", "broadcast.linear", *SWITCH, "--size", "1", "--root", "a"): "--root='a' is not a whole number",
    # sizes
    ("run", "allreduce.ring", *SWITCH): "no size is given: add --size 64MiB",
    ring(size="0"): "--size '0' is not a whole number of bytes of 1 or more: write it like 64MiB",
    ("run", "allreduce.ring", *SWITCH, "--size=-1MiB"): "--size '-1MiB' is not a whole number of bytes of 1 or more",
    ring(size="1.5"): "--size '1.5' is not a whole number of bytes",
    ring(size="nan"): "--size 'nan' is not a finite number: write it like 64MiB",
    ring(size="inf"): "--size 'inf' is not a finite number",
    ring(size="1e400"): "--size '1e400' is not a finite number",
    ring(size="1e30"): "--size '1e30' is beyond 1PiB",
    ring(size="2PiB"): "--size '2PiB' is beyond 1PiB",
    ring(size="64Mb"): "--size '64Mb' has an unknown unit 'Mb': use B, KB, KiB,",
    ring(size="64 parsecs"): "has an unknown unit 'parsecs'",
    ring(size="MiB"): "--size 'MiB' is not a number with a unit",
    ring(size=""): "--size '' is not a number with a unit",
    ("run", "allreduce.ring", "--machine", "switch:ranks=3", "--size", "1"): "use a size of 3 bytes or more",
    # counts
    ring("--counts", "1,2,3,4"): "--size and --counts are both given",
    ("run", "allreduce.ring", *SWITCH, "--counts", "1,2"): "blocks of equal size: give --size",
    ("run", "allgatherv.ring", *SWITCH, "--counts", "1,2"): "has 4 blocks, but 2 sizes were given: give one size per",
    ("run", "allgatherv.ring", *SWITCH, "--counts", "1,,3,4"): "--counts, block 1: '' is not a number",
    ("run", "allgatherv.ring", *SWITCH, "--counts", "1,2,-3,4"): "--counts, block 2: '-3' is not a whole number",
    ("run", "allgatherv.ring", *SWITCH, "--counts", "1PiB,1PiB,1,1"): "1 PiB at most together",
    # real numbers
    ring("--dtype", "bf16"): "--dtype 'bf16' is unknown: choose from float32, float64, int64, float16",
    ring("--op", "median"): "--op 'median' is unknown: choose from sum, mean, max, min, prod",
    ring("--dtype", "int64", size="30"): "--size 30 is no whole number of int64 elements: use multiples of 8 bytes",
    (
        *("run", "allgatherv.ring", "--machine", "switch:ranks=2"),
        *("--counts", "4,3", "--op", "sum"),
    ): "--counts: 3 is no whole number of float32 elements",
    ("run", "barrier.linear", *SWITCH, "--op", "sum"): "moves no data, so it cannot run on buffers",
    # bandwidths and latencies
    ring(machine="switch:bandwidth=0"): "bandwidth '0' is not above zero: write it like 25GBps",
    ring(machine="switch:bandwidth=-25GBps"): "bandwidth '-25GBps' is not above zero",
    ring(machine="switch:bandwidth=nan"): "bandwidth 'nan' is not a finite number",
    ring(machine="switch:bandwidth=inf"): "bandwidth 'inf' is not a finite number",
    ring(machine="switch:bandwidth=25GB"): "bandwidth '25GB' has an unknown unit 'GB': use GBps, GiBps or Gbps",
    ring(machine="switch:latency=-1us"): "latency '-1us' is negative: write it like 1.5us",
    ring(machine="switch:latency=nan"): "latency 'nan' is not a finite number",
    ring(machine="switch:latency=1parsec"): "latency '1parsec' has an unknown unit 'parsec': use s, ms, us or ns",
    ring(machine="switch:latency=1e308"): "latency '1e308' is beyond 1e6 seconds",
    ring(machine="switch:gamma=1e308"): "gamma '1e308' is beyond 1e6 seconds",
    ring(machine="switch:bandwidth=5e-324"): "bandwidth '5e-324' is not between 1 B/s and 1 EB/s",
    ring(machine="switch:bandwidth=1e308TBps"): "bandwidth '1e308TBps' is not between 1 B/s and 1 EB/s",
    ring(machine="switch:overhead=-1"): "overhead '-1' is negative",
    # faults
    ring("--fault", "flood"): "no fault is called 'flood': choose from background,",
    ring("--fault", "straggler:rank=4"): "has ranks 0..3, not 4",
    ring("--fault", "slow_link:src=GPU0,dst=GPU1"): "no link GPU0 -> GPU1",
    # files
    ring("--topology", "x.txt"): "a machine must be given once",
    ("topology", "no/such/file.txt"): "no/such/file.txt cannot be read (No such file or directory)",
    ("topology", "."): ". cannot be read (Is a directory)",
    ("topology", ""): "a file's name is empty: give the path of a topology file",
    ring("--trace", "no/such/folder/x.json"): "no/such/folder/x.json cannot be written (No such file or directory)",
}


@pytest.mark.parametrize("argv", [pytest.param(argv, id=" ".join(argv)[:80]) for argv in COMMANDS])
def test_a_wrong_command_is_told_in_one_line(argv, refused):
    line = refused(*argv)
    assert COMMANDS[argv] in line
    assert len(line) < 700


def test_one_byte_over_three_ranks_names_the_least_size(refused):
    line = refused("run", "allreduce.ring", "--machine", "switch:ranks=3", "--size", "1")
    assert "less than one byte each" in line
    assert cli.main(["run", "allreduce.ring", "--machine", "switch:ranks=3", "--size", "3"]) == DONE


def test_control_characters_do_not_reach_the_terminal(refused):
    line = refused("topology", "\x1b[31mred\nnext\x07")
    assert line.isprintable()


TEXTS = {
    "a -p2p matrix": (capture(9), "is the output of `nvidia-smi topo -p2p`"),
    "rows cut off": (capture(37), "is cut: the rows of GPU5,"),
    "the row of GPU1 cut": (capture(1).replace("GPU1    NV2      X      0-23            N/A\n", ""), "GPU1"),
    "cells glued": (capture(1).replace("NV2     0-23", "NV20-23"), ""),
    "the last cells cut": (re.sub(r"(GPU1 +NV2).*", r"\1", capture(1)), "GPU1"),
    "an unknown class": (capture(1).replace("NV2", "WIFI"), "row GPU0 (line 2)"),
    "two answers for one pair": (capture(1).replace("GPU1    NV2", "GPU1    PIX"), ""),
    "nothing": ("", "is empty"),
    "white space": (" \n\t\n", "is empty"),
    "prose": ("Dear all,\nthe cluster is down.\n", "is no topology known here"),
    "a web page": ("<!DOCTYPE html><html></html>", "is a web page"),
    "an error message": ("bash: nvidia-smi: command not found\n", "is an error message"),
    "a table of nccl-tests": ("#  out-of-place   in-place\n# size count\n", "is a table of nccl-tests"),
    "zeroes": ("\0" * 100, "is not a text file"),
    "far too much": ("x" * (LARGEST_TEXT + 1), "is larger than 1 MiB"),
}


@pytest.mark.parametrize("what", TEXTS)
def test_a_wrong_file_is_told_in_one_line(what, refused, tmp_path):
    text, told = TEXTS[what]
    file = tmp_path / "topo.txt"
    file.write_text(text, encoding="utf-8")
    for command in (("topology", str(file)), ("run", "allreduce.ring", "--size", "1MiB", "--topology", str(file))):
        line = refused(*command)
        assert "topo.txt" in line
        assert told in line


def test_a_wrong_assumption_is_told_in_one_line(refused):
    file = str(next(CAPTURES.glob("001-*")))
    assert "no parameter 'nvlinks'" in refused("topology", file, "--default", "nvlinks=3GBps")
    assert "nvlink 'fast' is not a number" in refused("topology", file, "--default", "nvlink=fast")


@pytest.mark.parametrize("number", [11, 14], ids=["ANSI underlines", "ANSI in two GPUs"])
def test_escape_sequences_in_a_capture_do_no_harm(number, capsys):
    file = next(CAPTURES.glob(f"{number:03}-*"))
    assert "\x1b" in file.read_text(encoding="utf-8")
    assert cli.main(["topology", str(file)]) == DONE
    out, err = capsys.readouterr()
    assert err == ""
    assert "\x1b" not in out


def test_line_ends_encodings_and_glued_columns_do_no_harm(tmp_path, capsys):
    told = []
    for name, data in {
        "unix": capture(1).encode(),
        "crlf": capture(1).replace("\n", "\r\n").encode(),
        "bom": capture(1).encode("utf-8-sig"),
        "powershell": capture(1).encode("utf-16"),
        "glued": capture(1).replace("GPU0    GPU1    CPU", "GPU0GPU1CPU").encode(),
    }.items():
        (tmp_path / name).write_bytes(data)
        assert cli.main(["topology", str(tmp_path / name)]) == DONE
        told.append(capsys.readouterr().out.replace(name, ""))
    assert len(set(told)) == 1


@each_row("size", ["4", "1PiB"])
@each_row("bandwidth", ["1Bps", "1e18"])
@each_row("wait", ["0", "1e-300", "1e6"])
def test_the_most_extreme_numbers_that_are_taken_give_finite_answers(size, bandwidth, wait, capsys):
    machine = f"switch:ranks=4,bandwidth={bandwidth},latency={wait},overhead={wait},gamma={wait}"
    assert cli.main([*ring(size=size, machine=machine), "--json"]) == DONE
    found = json.loads(capsys.readouterr().out)
    assert 0 < found["bound_s"] <= found["time_s"] * (1 + 1e-12)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=30), where=st.integers(0, 4))
def test_any_text_in_any_place_is_done_or_refused_in_one_line(text, where, capsys):
    places = ["1MiB", "2", "0", "switch:ranks=2", "allreduce.ring"]
    places[where] = text
    size, ranks, root, machine, algorithm = places
    argv = ["run", f"--size={size}", f"--ranks={ranks}", f"--root={root}", f"--machine={machine}", "--", algorithm]
    status = cli.main(argv)
    out, err = capsys.readouterr()
    assert status in (DONE, BAD_INPUT)
    assert (err == "") == (status == DONE)
    assert err.count("\n") == (status == BAD_INPUT)
    assert (out == "") == (status == BAD_INPUT)
