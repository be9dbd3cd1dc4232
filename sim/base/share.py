"""This process's share of the machine: what its container, its limits and its cores leave it, not what the host has."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

ROOT = Path("/")
MOST_MEMORY, MOST_SECONDS, MOST_JOBS = "RINGSIDE_MAX_MEMORY", "RINGSIDE_MAX_SECONDS", "RINGSIDE_MAX_JOBS"
"""Environment variables that say otherwise; `--help` of every command tells what they mean."""
UNBOUNDED = 1 << 60
"""Control groups without a limit of memory say a number above this."""


def memory_share(root: Path = ROOT) -> int:
    """Bytes of memory that this process and its children may use together.

    The smallest of the machine's own, the limits of its control groups (`memory.max`, or `memory.limit_in_bytes` of
    the first version) and the process's own limits.
    """
    return min([_whole(), *_of_groups(root), *_of_process()])


def cores_share(root: Path = ROOT) -> float:
    """Cores that this process may use: those it may run on, and no more than its control groups' quota of time."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return min([float(cores), *_quotas(root)])


def _whole() -> int:
    with suppress(ValueError, OSError, AttributeError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return UNBOUNDED


def _of_process() -> Iterator[int]:
    with suppress(ImportError, ValueError, OSError):
        import resource

        for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
            _, limit = resource.getrlimit(kind)  # the soft one may be this program's own
            if limit != resource.RLIM_INFINITY:
                yield limit


def _of_groups(root: Path) -> Iterator[int]:
    for folder in _folders(root, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            word = _words(folder / name)[:1]
            if word and word[0].isdecimal() and int(word[0]) < UNBOUNDED:
                yield int(word[0])


def _quotas(root: Path) -> Iterator[float]:
    for folder in _folders(root, "cpu"):
        quota = _words(folder / "cpu.max") or [
            *_words(folder / "cpu.cfs_quota_us"),
            *_words(folder / "cpu.cfs_period_us"),
        ]
        if len(quota) == 2 and all(word.isdecimal() for word in quota) and int(quota[0]) and int(quota[1]):
            yield int(quota[0]) / int(quota[1])


def _folders(root: Path, controller: str) -> Iterator[Path]:
    """The folders of the process's control groups and of all that hold them; a container sees its own as the top."""
    tree = root / "sys" / "fs" / "cgroup"
    tops = {"": tree, controller: tree / controller}
    for line in _lines(root / "proc" / "self" / "cgroup"):
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for name in {controller if controller in controllers.split(",") else None, "" if not controllers else None}:
            if name is not None:
                inner = PurePosixPath(path.lstrip("/"))
                yield from (tops[name] / folder for folder in (inner, *inner.parents) if ".." not in folder.parts)
    yield from tops.values()


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _words(path: Path) -> list[str]:
    return " ".join(_lines(path)[:1]).split()
