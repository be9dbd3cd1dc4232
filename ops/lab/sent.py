"""What a Dask cluster that knows nothing of this project is sent: its modules, once to every worker.

A cluster is started in any folder and by others. Its scheduler unpacks what it is to hand out, so that a task may name
nothing of ours: it is bytes, which a worker unpickles. A worker that has the modules uses its own.
"""

import hashlib
import io
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sim.errors import InputError

ROOMS = Path(__file__).resolve().parents[2]
"""The folder of `sim` and `ops`: a checkout, or the package that was made of it."""
SENT = ("sim", "ops")
PREFIX = "sent-"
"""Of the name of the folder that a worker unpacks to."""


class RemoteCall:
    """A call that is carried out by being unpickled."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._call = function, arguments

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self._call

    def task(self) -> bytes:
        """What `pickle.loads` makes the call of."""
        return pickle.dumps(self)


def send(client: Any, needed: str) -> None:
    """Have all workers of a Dask client, and those that join it later, find a module. Raises InputError."""
    archive = packed(needed)
    try:
        client.register_plugin(_plugin(archive, needed))
    except OSError as error:
        raise InputError("dask.no_copy", error=str(error)) from None


def packed(needed: str) -> bytes:
    """The rooms as a zip file; `needed` is a module of `ops.lab`, by the name under which it is imported here."""
    content, below = io.BytesIO(), Path(*needed.split(".")[:-3])
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        files = [path for room in SENT for path in sorted((ROOMS / room).rglob("*")) if path.is_file()]
        for path in [*ROOMS.glob("__init__.py*"), *files]:
            if "__pycache__" not in path.parts:
                archive.writestr(
                    zipfile.ZipInfo(str(below / path.relative_to(ROOMS))), path.read_bytes(), zipfile.ZIP_DEFLATED
                )
    return content.getvalue()


def _plugin(archive: bytes, needed: str) -> Any:
    """The plugin of every worker. It is sent as code, so that all it uses is the standard library's, imported there."""
    from distributed import WorkerPlugin

    folder = PREFIX + hashlib.sha256(archive).hexdigest()[:16]
    prefix = PREFIX

    class Project(WorkerPlugin):  # type: ignore[misc]
        name = "ringside"

        def setup(self, worker: Any) -> None:
            import importlib.util
            import io
            import os
            import sys
            import zipfile

            before = [path for path in sys.path if os.path.basename(path).startswith(prefix)]
            if folder in map(os.path.basename, before):
                return
            for old in before:
                sys.path.remove(old)  # of a sweep before, with other modules
                for module in [
                    m for m, it in sys.modules.items() if (getattr(it, "__file__", "") or "").startswith(old)
                ]:
                    del sys.modules[module]
            importlib.invalidate_caches()
            try:
                own = importlib.util.find_spec(needed)
            except ModuleNotFoundError:
                own = None
            if own is None:
                place = os.path.join(worker.local_directory, folder)
                zipfile.ZipFile(io.BytesIO(archive)).extractall(place)
                sys.path.insert(0, place)
                importlib.invalidate_caches()

    return Project()
