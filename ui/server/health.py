"""How the server is doing: its visitors, its workers, its memory; no word of what anybody looks at."""

import os
import time
from pathlib import Path
from typing import Any

from ui.server.guard import CONNECTED
from ui.workers.one import the_pool

BEGUN = time.monotonic()


def health() -> dict[str, Any]:
    """Numbers alone, by name; bytes and seconds are in the names."""
    pool = the_pool()
    load = pool.load()
    return {
        "visitors": CONNECTED.tabs,
        **load,
        "memory_bytes": memory(os.getpid()),
        "workers_memory_bytes": sum(memory(pid) for pid in pool.processes()),
        "most_memory_of_a_worker_bytes": pool.limits.memory,
        "up_s": round(time.monotonic() - BEGUN),
    }


def memory(process: int) -> int:
    """Bytes that a process has to itself or shares; 0 where that is not known."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
