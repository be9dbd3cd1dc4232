"""Sweeps that are killed, resumed and spread over a cluster end with the same table, every cell once."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL, SIGTERM

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cli
from ops.formats import write_schedule
from ops.lab import pool
from ops.lab.cells import name_of, rows
from ops.lab.grid import Grid, read_grid
from ops.lab.journal import Journal
from ops.lab.sweep import sweep
from ops.plan import Plan
from ops.registry import ALGORITHMS
from ops.run import execute
from ops.run.work import registered
from sim.base.machine_code.notices import COLD, QUIET
from sim.errors import InputError
from sim.machines import build
from terminal import BAD_INPUT, DONE
from tests.ops.lab.clusters import AXES, dask_cluster, group_of, killed, lines, started, wait_for
from tests.ops.lab.conftest import here
from tests.ops.lab.deadly import DEADLY, deadly
from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[3]
SMALL = Grid(algorithms=AXES["algorithms"], machines=["switch:ranks=4"], sizes=["1KiB", "1MiB"])


def words(axes, table: Path) -> list[str]:
    named = {"machines": "--machine", "faults": "--fault"}
    found = [word for axis, flag in named.items() for text in axes[axis] for word in (flag, text)]
    return [*axes["algorithms"], *found, "--sizes", ",".join(axes["sizes"]), "--seeds", "1,2,3", "-o", str(table)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The table of a sweep that nothing disturbed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ops.lab.sweep.cores", here)
        return sweep(Grid(**AXES), tmp_path_factory.mktemp("whole") / "t.parquet", jobs=1).table


@pytest.mark.slow
def test_every_cell_is_what_a_run_of_its_own_gives(whole):
    assert whole.num_rows == 2 * 2 * 6 * 4 == len(Grid(**AXES).cells())
    for found in whole.to_pylist()[::7]:
        topology = build(found["machine"])
        work = registered(ALGORITHMS[found["algorithm"]], topology.n, topology=topology)
        alone = execute(topology, work, found["size_bytes"], fault=[found["fault"]] if found["fault"] else [])
        assert (found["time_s"], found["busbw_Bps"]) == (alone.time, alone.busbw)
        assert found["bound_s"] == alone.bound
        assert found["verified"] is True
        assert found["reason"] is None


def test_pandas_duckdb_and_arrow_read_the_table(tmp_path):
    path = tmp_path / "t.parquet"
    table = sweep(SMALL, path, jobs=1).table
    assert pq.read_table(path).equals(table)
    assert list(pd.read_parquet(path)["cell"]) == table["cell"].to_pylist()
    (row,) = duckdb.sql(f"select count(*), max(time_s) from '{path}' where \"machine.ranks\" = '4'").fetchall()
    assert row == (4, max(table["time_s"].to_pylist()))


def test_a_sweep_that_stopped_half_way_goes_on_there(tmp_path, whole):
    path, kept = tmp_path / "t.parquet", [row for cell in Grid(**AXES).cells()[:12] for row in rows([cell])]
    journal = Journal(path)
    journal.add(kept)
    journal.leave()
    with journal.path.open("ab") as file:
        file.write(b'{"cell": "cut sho')
    resumed = sweep(Grid(**AXES), path, jobs=1)
    assert resumed.before == len(kept)
    assert resumed.table.equals(whole)
    assert not journal.path.exists()


@pytest.mark.long
@pytest.mark.parametrize("signal", [SIGKILL, SIGTERM])
def test_a_sweep_killed_half_way_leaves_no_process_and_goes_on_where_it_stopped(signal, tmp_path, whole):
    path, journal = tmp_path / "t.parquet", tmp_path / "t.parquet.journal"
    running = started("cli.py", "sweep", *words(AXES, path), "--jobs", "2")
    wait_for(lambda: lines(journal) >= 12, running)
    running.send_signal(signal)
    running.wait()
    wait_for(lambda: not group_of(running))
    kept = [json.loads(line)["cell"] for line in journal.read_text().splitlines(keepends=True) if line.endswith("\n")]
    assert 12 <= len(kept) < whole.num_rows
    told = sweep(Grid(**AXES), path, jobs=2)
    assert told.before == len(set(kept))
    assert told.table.equals(whole)
    assert not journal.exists()


@pytest.mark.long
def test_a_cluster_gives_the_same_table_though_a_worker_is_killed(tmp_path, whole):
    path = tmp_path / "t.parquet"
    with dask_cluster(tmp_path, workers=2) as (address, workers):
        running = started("cli.py", "sweep", *words(AXES, path), "--dask", address)
        wait_for(lambda: lines(tmp_path / "t.parquet.journal") >= 8, running)
        killed(workers[0])
        assert running.wait(120) == DONE
    assert pq.read_table(path).equals(whole)


@pytest.mark.long
def test_a_cluster_that_knows_nothing_of_the_project_gives_the_same_table(tmp_path):
    with dask_cluster(tmp_path, workers=2, home=tmp_path) as (address, _):
        told = sweep(SMALL, tmp_path / "t.parquet", dask=address)
    assert told.failed == 0
    assert told.table.equals(sweep(SMALL, tmp_path / "whole.parquet", jobs=1).table)


def test_a_finished_sweep_runs_nothing_again(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    first = sweep(SMALL, path, jobs=1)
    monkeypatch.setattr("ops.lab.sweep.cores", None)
    second = sweep(SMALL, path, jobs=1)
    assert (second.before, second.table) == (4, first.table)


def test_a_table_grows_with_other_grids(tmp_path):
    path = tmp_path / "t.parquet"
    sweep(SMALL, path, jobs=1)
    told = sweep(Grid(algorithms=["allreduce.ring"], machines=["ring:ranks=4"], sizes=["2MiB"]), path, jobs=1)
    assert (told.before, told.cells, told.table.num_rows) == (0, 1, 5)


def test_networks_are_an_axis_and_leave_other_cells_their_names(tmp_path):
    path, machine = tmp_path / "t.parquet", "nodes:nodes=2,gpus=4"
    axes = {"algorithms": ["allreduce.ring"], "machines": [machine, "dgx1v"], "sizes": ["1MiB"]}
    without = sweep(Grid(**axes), path, jobs=1).table
    swept = sweep(Grid(**axes, networks=["own", "ethernet_10g", "infiniband_ndr"]), path, jobs=1)
    assert (swept.before, swept.cells, swept.failed) == (2, 6, 2)
    rows = swept.table.to_pylist()
    assert [row for row in rows if row["network"] is None] == without.to_pylist()
    times = {row["network"]: row["time_s"] for row in rows if row["machine"] == machine}
    for network in ("ethernet_10g", "infiniband_ndr"):
        plan = Plan("allreduce.ring", machine, network=network, size="1MiB")
        assert times[network] == plan.run().time
    assert "dgx1v has no network between hosts" in next(row["reason"] for row in rows if row["reason"])


def test_winners_are_mapped_for_one_network(capsys):
    asked = [
        "winners",
        "allreduce.ring",
        "allreduce.rabenseifner",
        "--machine",
        "nodes:nodes=2,gpus=4",
        "--sizes",
        "1KiB,1GiB",
    ]
    assert cli.main([*asked, "--ranks", "8", "--network", "infiniband_ndr", "--jobs", "1", "--json"]) == DONE
    assert len(json.loads(capsys.readouterr().out)["winners"][0]) == 2
    assert cli.main([*asked, "--ranks", "8", "--network", "own,ethernet", "--jobs", "1"]) != DONE
    assert "with network its own and ethernet: a map of winners has one machine" in capsys.readouterr().err
    assert cli.main([*asked, "--network", "pigeons", "--jobs", "1"]) != DONE
    assert "no network is called 'pigeons': choose from own, ethernet" in capsys.readouterr().err


def test_what_cannot_be_run_is_a_row_with_its_reason(tmp_path):
    grid = Grid(
        algorithms=["allgather.recursive_doubling", "barrier.linear"],
        machines=["switch:ranks=6", "ring:ranks=4"],
        ranks=["4", "5"],
        faults=["none", "straggler:rank=5,late=1ms"],
        sizes=["1KiB"],
    )
    told = sweep(grid, tmp_path / "t.parquet", jobs=1)
    reasons = Counter(told.table["reason"].to_pylist())
    assert told.cells == told.table.num_rows == 16
    assert told.failed == 16 - reasons[None] > 0
    assert any("needs a power of two of ranks, not 5" in (reason or "") for reason in reasons)
    assert any("holds 4 ranks, not 5" in (reason or "") for reason in reasons)
    assert any("has ranks 0..3, not 5" in (reason or "") for reason in reasons)


@pytest.mark.long
def test_a_cell_that_kills_its_process_fails_alone(tmp_path, monkeypatch):
    """Its neighbours in the same batch, and those that ran beside it, are tried again."""
    monkeypatch.setattr(pool, "rows", deadly)
    told = sweep(Grid(**{**AXES, "seeds": ["1"]}), tmp_path / "t.parquet", jobs=2)
    failures = [row for row in told.table.to_pylist() if row["reason"]]
    assert told.table.num_rows == 48
    assert len(failures) == 2
    assert {(row["algorithm"], row["machine"], row["size_bytes"]) for row in failures} == {DEADLY}
    assert {row["reason"] for row in failures} == {pool.KILLED}


def test_a_file_is_a_machine_too_and_stays_with_the_table(tmp_path, capsys):
    capture = Path("tests/data/nvidia-smi-topo")
    file = next(iter(sorted(capture.glob("*.txt"))))
    path = tmp_path / "t.parquet"
    asked = ["sweep", "allreduce.ring", "--topology", str(file), "--sizes", "1MiB", "-o", str(path), "--jobs", "1"]
    assert cli.main([*asked, "--json"]) == DONE
    assert json.loads(capsys.readouterr().out)["failed"] == 0
    kept = json.loads(pq.read_schema(path).metadata[b"ringside.machines"])
    assert kept == {str(file): file.read_text(encoding="utf-8-sig")}


YAML = """\
algorithms: [allreduce.ring, "broadcast.chain"]
machines: [switch]
vary:
  ranks: [4, 8]
  bandwidth: 25GBps
