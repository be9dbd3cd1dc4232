"""What a person asks to run: one description for the terminal, the dashboard, the lab and their files.

`Request` holds it, `notation` says how its lists are written, `scenario` and `link` how it is kept and sent. A training
step is a `training.TrainingRequest`, which has the same notation, file and link.
"""

from ops.request.model import PreparedRun, Request

__all__ = ["PreparedRun", "Request"]
