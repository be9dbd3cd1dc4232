"""Why data moves: training steps and other programs whose collectives meet compute, one file each.

A workload is a function of a machine and keyword parameters; `@workload` puts it on the only list. It runs in the
SimPy world of `sim.engine.Cluster` and answers a `TrainingStep`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ops.backends import AUTO, shape_of
from ops.training.step import TrainingStep
from sim.errors import InputError
from sim.parameters import Parameter, about, bind, parameters, summary
from sim.registry import Registry, returned
from sim.topology import Topology
from sim.units import fmt_object

__all__ = ["WORKLOADS", "TrainingStep", "Workload", "workload"]

Function = Callable[..., TrainingStep]


@dataclass(frozen=True, slots=True)
class Workload:
    """An entry of the list: a function from a machine and parameters to a step."""

    name: str
    function: Function

    def __repr__(self) -> str:
        return fmt_object("Workload", f"{self.name}: {self.summary}")

    @property
    def summary(self) -> str:
        """The first line of its docstring."""
        return summary(self.function)

    @property
    def about(self) -> str:
        """The rest of its docstring: what the parameters mean and where the figures come from."""
        return about(self.function)

    @property
    def params(self) -> dict[str, Parameter]:
        """The keyword parameters a person may set."""
        return parameters(self.function, skip=("topology",))

    def run(self, topology: Topology, arguments: Mapping[str, Any] | None = None) -> TrainingStep:
        """One step on this machine; texts among `arguments` are parsed. Raises InputError for what cannot be."""
        values = bind(self.function, arguments or {}, self.name, skip=("topology",))
        settings = {name: p.default for name, p in self.params.items()} | values
        step = returned(self.function, self.function(topology, **values), TrainingStep)
        self._check_shape(step, settings.get("algorithm", AUTO))
        return replace(step, workload=self.name, settings=settings)

    def _check_shape(self, step: TrainingStep, shape: str) -> None:
        """Raise InputError where a ring or a tree is preferred, and no collective of the step can be one."""
        if shape != AUTO and step.calls and not any(shape_of(call.algorithm) == shape for call in step.calls):
            called = ", ".join(sorted({call.algorithm.partition(".")[0] for call in step.calls}))
            raise InputError("workload.no_shape", workload=self.name, collectives=called, shape=shape)


WORKLOADS: Registry[Workload] = Registry(
    "ops.workloads", "workload", function=lambda workload: workload.function, leading=("topology",)
)


def workload(function: Function) -> Function:
    """Register a workload under the name of its function.

    Parameters
    ----------
    function : callable
        A function from a Topology and keyword parameters, annotated, to a TrainingStep; its docstring says what it is.

    Returns
    -------
    callable
        The function itself.

    Raises
    ------
    AdditionError
        If the name is taken, the function has no docstring, or an annotation cannot be used.
    """
    WORKLOADS.add(function.__name__, Workload(function.__name__, function))
    return function
