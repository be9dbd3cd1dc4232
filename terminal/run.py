"""`run`: prove a collective and time it."""

import argparse
import time
from typing import TYPE_CHECKING, Any

from sim.errors import InputError
from terminal import DONE, NO, Answer, argument, command
from terminal.arguments import ALGORITHM, MACHINE, RANKS, machine, work, write
from terminal.scenario import of_scenario

if TYPE_CHECKING:
    from ops.work import Outcome, Work
    from sim.trace import Trace

RUN = (
    *ALGORITHM,
    argument("--scenario", metavar="FILE", help="instead of all else: a scene in words, as `render` writes it"),
    *MACHINE,
    argument("--topology", metavar="FILE", help="instead of --machine: a capture in any known format"),
    argument("--size", help="bytes as nccl-tests counts them, like 64MiB; a barrier has none"),
    argument("--counts", help="block sizes of a v collective, like 1KiB,2KiB,0,8KiB; instead of --size"),
    argument("--displs", help="where these blocks stand in a buffer, as MPI's displacements do"),
    RANKS,
    argument(
        "--trouble",
        action="append",
        default=[],
        metavar="SPEC",
        help="KIND:key=value,…, see `list troubles`",
    ),
    argument("--lockstep", action="store_true", help="let every step wait for the whole step before"),
)
"""What one run is made of."""


@command(
    *RUN,
    argument("--dtype", help="also move real numbers and check them: float32, float64, int64 or float16"),
    argument("--op", help="how real numbers are combined: sum, mean, max, min or prod; sum if left out"),
    argument("--trace", metavar="FILE.json", help="also write everything that happened to a file"),
)
def run(given: argparse.Namespace) -> Answer:
    """Prove a collective and time it on a machine."""
    from terminal.numbers import check, wanted

    begun = time.perf_counter()
    numeric, placed = wanted(given.dtype, given.op), _placed(given)
    outcome, real = outcome_of(given, history=given.trace is not None)
    trace, verdict = outcome.trace, outcome.trace.verdict
    typed = _bytes(given.counts, "--counts") if given.counts else outcome.blocks or []
    numbers = numeric and check(trace.schedule, int(trace.size), outcome.blocks, typed, *numeric)
    if given.trace is not None:
        write(given.trace, trace.to_json())
    found = told(outcome) | placed | ({"numbers": numbers} if numbers else {}) | real
    found |= {"sim_s": trace.real["sim_s"], "wall_s": time.perf_counter() - begun}
    right = verdict.ok and (numbers is None or numbers["right"])
    return Answer(DONE if right else NO, found, _text(found, outcome))


def outcome_of(given: argparse.Namespace, *, history: bool) -> tuple["Outcome", dict[str, float]]:
    """The run that is asked for, and the seconds that building and proving it took. Raises InputError."""
    from ops.work import carry_out
    from sim.schedule.verify import prove

    build_begun = time.perf_counter()
    counts, trouble = None, given.trouble
    if given.scenario is not None:
        there, asked, size, trouble = of_scenario(given)
    else:
        there = machine(given, given.topology)
        build_begun = time.perf_counter()
        asked = work(given, there)
        size, counts = _size(given, asked), _block_sizes(given, asked)
    proof_begun = time.perf_counter()
    proof = prove(asked.schedule, blocks=counts is not None or asked.schedule.fixed_bytes is not None)
    real = {"build_s": proof_begun - build_begun, "verify_s": time.perf_counter() - proof_begun}
    kept = {"lockstep": given.lockstep, "history": history, "proof": proof, "trouble": trouble}
    return carry_out(there, asked, size, blocks=counts, **kept), real


def told(outcome: "Outcome") -> dict[str, Any]:
    """An outcome as plain data."""
    from sim import metrics

    asked, trace, worst = outcome.work, outcome.trace, outcome.bottleneck
    return {
        "collective": asked.collective.name if asked.collective else "custom",
        "algorithm": asked.name,
        "parameters": dict(asked.settings),
        "machine": trace.topology.name,
        "ranks": asked.schedule.n,
        "size_bytes": int(trace.size),
        "time_s": trace.time,
        "algbw_Bps": metrics.algbw(trace),
        "busbw_Bps": outcome.busbw,
        "bound_s": outcome.bound,
        "transfers": asked.schedule.messages,
        "steps": asked.schedule.steps,
        "instants": trace.instants,
        "verified": trace.verdict.verdict == "ok",
        "verdict": trace.verdict.verdict,
        "troubles": _borne(trace),
        "bottleneck": worst
        and {"src": worst[1].src, "dst": worst[1].dst, "bytes": worst[0].bytes, "share": worst[0].share},
    }


