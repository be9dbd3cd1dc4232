"""Two servers fork the processes of all scripts; without PyTorch nothing of this runs."""

from importlib.util import find_spec
from textwrap import dedent

import pytest

from ops.programs.pytorch import run_torch
from sim.machines import build

RANKS = 4


@pytest.fixture(scope="session")
def servers(tmp_path_factory):
    """What forks processes with the simulator's parts, and without."""
    if find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    from tests.programs.pytorch.forking import Server

    folder = tmp_path_factory.mktemp("servers")
    both = [Server(folder), Server(folder, plain=True)]
    yield both
    for server in both:
        server.close()


@pytest.fixture
def run(servers, tmp_path):
    """Run a script given as text on 4 ranks, or as `machine` and the other words of `run_torch` say."""

    def run(script, machine="switch:ranks=4", ranks=RANKS, **options):
        file = tmp_path / "script.py"
        file.write_text(dedent(script), encoding="utf-8")
        return run_torch(file, build(machine), ranks, start=servers[0].start, **options)

    return run


@pytest.fixture
def plainly(servers, tmp_path):
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
            processes.append(servers[1].start(["", str(file)], {**environment, **more}, rank, said.append))
        for process in processes:
            process.wait(60.0)
        assert [process.status for process in processes] == [0] * ranks
        return sorted("".join(said).splitlines())

    return plainly
