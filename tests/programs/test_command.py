"""The terminal's `mpi`: output, answers as data, files, exit statuses."""

import json

import pytest

import cli
from sim.trace import from_json
from terminal import BAD_INPUT, DONE, NO

PROGRAM = """
import sys
from mpi4py import MPI
comm = MPI.COMM_WORLD
total = comm.allreduce(comm.rank)
if comm.rank == 0:
    comm.send(total, 1)
elif comm.rank == 1:
    print("total", comm.recv(source=0), *sys.argv[1:])
"""


@pytest.fixture
def script(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM, encoding="utf-8")
    return str(file)


def test_the_programs_output_is_all_there_is_on_stdout(script, capsys):
    assert cli.main(["mpi", "-n", "3", script, "a", "--", "--b"]) == DONE
    said = capsys.readouterr()
    assert said.out == "total 3 a --b\n"
    assert "3 ranks on switch:ranks=3" in said.err
    assert "allreduce" in said.err


def test_what_a_librarys_own_processors_take_is_told_beside_the_time_that_lacks_it(script, capsys):
    lines = {
        "gloo": "30 µs a collective, 15 µs a message and the time to add up at 5 GB/s",
        "mpich": "2 µs a collective, 1 µs a message and the time to add up at 10 GB/s",
        "nccl": "8 µs a collective",
    }
    for library, costs in lines.items():
        assert cli.main(["mpi", "-n", "3", "--library", library, script]) == DONE
        says = f"the links' time alone, without what {library} itself takes in workloads: {costs}"
        assert capsys.readouterr().err.splitlines()[1].strip() == says
    assert cli.main(["mpi", "-n", "3", "--library", "gloo", script, "--json"]) == DONE
    (left_out,) = json.loads(capsys.readouterr().out)["left_out"]
    expected = {"library": "gloo", "launch_s": 30e-6, "message_s": 15e-6, "reduce_s_per_byte": 1 / 5e9}
    assert left_out == pytest.approx(expected)


ECHO = "import sys\nprint(sys.argv[1:], flush=True)\n"


@pytest.mark.parametrize(
    "line, argv",
    [
        ("S -n 1 x y", ["x", "y"]),
        ("S x -n 1 y", ["x", "y"]),
        ("S -n 1 -- x --json -n 4", ["x", "--json", "-n", "4"]),
        ("S --steps 3 -n1 --lr=1e-3 -v", ["--steps", "3", "--lr=1e-3", "-v"]),
        ("S --ranks=1 --machine switch:ranks=2 -5 -", ["-5", "-"]),
        ("-n 1 S -n 100 --flag", ["-n", "100", "--flag"]),
        ("-n 1 -- S --machine mesh -- x", ["--machine", "mesh", "--", "x"]),
        ("-n 1 S a -- b -- c", ["a", "b", "--", "c"]),
        ("-n 1 --algorithm allreduce.ring S --algorithm broadcast.binomial x", ["x"]),
        ("-n 1 S", []),
        ("-n 1 python S -n 4 x", ["-n", "4", "x"]),
        ("-n 1 -- /usr/bin/python3.12 -u S --json", ["--json"]),
        ("python3 -W ignore -m mpi4py S -n 1 x", ["x"]),
    ],
)
def test_what_is_behind_the_script_is_the_scripts_unless_the_command_still_needs_it(tmp_path, capsys, line, argv):
    (tmp_path / "echo.py").write_text(ECHO, encoding="utf-8")
    assert cli.main(["mpi", *line.replace("S", str(tmp_path / "echo.py"), 1).split()]) == DONE
    assert capsys.readouterr().out == f"{argv}\n"


@pytest.mark.parametrize(
    "line, part",
    [
        ("--bogus 3 -n 1 S", "No such option '--bogus'"),
        ("S x", "Missing option '-n'"),
        ("-n 1 --", "Missing argument 'SCRIPT.py'"),
        ("S -n", "requires an argument"),
        ("S x -n 1 --open 3", "requires 2 arguments"),
        ("-n 1 python", "Missing argument 'SCRIPT.py'"),
        ("-n 1 python -m pytest S", "python -m pytest: a program is run from its file"),
    ],
)
def test_a_line_that_lacks_something_is_told_so(script, capsys, line, part):
    assert cli.main(["mpi", *line.replace("S", script, 1).split()]) == BAD_INPUT
    assert part in capsys.readouterr().err.splitlines()[-1]


