"""A server forks the processes of all scripts; without PyTorch nothing of this runs."""

import json
import time
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent

import pytest

from ops.plan.examples import PROGRAMS
from ops.programs.pytorch import run_torch
from sim.machines import build

RANKS = 4
LESSONS = ("gather_gradient", "average", "local_loss")
FILES = sorted((Path(__file__).parents[2] / "data" / "pytorch-scripts").glob("*.txt"))
"""After PyTorch's tutorials and examples, small: what each rank prints does not depend on time."""
SCRIPTS = {path.stem: path.read_text(encoding="utf-8") for path in FILES}
HEAD = SCRIPTS.pop("head")
"""What every script begins with."""
EVERY = {name: HEAD + text for name, text in SCRIPTS.items()} | {
    name: (PROGRAMS / f"{name}.py").read_text(encoding="utf-8") for name in LESSONS
}
"""Scripts that print the same here and under gloo, by their names."""


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


@pytest.fixture(scope="session")
def plainly(server, tmp_path_factory):
    """Run a script on 4 ranks under gloo alone; returns the lines that it prints, sorted."""
    folder = tmp_path_factory.mktemp("plain")

    def plainly(script, argv=(), **more):
        from ops.programs.pytorch.processes import environments

        file = folder / "plain.py"
        file.write_text(dedent(script), encoding="utf-8")
        said, running = [], []
        for rank, place in enumerate(environments(RANKS, 1, str(folder), "", 65536)):
            environment = {key: value for key, value in place.items() if key not in ("PYTHONPATH", "RINGSIDE_HUB")}
            words = ["", str(file), *argv]
            running.append(server.start(words, {**environment, **more}, rank, said.append, plain=True))
        until = time.monotonic() + 300.0
        while None in (ended := [process.status for process in running]) and not any(ended):
            if time.monotonic() > until:
                break
            time.sleep(0.01)
        for process in running:  # others wait for ever for one that failed
            process.end()
            process.wait(10.0)
        assert ended == [0] * RANKS, "".join(said)
        return sorted("".join(said).splitlines())

    return plainly


@pytest.fixture(scope="session")
def under_gloo(plainly, tmp_path_factory):
    """The lines that every script prints under gloo alone, by its name: 4 processes run one after the other."""
    folder = tmp_path_factory.mktemp("gloo")
    for name, text in EVERY.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    lines = [json.loads(line) for line in plainly(ONE_BY_ONE, [json.dumps([str(folder), [*EVERY]])])]
    return {name: sorted("".join(said for of, said in lines if of == name).splitlines()) for name in EVERY}


ONE_BY_ONE = """
import contextlib
import io
import json
import os
import runpy
import socket
import sys
import time
import torch.distributed as dist
folder, names = json.loads(sys.argv[1])


def port(file):
    # chosen by rank 0 just before it is needed, so that nobody else takes it meanwhile
    if os.environ["RANK"] == "0":
        with socket.socket() as free, open(file + ".new", "w") as new:
            free.bind(("127.0.0.1", 0))
            new.write(str(free.getsockname()[1]))
        os.replace(file + ".new", file)
    while not os.path.exists(file):
        time.sleep(0.005)
    with open(file) as chosen:
        return chosen.read()


def meet(file):
    # a rank that closes its connections takes from others what they have not read
    with open(f"{file}.{os.environ['RANK']}", "w"):
        pass
    while not all(os.path.exists(f"{file}.{rank}") for rank in range(int(os.environ["WORLD_SIZE"]))):
        time.sleep(0.005)


for name in names:
    os.environ["MASTER_PORT"], said = port(os.path.join(folder, name + ".port")), io.StringIO()
    with contextlib.redirect_stdout(said):
        runpy.run_path(os.path.join(folder, name + ".py"), run_name="__main__")
    meet(os.path.join(folder, name + ".ended"))
    dist.destroy_process_group()
    print(json.dumps([name, said.getvalue()]), flush=True)
"""
