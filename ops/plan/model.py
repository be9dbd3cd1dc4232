"""The one description of a run, in words; what it takes to run it; and the run itself."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from inspect import signature
from typing import Any

from ops.formats import read_schedule
from ops.libraries.nccl.choice import choose, work_of
from ops.libraries.nccl.own.numbers import calibrated
from ops.libraries.nccl.program_cost import priced
from ops.libraries.nccl.variables import Variables, as_nccl_writes, machine_with, set_variables
from ops.plan.examples import example_captures
from ops.plan.library_choice import chosen_work, library_of
from ops.plan.mistakes import check_kind, check_words, one_line
from ops.plan.notation import (
    CHANGEABLE,
    Changes,
    algorithm_spec,
    assignments,
    differences,
    entries,
    parse_blocks,
    size_word,
)
from ops.plan.packing import packed, unpacked
from ops.plan.python_file import algorithm_of_file
from ops.registry import ALGORITHMS, Algorithm
from ops.run import FEW, Run, Work, execute, kept
from ops.run.work import imported, registered
from sim.base.files.textfile import check_names
from sim.errors import InputError
from sim.faults import Perturbation
from sim.faults.edits import differences as differing
from sim.faults.edits import edited
from sim.formats import read_topology
from sim.machines import build, canonical
from sim.parameters import written
from sim.placement import placed
from sim.schedule.displacements import check_displs
from sim.topology import Topology
from sim.topology.networks import networked
from sim.trace import FORMAT, from_json
from sim.units import fmt_object, parse_size

NCCL = "nccl."
"""`nccl.allreduce` is what NCCL would run; other libraries' choices are called so too."""
KINDS: dict[str, type] = {}
"""The kind of every word."""
_FILES = 4
"""Schedules from outside that are kept after reading; nobody changes them, so all who give the same text share one."""