def test_a_silent_program_leaves_stdout_empty(tmp_path, capsys):
    (tmp_path / "silent.py").write_text("from mpi4py import MPI\n", encoding="utf-8")
    assert cli.main(["mpi", str(tmp_path / "silent.py"), "-n", "1"]) == DONE
    assert capsys.readouterr().out == ""


def test_the_answer_as_data(script, capsys):
    assert cli.main(["mpi", script, "-n", "4", "--machine", "dgx1v", "--library", "mpich", "--json"]) == DONE
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert said.err == ""
    assert (found["ranks"], found["output"], found["failure"]) == (4, "total 6\n", None)
    collective, message = found["calls"]
    assert (collective["name"], collective["algorithm"]) == ("allreduce", "allreduce.recursive_doubling")
    assert (message["src"], message["dst"], message["algorithm"]) == (0, 1, "eager")
    assert 0 < collective["end_s"] <= message["begin_s"] < message["end_s"] == found["time_s"]


def test_files_for_perfetto_and_for_the_stage(script, tmp_path, capsys):
    timeline, inside = str(tmp_path / "timeline.json"), str(tmp_path / "inside.json")
    command = ["mpi", script, "-n", "4", "--algorithm", "allreduce.ring", "--trace", timeline, "--open", "0", inside]
    assert cli.main(command) == DONE
    events = json.loads((tmp_path / "timeline.json").read_text(encoding="utf-8"))["traceEvents"]
    assert {e["name"] for e in events if e["ph"] == "X"} == {"allreduce", "send", "recv"}
    trace = from_json((tmp_path / "inside.json").read_text(encoding="utf-8"))
    assert (trace.schedule.name, trace.schedule.n, trace.verdict.verdict) == ("allreduce.ring", 4, "ok")
    assert trace.history is not None
    capsys.readouterr()


def test_a_program_that_fails_ends_with_1_and_keeps_what_it_said(tmp_path, capsys):
    (tmp_path / "stuck.py").write_text(
        "from mpi4py import MPI\nprint('before', flush=True)\nMPI.COMM_WORLD.recv(source=0)\n", encoding="utf-8"
    )
    assert cli.main(["mpi", str(tmp_path / "stuck.py"), "-n", "2"]) == NO
    said = capsys.readouterr()
    assert said.out == "before\nbefore\n"
    assert said.err.splitlines()[-1].startswith("cli.py: deadlock after 0 ns: ranks 0, 1 wait in recv at stuck.py:3")
    assert cli.main(["mpi", str(tmp_path / "stuck.py"), "-n", "2", "--json"]) == NO
    found = json.loads(capsys.readouterr().out)
    assert found["output"] == "before\nbefore\n"
    assert [one["waits_for"] for one in found["deadlock"]] == ["a message from rank 0"] * 2


@pytest.mark.parametrize(
    "flags, part",
    [
        (["-n", "0"], "1 rank or more"),
        (["-n", "many"], "not a whole number"),
        (["-n", "4", "--machine", "switch:ranks=2"], "holds 2 ranks, not 4"),
        (["-n", "2", "--library", "lam"], "no rule is called"),
        (["-n", "2", "--algorithm", "allreduce.magic"], "no algorithm is called"),
        (["-n", "2", "--algorithm", "allreduce.segmented_ring:phases=0"], "outside 1.."),
        (["-n", "2", "--eager", "big"], "--eager"),
        (["-n", "2", "--open", "1", "x.json"], "is a message"),
        (["-n", "2", "--open", "7", "x.json"], "made 2 calls"),
        (["-n", "2", "--trace", "/nowhere/at/all.json"], "cannot be written"),
    ],
)
def test_bad_input_is_told_in_one_line(script, capsys, flags, part):
    assert cli.main(["mpi", script, *flags]) == BAD_INPUT
    said = capsys.readouterr()
    assert part in said.err.splitlines()[-1]


def test_a_script_that_is_not_there(capsys):
    assert cli.main(["mpi", "no_such_file.py", "-n", "2"]) == BAD_INPUT
    assert "no_such_file.py cannot be read" in capsys.readouterr().err


def test_the_summary_names_the_rank_that_all_waited_for(tmp_path, capsys):
    (tmp_path / "late.py").write_text(
        "import time\nfrom mpi4py import MPI\ntime.sleep(MPI.COMM_WORLD.rank % 2)\nMPI.COMM_WORLD.Barrier()\n",
        encoding="utf-8",
    )
    assert cli.main(["mpi", str(tmp_path / "late.py"), "-n", "2"]) == DONE
    assert (
        "  rank 1 came last to collectives at late.py:4 once: others waited 1 s" in capsys.readouterr().err.splitlines()
    )
