"""Import this for a backend `ringside`: `init_process_group("ringside")` in processes that any launcher has started.

`RINGSIDE_MACHINE` names the machine, a switch if it is not set. Rank 0 starts the simulator, which prints the summary
of the run at its end.
"""

import os
import sys
from pathlib import Path

from ops.programs.pytorch import serve
from ops.programs.pytorch.rank import alone, distributed, start

DEPTH = serve.__name__.count(".")
os.environ.setdefault(alone.COMMAND, f"{Path(serve.__file__).resolve().parents[DEPTH]}:{serve.__name__}")
if "ringside_rank" not in sys.modules:  # under `torchrun` of this project it is there
    distributed.install(every_name=False)
    start.watch()
