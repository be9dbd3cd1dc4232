"""What a person asks of training: a workload, its parameters and a machine, as one thing with a link and a file."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ops.plan.link import from_link, to_link
from ops.plan.model import Plan
from ops.plan.plan_file import LARGEST, line_of
from ops.plan.words import MACHINE, unusual
from ops.workloads import WORKLOADS, TrainingStep, Workload
from sim.base.yaml import YamlNode, parse_yaml
from sim.errors import InputError
from sim.parameters import parse_spec

VERSION = "training-1"
LONGEST = 4000
"""Characters of a parameter that a link may carry."""


@dataclass(frozen=True, slots=True)
class WorkloadPlan:
    """A training step in words, as `Plan` is a run in words.

    `settings` are the workload's parameters as texts, by name. Of `machine`, a Plan, only the words that tell the
    machine count.
    """

    workload: str = "ddp"
    settings: tuple[tuple[str, str], ...] = ()
    machine: Plan = field(default_factory=Plan)

    @classmethod
    def of(cls, spec: str, machine: Plan) -> "WorkloadPlan":
        """What a spec like `ddp:bucket=1MiB` asks of a machine. Raises InputError.

        >>> WorkloadPlan.of("ddp:bucket=1MiB", Plan(machine="dgx1v")).settings
        (('bucket', '1MiB'),)
        """
        name, settings = parse_spec(spec)
        return cls(WORKLOADS[name].name, tuple(settings.items()), machine)

    @property
    def entry(self) -> Workload:
        """The workload. Raises InputError where there is none of that name."""
        return WORKLOADS[self.workload]

    def with_settings(self, settings: Mapping[str, str]) -> "WorkloadPlan":
        """This one with more parameters. Raises InputError for one that it has already."""
        for key in dict(self.settings).keys() & settings.keys():
            raise InputError("parameter.twice", owner=self.workload, name=key)
        return replace(self, settings=(*self.settings, *settings.items()))

    def run(self) -> TrainingStep:
        """The step. Raises InputError and StalledError."""
        return self.entry.run(self.machine.topology(), dict(self.settings))


def to_query(plan: WorkloadPlan) -> dict[str, str]:
    """Query words that bring the plan back."""
    link = to_link(plan.machine)
    machine = {word: link[word] for word in MACHINE if word in link}
    return {"workload": plan.workload} | machine | dict(plan.settings)


def from_query(words: Mapping[str, str]) -> WorkloadPlan:
    """The plan that query words describe; words of other things are passed over. Raises InputError."""
    machine = from_link({word: words[word] for word in MACHINE if word in words})
    entry = WORKLOADS[words.get("workload", WorkloadPlan().workload)]
    settings = {key: words[key][:LONGEST] for key in entry.params if key in words}
    for key, text in settings.items():
        entry.params[key].parse(text, entry.name)
    return WorkloadPlan(entry.name, tuple(settings.items()), machine)


def is_training(text: str) -> bool:
    """Whether it is a plan written by `to_yaml`, or by hand in its manner."""
    return any(line.startswith("ringside: training") for line in text.lstrip()[:2000].splitlines())


def to_yaml(plan: WorkloadPlan) -> str:
    """The plan as a file."""
    lines = [f"ringside: {VERSION}", *line_of("workload", plan.workload)]
    for word, text in machine_words(plan.machine).items():
        lines += line_of(word, text)
    settings = [f"  {line}" for key, text in plan.settings if text for line in line_of(key, text)]
    lines += ["settings:", *settings] if settings else []
    return "\n".join(lines) + "\n"


def machine_words(plan: Plan) -> dict[str, str]:
    """Return the words that tell a plan's machine, as files have them."""
    words = {"machine": plan.machine} | {word: text for word, text in unusual(plan) if word in MACHINE}
    return {word: text for word, text in words.items() if word != "machine" or not plan.capture}


def from_yaml(text: str, name: str) -> WorkloadPlan:
    """The plan that a file describes. Raises InputError naming the line and the fix."""
    if len(text) > LARGEST:
        raise InputError("plan.too_long", name=name, most=LARGEST)
    root = parse_yaml(text, name)
    nodes = root.mapping("the plan", ("ringside", "workload", "settings", *MACHINE))
    if "ringside" not in nodes or nodes["ringside"].text("ringside") != VERSION:
        root.refuse("training.version", version=VERSION)
    words: dict[str, Any] = {word: nodes[word].text(word) for word in MACHINE if word in nodes}
    if len(words.keys() & {"machine", "capture"}) != 1:
        root.refuse("training.machine")
    if "workload" not in nodes:
        root.refuse("training.no_workload", choices=WORKLOADS)
    entry = _entry(nodes["workload"])
    settings = nodes["settings"].mapping("settings", entry.params) if "settings" in nodes else {}
    return WorkloadPlan(
        entry.name,
        tuple((key, _setting(entry, key, node)) for key, node in settings.items()),
        replace(Plan(), **words),
    )


def _entry(node: YamlNode) -> Workload:
    name = node.text("workload")
    if name not in WORKLOADS:
        node.refuse("workload.unknown", workload=name, choices=WORKLOADS)
    return WORKLOADS[name]


def _setting(entry: Workload, key: str, node: YamlNode) -> str:
    """A parameter's text, looked at where it still has a line."""
    text = node.text(key)
    entry.params[key].parse(text, f"{node.name}, line {node.line}: {entry.name}")
    return text
