"""`os.environ` as every rank has it: the real one, and what launchers tell the processes they start."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, MutableMapping

from ops.programs.runtime.tasks import Tasks
from ops.programs.runtime.transport import Transport

MASTER = "127.0.0.1", "29500"
"""Address and port at which ranks meet: torchrun's defaults (torch/distributed/run.py)."""


class RankEnvironment(MutableMapping[str, str]):
    """Each rank reads and changes variables of its own; whoever is no rank gets those of the process.

    One object serves all ranks, so that a library which keeps it from its import on reads the right ones.
    """

    def __init__(self, tasks: Tasks, process: MutableMapping[str, str], launched: list[dict[str, str]]) -> None:
        self._tasks, self._process, self._launched = tasks, process, launched
        self._own: dict[int, dict[str, str]] = {}

    @property
    def _current(self) -> MutableMapping[str, str]:
        task = self._tasks.current
        if task is None:
            return self._process
        if task.rank not in self._own:
            self._own[task.rank] = {**self._process, **self._launched[task.rank]}
        return self._own[task.rank]

    def __getitem__(self, name: str) -> str:
        return self._current[name]

    def __setitem__(self, name: str, value: str) -> None:
        for text in (name, value):
            if not isinstance(text, str):
                raise TypeError(f"str expected, not {type(text).__name__}")
        self._current[name] = value

    def __delitem__(self, name: str) -> None:
        del self._current[name]

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._current))

    def __len__(self) -> int:
        return len(self._current)

    def __repr__(self) -> str:
        return f"environ({self.copy()!r})"

    def copy(self) -> dict[str, str]:
        """The variables as they are now."""
        return dict(self._current)

    def __or__(self, other: Mapping[str, str]) -> dict[str, str]:
        return {**self._current, **other}

    def __ror__(self, other: Mapping[str, str]) -> dict[str, str]:
        return {**other, **self._current}

    def __ior__(self, other: Mapping[str, str]) -> "RankEnvironment":
        self.update(other)
        return self


def launched(world: Transport) -> list[dict[str, str]]:
    """What torchrun and MPICH's mpiexec set for every rank: a host of the machine is a node.

    Sources: torch/distributed/elastic/agent/server/local_elastic_agent.py and torch/distributed/run.py of PyTorch,
    src/pm/hydra of MPICH.
    """
    nodes = {host: node for node, host in enumerate(dict.fromkeys(world.hosts))}
    local = Counter(world.hosts)
    address, port = MASTER
    size, threads = str(world.size), os.environ.get("OMP_NUM_THREADS", "1")
    before: Counter[int] = Counter()
    every = []
    for rank, host in enumerate(world.hosts):
        place, here = str(before[host]), str(local[host])
        before[host] += 1
        every.append({
            "RANK": str(rank), "WORLD_SIZE": size, "LOCAL_RANK": place, "LOCAL_WORLD_SIZE": here,
            "GROUP_RANK": str(nodes[host]), "GROUP_WORLD_SIZE": str(len(nodes)),
            "ROLE_RANK": str(rank), "ROLE_WORLD_SIZE": size, "ROLE_NAME": "default",
            "MASTER_ADDR": address, "MASTER_PORT": port,
            "TORCHELASTIC_RUN_ID": "none", "TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_MAX_RESTARTS": "0",
            "TORCHELASTIC_USE_AGENT_STORE": "True", "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1",
            "OMP_NUM_THREADS": threads,
            "PMI_RANK": str(rank), "PMI_SIZE": size, "MPI_LOCALRANKID": place, "MPI_LOCALNRANKS": here,
        })  # fmt: skip
    return every
