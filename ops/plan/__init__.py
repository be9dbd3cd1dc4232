"""What a person asks to run: one description for the terminal, the dashboard, the lab and their files.

`Plan` holds it, `notation` says how its lists are written, `plan_file` and `link` how it is kept and sent. A training
step is a `training.WorkloadPlan`, which has the same notation, file and link.
"""

from ops.plan.model import Plan, PreparedRun

__all__ = ["Plan", "PreparedRun"]