set:
  segments: [1, 4]
sizes: 1KiB..4KiB
"""


def test_a_grid_in_yaml():
    cells = read_grid(YAML, "g.yaml", str).cells()
    assert len(cells) == (1 + 2) * 2 * 3
    assert {cell.machine for cell in cells} == {"switch:ranks=4,bandwidth=25GBps", "switch:ranks=8,bandwidth=25GBps"}
    assert {cell.settings for cell in cells if cell.algorithm == "broadcast.chain"} == {"segments=1", "segments=4"}


@pytest.mark.slow
def test_the_grid_of_the_documents_is_one():
    page = Path("docs/lab.md").read_text(encoding="utf-8")
    schedule = write_schedule(registered(ALGORITHMS["allreduce.ring"], 4).schedule, "msccl_xml")
    grid = read_grid(page.partition("```yaml\n")[2].partition("```")[0], "lab.md", str, lambda file: schedule)
    assert grid.texts == {"my-box.txt": "my-box.txt"}
    cells = grid.cells()
    assert len({name_of(cell) for cell in cells}) == len(cells) > 1000
    assert "straggler:rank=0,late=1ms;jitter:mean=1us,seed=2" in {cell.fault for cell in cells}


@each_row(
    "change, says",
    [
        (("machines:", "machine:"), "g.yaml, line 2"),
        (("[switch]", "{switch: 1}"), "g.yaml, line 2"),
        (("1KiB..4KiB", "4KiB..1KiB"), "goes down"),
        (("1KiB..4KiB", "1KiB..4KiB*1"), "the factor=1 is outside 2.."),
        (("sizes: 1KiB..4KiB", ""), "no size is given"),
        (("  bandwidth:", "  bandwith:"), "no machine of this grid has a parameter 'bandwith' to vary"),
        (("[1, 4]", "[0]"), "segments=0 is outside"),
        (("allreduce.ring,", "allreduce.rink,"), "no algorithm is called 'allreduce.rink'"),
        (("25GBps", "25Gapples"), "unknown unit"),
        (("sizes:", "seeds: [1]\nsizes:"), "no fault of this grid draws anything"),
        (("sizes:", "faults: [sunspots]\nsizes:"), "no fault is called 'sunspots'"),
        (("sizes:", f"ranks: [{','.join(map(str, range(2, 3000)))}]\nsizes:"), "is larger than"),
        (("[4, 8]", "[" + "4, " * 5000 + "4]\n  latency: [" + "1us, " * 5000 + "1us]"), "are more than"),
    ],
)
def test_a_grid_that_cannot_be_is_told_in_one_sentence(change, says):
    text = YAML.replace(*change)
    if "larger" in says:
        text = text.replace("sizes: 1KiB..4KiB", f"sizes: [{','.join(map(str, range(1, 2000)))}]")
    with pytest.raises(InputError, match=says.replace("[", r"\[").replace(".", r"\.")):
        read_grid(text, "g.yaml", str).cells()


HERE = "barrier.linear --machine switch"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("allreduce.ring -o {}/t.csv", "does not end in .parquet"),
        ("allreduce.ring -o {}/t.parquet", "needs machines"),
        ("-o {}/t.parquet --machine switch", "needs algorithms"),
        ("allreduce.ring -o {}/t.parquet --grid x.yaml", "x.yaml holds the whole grid"),
        ("-o {}/t.parquet --grid {}/none.yaml", "cannot be read"),
        (f"{HERE} --jobs -1 -o {{}}/t.parquet", "--jobs -1 is below zero"),
        (f"{HERE} -o {{}}/junk.parquet", "is not a Parquet table"),
        (f"{HERE} -o {{}}/other.parquet", "another kind of table"),
        pytest.param(f"{HERE} --dask tcp://127.0.0.1:9 -o {{}}/t.parquet", "no Dask scheduler", marks=pytest.mark.slow),
        (f"{HERE} --dask tls://127.0.0.1:9 -o {{}}/t.parquet", "Dask has no certificates for tls://127.0.0.1:9: set"),
        (f"{HERE} --dask wss://127.0.0.1:9 -o {{}}/t.parquet", "Dask has no certificates for wss://127.0.0.1:9: set"),
        (f"{HERE} --dask ucx://127.0.0.1:9 -o {{}}/t.parquet", "no Dask scheduler at ucx://127.0.0.1:9 ("),
        (f"{HERE} --dask htps://127.0.0.1:9 -o {{}}/t.parquet", "unknown address scheme 'htps'"),
        (f"{HERE} --dask nonsense -o {{}}/t.parquet", "missing port number in address 'nonsense'"),
    ],
)
def test_what_cannot_be_swept_is_told_in_one_line(asked, says, tmp_path, capsys):
    (tmp_path / "junk.parquet").write_bytes(b"not a table")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    assert cli.main(["sweep", *asked.replace("{}", str(tmp_path)).split()]) == BAD_INPUT
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert says in err


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n" * 20])
def test_a_server_that_is_no_scheduler_is_told_in_one_line(answer, tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(pool, "ANSWER", 1)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            with suppress(OSError):
                connection, _ = server.accept()
                with connection:
                    connection.sendall(answer)
                    while connection.recv(1 << 20):
                        pass

        threading.Thread(target=serve, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(InputError, match=f"^no Dask scheduler at {address}") as told:
            sweep(SMALL, tmp_path / "t.parquet", dask=address)
    assert "\n" not in str(told.value)
    assert capfd.readouterr() == ("", "")
    assert not list(tmp_path.iterdir())


def test_a_sweep_without_compiled_kernels_says_so_once(tmp_path):
    table = str(tmp_path / "t.parquet")
    words = ["cli.py", "sweep", *HERE.split(), "--sizes", "1KiB,2KiB", "--jobs", "2", "-o", table]
    cold = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), QUIET: ""}
    told = subprocess.run([sys.executable, *words], cwd=ROOT, env=cold, capture_output=True, text=True, check=True)
    assert told.stderr == f"{COLD}\n"


def test_two_sweeps_never_write_one_table(tmp_path):
    journal = Journal(tmp_path / "t.parquet")
    with pytest.raises(InputError, match="is being written by another sweep"):
        sweep(SMALL, tmp_path / "t.parquet", jobs=1)
    journal.leave()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "error, reason", [(InputError("stopped after 60 s"), "stopped after 60 s"), (BrokenPipeError(), pool.KILLED)]
)
def test_a_cell_that_ends_its_process_fails_alone_and_says_so(error, reason):
    """Whoever ends its process says why, or it was killed; what it took with it is tried again."""

    def submit(batch):
        future = Future()
        if slow in batch:
            future.set_exception(error)
        else:
            future.set_result(rows(batch))
        return future

    cells = [Plan("allreduce.ring", "switch:ranks=4", size=f"{k}KiB") for k in range(1, 9)]
    slow = cells[3]
    found = [row for some in pool.carried_out(cells, pool.Pool(submit, 2, (type(error),))) for row in some]
    assert len(found) == len(cells)
    assert {row["size_bytes"]: row["reason"] for row in found if row["reason"]} == {4096: reason}


TIDY = """
import sys
import time
from multiprocessing import resource_tracker
from pathlib import Path
from joblib.externals.loky.backend import resource_tracker as of_loky
from ops.lab import pool

with pool.cores(1):
    for tracker in (resource_tracker, of_loky):
        told = Path(f"/proc/{tracker._resource_tracker._pid}/cmdline")
        while told.read_text() in ("", Path("/proc/self/cmdline").read_text()):  # it has forked, but not begun
            time.sleep(0.01)
        print(f"-W{pool.TIDIED}" in told.read_text())
    print(pool.TIDIED in sys.warnoptions)
"""


def test_who_tidies_up_after_processes_does_not_warn():
    """What Ctrl-C has left behind is told by `stopped` alone; other processes warn as before."""
    told = subprocess.run([sys.executable, "-c", TIDY], cwd=ROOT, capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["True", "True", "False"]
