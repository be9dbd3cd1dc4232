"""A simulator of its own, for processes that another launcher has started: rank 0 starts it, all others find it."""

import atexit
import os
import subprocess
import sys
import tempfile

from .link import EAGER, FOLDER, HUB, LINK, MACHINE

COMMAND = "RINGSIDE_SIMULATOR"
"""Environment variable: the module that serves, with the folder it is imported from before a colon."""


def start(rank: int, size: int) -> str:
    """Return the address of the simulator."""
    run = os.environ.get("TORCHELASTIC_RUN_ID", "none")
    name = f"ringside.{os.getuid()}.{os.environ.get('MASTER_PORT', '0')}.{run}"
    address = os.path.join(tempfile.gettempdir(), name)
    os.environ.setdefault(FOLDER, os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), ""))
    if rank == 0:
        folder, _, module = os.environ[COMMAND].rpartition(":")
        machine = os.environ.get(MACHINE, f"switch:ranks={max(2, size)}")
        command = [sys.executable, "-m", module, address, machine, os.environ[FOLDER], os.environ.get(EAGER, "65536")]
        environment = {**os.environ, "PYTHONPATH": folder}
        served = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, start_new_session=True)

        def end() -> None:
            LINK.leave()
            served.wait()

        atexit.register(end)
    os.environ[HUB] = address
    return address
