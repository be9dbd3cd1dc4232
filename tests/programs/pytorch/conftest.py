"""A server forks the processes of all scripts; without PyTorch nothing of this runs."""

from importlib.util import find_spec
from textwrap import dedent

import pytest

from ops.programs.pytorch import run_torch
from sim.machines import build

RANKS = 4


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """What forks processes with the simulator's parts, and without."""
    if find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    from tests.programs.pytorch.forking import Server

    one = Server(tmp_path_factory.mktemp("server"))
    yield one
    one.close()


@pytest.fixture
def run(server, tmp_path):
    """Run a script given as text on 4 ranks, or as `machine` and the other words of `run_torch` say."""

    def run(script, machine="switch:ranks=4", ranks=RANKS, **options):
        file = tmp_path / "script.py"
        file.write_text(dedent(script), encoding="utf-8")
        return run_torch(file, build(machine), ranks, start=server.start, **options)

    return run


@pytest.fixture
def plainly(server, tmp_path):
    """What a script prints on 4 ranks under gloo alone, its lines sorted."""
    from ops.programs.pytorch.processes import environments

    def plainly(script, ranks=RANKS, **more):
        file = tmp_path / "plain.py"
        file.write_text(dedent(script), encoding="utf-8")
        said = []
        places = environments(ranks, 1, str(tmp_path), "", 65536)
        processes = []
        for rank, place in enumerate(places):
            environment = {key: value for key, value in place.items() if key not in ("PYTHONPATH", "RINGSIDE_HUB")}
            process = server.start(["", str(file)], {**environment, **more}, rank, said.append, plain=True)
            processes.append(process)
        for process in processes:
            process.wait(60.0)
        assert [process.status for process in processes] == [0] * ranks
        return sorted("".join(said).splitlines())

    return plainly
