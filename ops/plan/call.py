"""A run as one call of Python, from names, texts, numbers and objects in any mixture."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from numbers import Integral, Real
from os import PathLike, fspath
from typing import Any

from ops.formats import schedule_text
from ops.plan.mistakes import check_words
from ops.plan.model import Plan, PreparedRun
from ops.plan.notation import entries, size_word
from ops.registry import ALGORITHMS, Algorithm
from ops.run import FEW, Run, Work, execute
from ops.run.work import imported
from sim.base.files.textfile import is_file
from sim.errors import InputError, KindError, expect_kind
from sim.faults import Perturbation
from sim.formats import FORMATS
from sim.machines import MACHINES
from sim.parameters import parse_spec, written
from sim.schedule import Schedule
from sim.topology import Topology

OBJECTS = (Schedule, Algorithm, Work)
"""What an algorithm may be that no word describes."""


def run(
    algorithm: "str | PathLike[str] | Schedule | Algorithm | Work | Plan | Callable[..., Any] | None" = None,
    machine: str | PathLike[str] | Topology | None = None,
    size: float | str | None = None,
    *,
    faults: str | Perturbation | Iterable[str | Perturbation] | None = None,
    ranks: int | None = None,
    root: int | None = None,
    settings: Mapping[str, Any] | str | None = None,
    counts: Sequence[int | str] | str | None = None,
    network: str | None = None,
    placement: Sequence[int] | str | None = None,
    edits: Sequence[str] | str | None = None,
    rates: Mapping[str, Any] | str | None = None,
    calibration: str | None = None,
    lockstep: bool | None = None,
    blocking: bool | None = None,
    history: bool = False,
    written_out: bool = False,
    **unknown: Any,
) -> Run:
    """Verify a collective and time it on a machine, with or without faults.

    Defaults are those of `Plan`: a ring allreduce of 64 MiB on all GPUs of a DGX A100.

    Parameters
    ----------
    algorithm : str, path, Schedule, Algorithm, Plan or function
        What runs: a name like `allreduce.ring`, perhaps with parameters (`broadcast.chain:segments=4`), a library's
        choice (`nccl.allreduce`), the path of a schedule file, or an object. The other words override those of a
        Plan.
    machine : str, path or Topology
        The machine: a name like `dgx_h100` or `switch:ranks=8`, the text or the path of a capture, or a Topology. A
        name comes before a file that is called so.
    size : int or str
        Bytes as nccl-tests counts them, like `64 * MiB` or `64MiB`.
    faults : str, Perturbation or list of these
        Faults, like `slow_link:src=GPU0,dst=NVS0,share=0.5`; names and parameters are those of `FAULTS`.
    ranks : int
        Number of ranks; 0 for all.
    root : int
        Root of a rooted collective.
    settings : mapping or str
        Parameters of the algorithm by name, or of the format of a schedule.
    counts : list of int or str
        Size of each block, bytes, instead of `size`, for collectives with blocks of unequal size.
    network : str
        Network between the hosts, like `infiniband_hdr`.
    placement : list of int or str
        GPUs of the ranks, rank 0 first, or words like `per_host=4`.
    edits : list of str or str
        Changes to the machine before the run, like `cut_cable:src=GPU0,dst=NVS0`.
    rates : mapping or str
        Rates missing from a capture, by name.
    calibration : str
        Numbers measured on the machine, as `calibrate` fits them: `hop_4.2us,share_0.93`.
    lockstep : bool
        Whether each step waits for the end of the step before on all ranks.
    blocking : bool
        Whether each rank finishes its part of a step before its part of the next.
    history : bool
        Whether to keep every change of every rate; then every transfer is simulated.
    written_out : bool
        Whether every transfer of every rank is simulated, even where ranks are equivalent.
    **unknown : Any
        Not accepted; the error suggests similar keywords.

    Returns
    -------
    Run
        Time, bandwidths, bottleneck, critical path and transfers.

    Raises
    ------
    InputError
        If a value cannot be used; a ValueError. A value of the wrong type raises a subclass that is also a TypeError.
    StalledError
        If a fault causes a deadlock.

    Examples
    --------
    >>> run("allreduce.ring", "dgx_h100", "64MiB")
    <Run allreduce.ring on dgx_h100: 8 ranks, 64 MiB, 326.5 µs, busbw 359.7 GB/s, verified>
    >>> run("allreduce.ring", "dgx_h100", "64MiB", faults=["straggler:rank=3,late=1ms"]).bottleneck
    <Use GPU0 -> NVS0: 112 MiB, full for 24% of the run>
    """
    check_words("run", unknown, [name for name in signature(run).parameters if name != "unknown"])
    words: dict[str, Any] = {
        "ranks": ranks,
        "root": root,
        "network": network,
        "lockstep": lockstep,
        "blocking": blocking,
        "size": None if size is None else _size(size),
        "settings": _pairs("settings", settings),
        "rates": _pairs("rates", rates),
        "counts": _list("counts", counts, ",", Integral),
        "placement": _list("placement", placement, ",", Integral),
        "edits": _list("edits", edits, ";"),
        "calibration": calibration,
    }
    plan, work = _plan_of(algorithm)
    plan = replace(plan, **{word: value for word, value in words.items() if value is not None})
    if work and plan.settings and not isinstance(work, Algorithm):
        raise InputError("call.settings", work=work.name)
    if plan.is_kept and not (machine is None and faults is None):
        raise InputError("call.kept_run", schedule=plan.schedule_name)
    plan, topology = placed_plan(plan, machine)
    if plan.is_kept:
        return plan.run()
    prepared = PreparedRun(plan, topology, _work(plan, topology, work))
    return execute(
        topology,
        prepared.work,
        prepared.bytes,
        blocks=plan.blocks(prepared.work),
        lockstep=plan.lockstep,
        history=history,
        fault=plan.faults if faults is None else _faults(faults),
        written=float("inf") if written_out or history else FEW,
    )


def _plan_of(algorithm: Any) -> tuple[Plan, Schedule | Algorithm | Work | None]:
    """The plan that an algorithm makes, and the algorithm itself where words do not name it."""
    if algorithm is None:
        return Plan(), None
    if isinstance(algorithm, Plan):
        return algorithm, None
    if isinstance(algorithm, OBJECTS):
        return Plan(), algorithm
    if callable(algorithm):
        return Plan(), _listed(algorithm)
    expect_kind(
        algorithm, (str, PathLike), "algorithm", "give a name like 'allreduce.ring', a file, a Schedule or a Plan"
    )
    text = fspath(algorithm)
    if isinstance(algorithm, str) and (text in ALGORITHMS or not is_file(text)):
        return Plan().of(text), None
    if text.endswith(".py"):
        raise InputError("call.python_file", path=text)
    return Plan(schedule=schedule_text(text), schedule_name=text), None


def _listed(steps: Callable[..., Any]) -> Algorithm:
    """The algorithm that a function is. Raises InputError for one that is none, or carries out several collectives."""
    matches = [entry for entry in ALGORITHMS.distinct() if entry.steps is steps]
    name = getattr(steps, "__name__", type(steps).__name__)
    if not matches:
        raise InputError("call.no_algorithm", function=name)
    if len(matches) > 1:
        raise InputError("call.several", function=name, choices=[e.name for e in matches])
    return matches[0]


def _work(plan: Plan, topology: Topology, made: Schedule | Algorithm | Work | None) -> Work:
    """What runs: what was given, or what the plan names."""
    if made is None:
        return plan.work(topology)
    if isinstance(made, Algorithm):
        work = plan.registered(made, topology)
    else:
        work = imported(made) if isinstance(made, Schedule) else made
        if plan.ranks not in (0, work.n):
            raise InputError("call.ranks", work=work.name, n=work.n, ranks=plan.ranks)
    return work.blocking() if plan.blocking else work


def placed_plan(plan: Plan, machine: Any) -> tuple[Plan, Topology]:
    """The machine, and the plan with its words."""
    if machine is None:
        return plan, plan.topology()
    if isinstance(machine, Topology):
        return plan, plan.topology(machine)
    expect_kind(machine, (str, PathLike), "machine", "give a name like 'dgx_h100', a file, a capture or a Topology")
    text = fspath(machine)
    if "\n" in text:
        plan = replace(plan, capture=text)
    elif isinstance(machine, str) and (parse_spec(text)[0] in MACHINES or not is_file(text)):
        plan = replace(plan, machine=text, capture="")
    else:
        plan = replace(plan, capture=FORMATS.text(text), capture_name=text)
    return plan, plan.topology()


def _size(size: Any) -> str:
    """Bytes as a word of a plan. Raises InputError for a number of bytes that cannot be."""
    if isinstance(size, str):
        return size
    if isinstance(size, bool) or not isinstance(size, Real):
        raise KindError("call.size_type", kind=type(size).__name__)
    number = float(size)
    if not number.is_integer() or number < 1:
        raise InputError("call.size_number", number=number)
    return size_word(int(number))


def _pairs(word: str, pairs: Any) -> str | None:
    """Parameters as a word of a plan."""
    if pairs is None or isinstance(pairs, str):
        return pairs
    expect_kind(pairs, Mapping, word, "give a mapping like {'segments': 4}, or a text like 'segments=4'")
    return written({key: "x".join(map(str, it)) if isinstance(it, tuple) else it for key, it in pairs.items()})


def _list(word: str, several: Any, between: str, kind: type = str) -> str | None:
    """A list as a word of a plan."""
    if several is None or isinstance(several, str):
        return several
    expect_kind(several, Iterable, word, "give a list, or a text")
    entries = list(several)
    for entry in entries:
        expect_kind(entry, (str, kind), word, "give a list of texts" if kind is str else "give a list of whole numbers")
    return between.join(map(str, entries))


def _faults(faults: Any) -> list[str | Perturbation]:
    """Faults one by one."""
    if isinstance(faults, str | Perturbation):
        faults = [faults]
    expect_kind(faults, Iterable, "faults", "give a list of texts like 'straggler:rank=3,late=1ms'")
    several: list[str | Perturbation] = []
    for fault in faults:
        expect_kind(fault, (str, Perturbation), "faults", "give texts like 'straggler:rank=3,late=1ms'")
        several += entries(fault) if isinstance(fault, str) else [fault]
    return several
