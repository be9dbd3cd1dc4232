"""The processes of a PyTorch program: started as torchrun starts them, heard, and ended with the run."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import IO

from ops.libraries.nccl.releases import NEWEST
from ops.programs.pytorch.rank import link
from sim.errors import InputError

SITE = os.path.join(os.path.dirname(os.path.abspath(link.__file__)), "site")
HERE = "127.0.0.1"


class Process:
    """One process of the script. Its output is echoed line by line."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], rank: int, echo: Callable[[str], None]
    ) -> None:
        self.rank = rank
        self._popen = subprocess.Popen(
            command, env=dict(environment), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, start_new_session=True
        )
        assert self._popen.stdout is not None
        self._listen(self._popen.stdout, echo)

    def _listen(self, output: IO[bytes], echo: Callable[[str], None]) -> None:
        self._reader = threading.Thread(target=_pass_on, args=(output, echo), daemon=True)
        self._reader.start()

    @property
    def status(self) -> int | None:
        """The exit status, None while it runs."""
        return self._popen.poll()

    def wait(self, seconds: float) -> None:
        """Give it time to end, and end it with what it has started."""
        try:
            self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self.end()
        self._reader.join()

    def end(self) -> None:
        """End it with what it has started."""
        try:
            os.killpg(self._popen.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        self._popen.wait()


def _pass_on(output: IO[bytes], echo: Callable[[str], None]) -> None:
    with output:
        for line in output:
            echo(line.decode("utf-8", "replace"))


def environments(per_node: int, nodes: int, folder: str, hub: str, eager: float, gpu: str = "") -> list[dict[str, str]]:
    """Return the variables of every process: the environment, and what torchrun sets.

    Sources: torch/distributed/elastic/agent/server/local_elastic_agent.py and torch/distributed/run.py of PyTorch.
    """
    size, port = per_node * nodes, _free_port()
    path = os.pathsep.join(filter(None, (SITE, os.environ.get("PYTHONPATH"))))
    common = {
        **os.environ, link.HUB: hub, link.FOLDER: folder, link.NCCL: NEWEST, link.GPU: gpu,
        link.EAGER: str(int(eager)), "PYTHONPATH": path,
        "WORLD_SIZE": str(size), "LOCAL_WORLD_SIZE": str(per_node), "GROUP_WORLD_SIZE": str(nodes),
        "ROLE_WORLD_SIZE": str(size), "ROLE_NAME": "default", "MASTER_ADDR": HERE, "MASTER_PORT": str(port),
        "TORCHELASTIC_RUN_ID": "none", "TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_MAX_RESTARTS": "0",
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
    }  # fmt: skip
    return [
        {
            **common, "RANK": str(rank), "ROLE_RANK": str(rank), "LOCAL_RANK": str(rank % per_node),
            "GROUP_RANK": str(rank // per_node),
        }
        for rank in range(size)
    ]  # fmt: skip


def require_torch() -> None:
    """Raise InputError where PyTorch is not installed."""
    if find_spec("torch") is None:
        raise InputError("torchrun.no_torch")


def interpreter() -> str:
    """Return the Python that runs the script: this one."""
    return sys.executable


def _free_port() -> int:
    with socket.socket() as one:
        one.bind((HERE, 0))
        return int(one.getsockname()[1])