MACHINE = "dgx_a100"
"""Where a plan runs that names no machine."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The description of a run as plain words, for links, files, rows of tables, cache keys and forms.

    `run` takes objects and numbers as well. Lists are written as `ops.plan.notation` says.

    Parameters
    ----------
    algorithm : str
        `allreduce.ring`, a library's number, `LIBRARY.COLLECTIVE`, or what a Python file carries out.
    machine : str
        A spec like `switch:ranks=8`.
    capture : str
        Text of a machine in any format, instead of `machine`.
    rates : str
        Values missing from the capture.
    network : str
        Network between the hosts, like `infiniband_hdr`; the default of the machine if left out.
    placement : str
        GPUs of the ranks, rank 0 first: `per_host=4`, a list, the text of a rank file.
    edits : str
        Changes to that machine, a list of specs.
    calibration : str
        Numbers measured on that machine, as `calibrate` fits them: `hop_4.2us,share_0.93`.
    ranks : int
        Number of ranks; 0 for all.
    size : str
        Bytes as nccl-tests counts them, like `64MiB`.
    root : int
        Root of a rooted collective.
    settings : str
        Parameters of the algorithm, or of the format of the schedule.
    schedule : str
        Instead of an algorithm: the text of a schedule in any format, or of a run that was kept.
    fault : str
        Faults, a list of specs.
    against : str
        Differences of the compared runs.
    counts : str
        Instead of a size, for blocks of unequal size: their bytes.
    displs : str
        Places of these blocks in a buffer.
    lockstep : bool
        Whether each step waits for the end of the step before on all ranks.
    blocking : bool
        Whether every rank finishes its part of a step, sends too, before its part of the next.
    dtype : str
        Element type of the real buffers.
    op : str
        Reduction of these numbers.
    values : str
        Numbers shown in the blocks: `small` ones, or with commas between them, those of rank 0 first.
    python : str
        Instead of an algorithm: `FILE.py:FUNCTION`; it is executed, so it never comes from a link or an upload.
    seed : int
        Seed of random faults in a sweep; -1 for none.
    capture_name : str
        Name of the capture in error messages.
    schedule_name : str
        Name of the schedule in error messages.

    Raises
    ------
    InputError
        If a name does not exist, or a value has the wrong type.

    Examples
    --------
    >>> Plan(size="1MiB", ranks=4).run()
    <Run allreduce.ring on dgx_a100: 4 ranks, 1 MiB, 10.75 µs, busbw 146.3 GB/s, verified>
    """

    algorithm: str = "allreduce.ring"
    machine: str = MACHINE
    capture: str = ""
    rates: str = ""
    network: str = ""
    placement: str = ""
    edits: str = ""
    calibration: str = ""
    ranks: int = 0
    size: str = "64MiB"
    root: int = 0
    settings: str = ""
    schedule: str = ""
    fault: str = ""
    against: str = ""
    counts: str = ""
    displs: str = ""
    lockstep: bool = False
    blocking: bool = False
    dtype: str = ""
    op: str = ""
    values: str = ""
    python: str = ""
    seed: int = -1
    capture_name: str = "capture"
    schedule_name: str = "schedule"

    def __new__(cls, *_: object, **words: object) -> "Plan":
        """Raise KindError for a word there is none of, before the words are looked at."""
        check_words("Plan", words.keys(), cls.__match_args__)
        return object.__new__(cls)

    def __post_init__(self) -> None:
        """Raise KindError for a word of another kind than its own."""
        for word, kind in KINDS.items():
            value = getattr(self, word)
            if type(value) is not kind:
                check_kind(word, value, kind)
        check_names([self.capture_name, self.schedule_name], "file")
        if self.machine not in ("", MACHINE):
            object.__setattr__(self, "machine", canonical(self.machine))

    def __repr__(self) -> str:
        return one_line(*({word: getattr(it, word) for word in KINDS} for it in (self, USUAL)))

    @property
    def is_kept(self) -> bool:
        """Whether it is a saved run with its machine."""
        return is_trace(self.schedule)

    @property
    def faults(self) -> tuple[str, ...]:
        """List of faults."""
        return entries(self.fault)

    @property
    def bytes(self) -> int:
        """The size in bytes; 0 where none is given. Raises InputError for what is no size."""
        return parse_size(self.size) if self.size else 0

    @property
    def depends_on_size(self) -> bool:
        """Whether a library chooses the algorithm by size."""
        return not (self.schedule or self.python) and bool(library_of(self.algorithm))

    def others(self) -> list["Plan"]:
        """The runs beside this one. Raises InputError."""
        return [self.changed(changes) for changes in differences(self.against)]

    def changed(self, changes: Changes) -> "Plan":
        """A copy with some words changed; a new algorithm has its own parameters, a new machine no edits.

        A capture is packed, as a link has it. Raises InputError for one that is damaged.
        """
        fresh: dict[str, Any] = {"settings": "", "schedule": ""} if "algorithm" in changes else {}
        if changes.keys() & {"machine", "capture"}:
            fresh |= {"edits": "", "capture": "", "rates": ""}
            if changes.get("machine", "").partition(":")[0] != self.machine.partition(":")[0]:
                fresh["calibration"] = ""
        plain = replace(self, against="", **fresh)
        values: dict[str, Any] = {
            name: text == "yes" if KINDS[name] is bool else KINDS[name](text) for name, text in changes.items()
        }
        if values.get("capture"):
            values["capture"] = unpacked(values["capture"], example_captures(), "capture")
        return replace(plain, **values)

    def kept_beside(self) -> Changes:
        """All words that describe this run without its comparisons; `changed` by them, any plan equals it."""
        machine = {"capture": packed(self.capture, example_captures())} if self.capture else {"machine": self.machine}
        words = {"algorithm": self.algorithm, **machine, "size": self.size}
        rest = [name for name in CHANGEABLE if name not in (*words, "machine", "capture")]
        said = {name: _word(getattr(self, name)) for name in rest}
        return words | {name: word for name, word in said.items() if word or name not in ("settings", "edits", "rates")}

    def of(self, spec: str) -> "Plan":
        """This one for the algorithm that a spec, or a library's number, names with its parameters. Raises InputError.

        >>> Plan(size="1MiB").of("broadcast.chain:segments=4").settings
        'segments=4'
        """
        name, settings = algorithm_spec(spec)
        return replace(self, algorithm=name, settings=written(settings))

    def topology(self, base: Topology | None = None) -> Topology:
        """The machine (or `base`) with its network, placement, edits and calibration. Raises InputError."""
        changes = self.network or self.placement or self.edits or self.calibration
        if self.is_kept and changes:
            raise InputError("plan.kept_run", changes=changes)
        machine = base or self._machine()
        machine = networked(machine, self.network) if self.network else machine
        machine = placed(machine, self.placement) if self.placement else machine
        machine = machine_with(machine, self.variables()) if self.algorithm.startswith(NCCL) else machine
        machine = edited(machine, entries(self.edits)) if self.edits else machine
        return calibrated(machine, self.calibration) if self.calibration else machine

    def differences(self) -> list[str]:
        """Differences between the edited and the original machine, one line each. Raises InputError."""
        return differing(replace(self, edits="").topology(), self.topology()) if self.edits else []

    def _machine(self) -> Topology:
        if self.is_kept:
            return from_json(self.schedule).topology
        if self.capture:
            return read_topology(self.capture, self.capture_name, **assignments(self.rates, self.capture_name))
        return build(self.machine)

    def work(self, topology: Topology | None = None) -> Work:
        """The algorithm or schedule to run, on this machine if given. Raises InputError."""
        work = self._named(topology)
        return work.blocking() if self.blocking else work

    def _named(self, topology: Topology | None) -> Work:
        if self.python:
            return self.registered(algorithm_of_file(self.python, self.algorithm or None), topology)
        if self.schedule:
            return self._from_file(topology)
        if self.algorithm.startswith(NCCL):
            return self._as_nccl_chooses(topology)
        if library_of(self.algorithm):
            return self._as_library_chooses(topology)
        if not self.algorithm:
            raise InputError("plan.nothing")
        return self.registered(ALGORITHMS[self.algorithm], topology)

    def _from_file(self, topology: Topology | None) -> Work:
        """The schedule of a file; with `protocol=`, one of NCCL's or the `file`'s own, at what that costs here."""
        settings = assignments(self.settings, self.schedule_name)
        word = settings.pop("protocol", "")
        work = _read(self.schedule, self.schedule_name, written(settings))
        return priced(work, topology, self.schedule, as_nccl_writes(word)) if word and topology else work

    def registered(self, entry: Algorithm, topology: Topology | None) -> Work:
        """An algorithm with the plan's ranks, root and parameters. Raises InputError."""
        settings = assignments(self.settings, entry.name)
        if topology is None and not self.ranks:
            raise InputError("plan.ranks", algorithm=entry.name)
        ranks = topology.taking_part(self.ranks) if topology else self.ranks
        root = self.root if entry.collective.rooted else 0
        return registered(entry, ranks, root=root, topology=topology, settings=settings)

    def _as_nccl_chooses(self, topology: Topology | None) -> Work:
        """The algorithm, protocol and orders of ranks that NCCL takes here for this size."""
        machine, collective = self._choosable(topology), self.algorithm.removeprefix(NCCL)
        choice = choose(machine, collective, self.bytes, machine.taking_part(self.ranks), options=self.variables())
        return work_of(machine, choice, root=self.root)

    def variables(self) -> Variables:
        """Variables of NCCL that are set. Raises InputError."""
        return set_variables(assignments(self.settings, self.algorithm), self.algorithm)

    def _as_library_chooses(self, topology: Topology | None) -> Work:
        """What another library takes here for this size, at its backend's costs."""
        library, _, collective = self.algorithm.partition(".")
        machine, options = self._choosable(topology), assignments(self.settings, self.algorithm)
        size, ranks = self.bytes or sum(self.block_bytes), machine.taking_part(self.ranks)
        return chosen_work(machine, library, collective, size, ranks, options, self.root)

    def _choosable(self, topology: Topology | None) -> Topology:
        """The machine that a library's choice depends on. Raises InputError where it or the size is not given."""
        if topology is None:
            raise InputError("plan.machine", algorithm=self.algorithm)
        if not (self.size or self.counts or self.algorithm.endswith(".barrier")):
            raise InputError("plan.depends_on_size", algorithm=self.algorithm)
        return topology

    @property
    def block_bytes(self) -> list[int]:
        """Size of each block, bytes; none where all are equal. Raises InputError for what is no size."""
        return parse_blocks(self.counts, "counts") if self.counts else []

    def blocks(self, work: Work) -> list[int] | None:
        """Every block's bytes where they are given. Raises InputError for a collective of equal blocks."""
        if not self.counts:
            return None
        if work.collective is None or not work.collective.vector:
            raise InputError("plan.equal_blocks", schedule=work.name)
        return self.block_bytes

    def displacements(self) -> list[int]:
        """Place of each block in its buffer, bytes; none where it is not given. Raises InputError."""
        if not self.displs:
            return []
        if not self.counts:
            raise InputError("plan.displs")
        displs = parse_blocks(self.displs, "displs")
        check_displs(self.block_bytes, displs, "--displs")
        return displs

    def prepare(self, topology: Topology | None = None) -> "PreparedRun":
        """Return the plan with its machine (or `topology`) and its work. Raises InputError."""
        topology = topology or self.topology()
        return PreparedRun(self, topology, self.work(topology))

    def run(self, *, history: bool = False, written: float = FEW) -> Run:
        """Verify and run it; a saved run is returned as it was. Raises InputError and StalledError."""
        if self.is_kept:
            return kept(from_json(self.schedule))
        return self.prepare().run(history=history, written=written)


