"""How many processes a launcher's command started: `mpirun -np 16 …`, `srun -N 2 --ntasks-per-node=8 …`."""

import re

from sim.base.numbers import whole

_PROGRAM = re.compile(r"\b(?:osu_[a-z]{2,24}|[a-z_]{4,24}_perf)\b")
_VALUE = r"(?:\s{1,9}|=)(\d{1,6})(?=\s|$)"
_PROCESSES = re.compile(r"(?:^|\s)(?:-{1,2}np|-n|--ntasks)" + _VALUE)
_NODES = re.compile(r"(?:^|\s)(?:-N|--nodes)" + _VALUE)
_PER_NODE = re.compile(r"(?:^|\s)(?:--n?tasks-per-node|-{1,2}npernode|-{1,2}ppn)" + _VALUE)
_GPUS, _THREADS = (re.compile(rf"\s{word}" + _VALUE) for word in ("(?:-g|--ngpus)", "(?:-t|--nthreads)"))
_LONGEST = 10_000
"""Characters of a command that are read."""


def launched(text: str) -> int:
    r"""Ranks of the last benchmark that a text's commands started; 0 where none tells.

    Those of nccl-tests have a rank for every GPU of every thread of a process.

    >>> launched("$ mpirun -np 2 -H a,b osu_allreduce -d cuda"), launched("srun -N 2 --ntasks-per-node=4 ./osu_bcast")
    (2, 8)
    >>> launched("mpirun --np 4 \\\n ./build/all_reduce_perf -b 8 -e 1G -g 2"), launched("we ran all_reduce_perf")
    (8, 0)
    """
    ranks = 0
    for line in re.sub(r"\\\r?\n", " ", text).splitlines():
        program = _PROGRAM.search(line[:_LONGEST])
        if program:
            launcher, arguments = line[: program.start()], line[program.end() : _LONGEST]
            each = (
                1 if program[0].startswith("osu_") else _number(_GPUS, arguments, 1) * _number(_THREADS, arguments, 1)
            )
            processes = _number(_PROCESSES, launcher) or _number(_NODES, launcher, 1) * _number(_PER_NODE, launcher)
            ranks = processes * each or ranks
    return ranks


def _number(pattern: re.Pattern[str], text: str, default: int = 0) -> int:
    match = pattern.search(text)
    return (whole(match[1]) or default) if match else default