def _borne(trace: "Trace") -> list[dict[str, Any]]:
    """On how many transfers each trouble bore, and for how long at most."""
    import numpy as np

    found = []
    for number, spec in enumerate(trace.troubles):
        if not spec:  # what a library's way of sending costs
            continue
        mine = trace.hits.trouble == number
        longest = float(trace.hits.seconds[mine].max(initial=0.0))
        found.append({"trouble": spec, "transfers": int(np.count_nonzero(mine)), "longest_s": longest})
    return found


def _size(given: argparse.Namespace, asked: "Work") -> int:
    """The size a run is given; zero where it needs none."""
    from sim.units import parse_size

    if asked.schedule.fixed_bytes is not None and (given.size or given.counts):
        raise InputError(f"{asked.name} brings its own sizes: leave out --size and --counts")
    if given.size is not None and given.counts is not None:
        raise InputError("--size and --counts are both given: keep --counts for unequal blocks, --size for equal ones")
    if given.counts is not None or not asked.sized:
        return 0
    if given.size is None:
        raise InputError(f"{asked.name} moves data, but no size is given: add --size 64MiB")
    return parse_size(given.size, "--size")


def _block_sizes(given: argparse.Namespace, asked: "Work") -> list[int] | None:
    """The block sizes a run is given, if any."""
    if given.counts is None:
        return None
    if asked.collective is None or not asked.collective.vector:
        raise InputError(f"{asked.name} has blocks of equal size: give --size, or choose a v collective for --counts")
    return _bytes(given.counts, "--counts")


def _placed(given: argparse.Namespace) -> dict[str, Any]:
    """Where blocks of unequal size stand in their buffer, if that is told. Raises InputError unless they fit."""
    from sim.schedule.displacements import check_displs, extent

    if given.displs is None:
        return {}
    if given.counts is None:
        raise InputError("--displs says where the blocks of --counts stand: add --counts")
    counts, displs = _bytes(given.counts, "--counts"), _bytes(given.displs, "--displs")
    check_displs(counts, displs, "--displs")
    return {"displs_bytes": displs, "extent_bytes": extent(counts, displs)}


def _bytes(text: str, flag: str) -> list[int]:
    """Sizes with commas between; 0 is one of them."""
    from sim.units import parse_size

    parts = [part.strip() for part in text.split(",")]
    return [0 if part == "0" else parse_size(part, f"{flag}, block {i}:") for i, part in enumerate(parts)]


def _text(found: dict[str, Any], outcome: "Outcome") -> str:
    from sim.units import fmt_bandwidth, fmt_size, fmt_time
    from terminal.numbers import told

    trace = outcome.trace
    load = f", {fmt_size(found['size_bytes'])}" if found["size_bytes"] else ""
    rows = {"time": fmt_time(found["time_s"])}
    if load:
        rows["algbw"] = fmt_bandwidth(found["algbw_Bps"])
        rows["busbw"] = fmt_bandwidth(found["busbw_Bps"])
    if "extent_bytes" in found:
        rows["buffer"] = f"{fmt_size(found['extent_bytes'])} from the first byte to the end of the last block"
    if found["bound_s"]:
        ratio = f" (this took {found['time_s'] / found['bound_s']:.3g} times that)"
        doers = "ranks and switches" if trace.schedule.switches else "ranks"
        rows["bound"] = f"{fmt_time(found['bound_s'])} at least, whatever the {doers} do{ratio}"
    if found["bottleneck"]:
        busiest = found["bottleneck"]
        rows["bottleneck"] = f"{busiest['src']} -> {busiest['dst']}, busy {busiest['share']:.1%} of the time"
    rows["transfers"] = f"{found['transfers']:,} in {found['steps']:,} steps"
    reason = trace.verdict.reason
    rows["verified"] = {"ok": "yes", "unchecked": f"unchecked: {reason}"}.get(found["verdict"], f"NO: {reason}")
    if "numbers" in found:
        rows["numbers"] = told(found["numbers"])
    with_settings = ",".join(f"{key}={value}" for key, value in outcome.work.settings.items())
    name = f"{found['algorithm']}:{with_settings}" if with_settings else found["algorithm"]
    head = f"{name} on {found['machine']}: {found['ranks']} ranks{load}"
    lines = [*rows.items(), *(("trouble", _told_trouble(one)) for one in found["troubles"])]
    notes = [f"note: {note}" for note in trace.topology.assumed]
    return "\n".join([head, *(f"  {name:11} {value}" for name, value in lines), *notes])


def _told_trouble(one: dict[str, Any]) -> str:
    from sim.units import fmt_time

    if not one["transfers"]:
        return f"{one['trouble']} bore on nothing"
    return f"{one['trouble']} bore on {one['transfers']:,} transfers, on one for {fmt_time(one['longest_s'])}"