@dataclass(frozen=True, eq=False)
class PreparedRun:
    """A plan with its machine and what runs there, which is built and proved once however often it runs."""

    plan: Plan
    topology: Topology
    work: Work

    def __repr__(self) -> str:
        return fmt_object("PreparedRun", f"{self.work.name} on {self.topology.name}: {self.work.n:,} ranks")

    @property
    def bytes(self) -> int:
        """The size in bytes; 0 where none is needed. Raises InputError where one is and is not given."""
        return self._bytes(self.plan)

    @property
    def least(self) -> int:
        """The fewest bytes that leave every block one."""
        return math.ceil(1 / self.work.unit_share) if self.work.unit_share > 0 else 1

    def _bytes(self, plan: Plan) -> int:
        if not self.work.sized or plan.counts:
            return 0
        if not plan.size:
            raise InputError("plan.size", schedule=self.work.name)
        return plan.bytes

    def run(
        self,
        plan: Plan | None = None,
        *,
        history: bool = False,
        written: float = FEW,
        faults: Sequence[Perturbation] = (),
    ) -> Run:
        """The run, or that of a plan that differs in size and faults alone. Raises InputError and StalledError.

        `history` and `written` are those of `ops.run.execute`; `faults` come on top of the plan's own.
        """
        plan = plan or self.plan
        return execute(
            self.topology,
            self.work,
            self._bytes(plan),
            blocks=plan.blocks(self.work),
            lockstep=plan.lockstep,
            history=history,
            fault=[*plan.faults, *faults],
            written=written,
        )

    def at(self, size: int) -> Run:
        """The run with so many bytes. Raises as `run` does."""
        plan = replace(self.plan, size=size_word(size))
        return plan.prepare(self.topology).run() if plan.depends_on_size else self.run(plan)


def is_trace(text: str) -> bool:
    """Whether a text is a run that was kept, with its machine."""
    return text.lstrip().startswith("{") and f'"format": "{FORMAT}"' in text[:200]


@lru_cache(_FILES)
def _read(text: str, name: str, settings: str) -> Work:
    return imported(read_schedule(text, name, **assignments(settings, name)))


def _word(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


USUAL = Plan()
KINDS.update({field.name: type(getattr(USUAL, field.name)) for field in fields(Plan)})
_words = signature(Plan.__init__)
setattr(Plan, "__signature__", _words.replace(parameters=[*_words.parameters.values()][1:]))  # noqa: B010  not __new__'s
