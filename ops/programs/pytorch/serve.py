"""The simulator for processes that another launcher has started: `python -m` this, as `rank.alone` does."""

import os
import socket
import sys
from contextlib import suppress

from ops.communicators.selection import Selection
from ops.programs.pytorch.hub import follow, gather, outcome_of
from ops.programs.runtime.summary import summary
from sim.errors import InputError
from sim.machines import build


def serve(address: str, spec: str, folder: str, eager: float) -> int:
    """Simulate one run whose ranks come to `address`; prints its summary and returns the exit status."""
    with suppress(FileNotFoundError):
        os.unlink(address)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(address)
        listener.listen(4096)
        try:
            machine = build(spec)
            ranks = gather(listener, [])
            os.unlink(address)
            failure, world = follow(ranks, machine, folder, Selection(), eager=eager)
        except InputError as error:
            sys.stderr.write(f"ringside: {error}\n")
            return 2
    outcome = outcome_of(machine, [], world, failure, "")
    sys.stderr.write(summary(outcome, "ringside"))
    return 0 if outcome.ok else 1


if __name__ == "__main__":
    sys.exit(serve(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])))
