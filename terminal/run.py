"""`run`: prove a collective and time it."""

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.errors import InputError
from terminal import DONE, NO, Answer, argument, command
from terminal.arguments import ALGORITHM, MACHINE, machine, schedule, whole

if TYPE_CHECKING:
    from ops.registry import Algorithm
    from sim.schedule import Promise
    from sim.trace import Trace


@command(
    *ALGORITHM,
    *MACHINE,
    argument("--topology", metavar="FILE", help="instead of --machine: a capture in any known format"),
    argument("--size", help="bytes as nccl-tests counts them, like 64MiB; a barrier has none"),
    argument("--counts", help="block sizes of a v collective, like 1KiB,2KiB,0,8KiB; instead of --size"),
    argument("--ranks", help="how many ranks take part; the whole machine if left out"),
    argument("--lockstep", action="store_true", help="let every step wait for the whole step before"),
    argument("--dtype", help="also move real numbers and check them: float32, float64, int64 or float16"),
    argument("--op", help="how real numbers are combined: sum, mean, max, min or prod; sum if left out"),
    argument("--trace", metavar="FILE.json", help="also write everything that happened to a file"),
)
def run(given: argparse.Namespace) -> Answer:
    """Prove a collective and time it on a machine."""
    import numpy as np

    from ops import ALGORITHMS
    from sim import metrics
    from sim.engine import simulate
    from sim.verify import prove
    from terminal.numbers import check, wanted

    begun = time.perf_counter()
    entry = ALGORITHMS[given.algorithm]
    size, counts = _load(given, entry)
    numeric = wanted(given.dtype, given.op)
    there = machine(given, given.topology)
    ranks = there.n if given.ranks is None else whole(given.ranks, "--ranks")
    if ranks > there.n:
        raise InputError(f"{there.name} holds {there.n} ranks, not {ranks}: ask for {there.n} or fewer")

    build_begun = time.perf_counter()
    made = schedule(given, entry, ranks)
    proof_begun = time.perf_counter()
    proof = prove(made, blocks=counts is not None)
    proved = time.perf_counter()
    promise = made.promise
    assert promise is not None
    if counts is not None:
        size = _largest_buffer(counts, promise)
    history = given.trace is not None
    trace = simulate(there, made, size, blocks=counts, lockstep=given.lockstep, history=history, proof=proof)
    weights = np.array(counts) if counts is not None else np.full(promise.blocks, size * made.unit_share)
    devices = np.array(there.ranks[:ranks], np.int32)
    bound = metrics.lower_bound(there, promise, weights.astype(np.float64), devices, in_switch=bool(made.switches))
    numbers = numeric and check(made, size, counts, *numeric)
    if given.trace is not None:
        _write(given.trace, trace.to_json())
    use = metrics.bottleneck(trace)
    busy = use and there.links[use.link]
    found = {
        "collective": entry.collective.name,
        "algorithm": entry.name,
        "machine": there.name,
        "ranks": ranks,
        "size_bytes": size,
        "time_s": trace.time,
        "algbw_Bps": metrics.algbw(trace),
        "busbw_Bps": metrics.busbw(trace, entry.collective.busbw(ranks)),
        "bound_s": bound,
        "transfers": made.messages,
        "steps": made.steps,
        "instants": trace.instants,
        "verified": trace.verdict.verdict == "ok",
        "bottleneck": use and busy and {"src": busy.src, "dst": busy.dst, "bytes": use.bytes, "share": use.share},
        **({"numbers": numbers} if numbers else {}),
        "build_s": proof_begun - build_begun,
        "verify_s": proved - proof_begun,
        "sim_s": trace.real["sim_s"],
        "wall_s": time.perf_counter() - begun,
    }
    right = found["verified"] and (numbers is None or numbers["right"])
    return Answer(DONE if right else NO, found, _text(found, trace))


def _load(given: argparse.Namespace, entry: "Algorithm") -> tuple[int, list[int] | None]:
    """The size, or the block sizes, that a run is given."""
    from sim.units import parse_size

    if not entry.collective.sized:
        return 0, None
    if given.counts is None:
        if given.size is None:
            raise InputError(f"{entry.name} moves data, but no size is given: add --size 64MiB")
        return parse_size(given.size, "--size"), None
    if given.size is not None:
        raise InputError("--size and --counts are both given: keep --counts for unequal blocks, --size for equal ones")
    if not entry.collective.vector:
        raise InputError(f"{entry.name} has blocks of equal size: give --size, or choose a v collective for --counts")
    texts = given.counts.split(",")
    return 0, [0 if text.strip() == "0" else parse_size(text, f"--counts, block {i}:") for i, text in enumerate(texts)]


def _largest_buffer(counts: list[int], promise: "Promise") -> int:
    """What nccl-tests would call the size of unequal blocks: the bytes of the largest buffer of any rank.

    A wrong number of counts is the engine's to tell.
    """
    import numpy as np

    weights = np.array([*counts, 0]) if len(counts) == promise.blocks else np.zeros(promise.blocks + 1, int)
    return int(max(weights[buffer].sum(axis=1).max() for buffer in (promise.given, promise.owed)))


def _text(found: dict[str, Any], trace: "Trace") -> str:
    from sim.units import fmt_bandwidth, fmt_size, fmt_time
    from terminal.numbers import told

    load = f", {fmt_size(found['size_bytes'])}" if found["size_bytes"] else ""
    rows = {"time": fmt_time(found["time_s"])}
    if load:
        rows["algbw"] = fmt_bandwidth(found["algbw_Bps"])
        rows["busbw"] = fmt_bandwidth(found["busbw_Bps"])
    ratio = f" (this took {found['time_s'] / found['bound_s']:.3g} times that)" if found["bound_s"] else ""
    doers = "ranks and switches" if trace.schedule.switches else "ranks"
    rows["bound"] = f"{fmt_time(found['bound_s'])} at least, whatever the {doers} do{ratio}"
    if found["bottleneck"]:
        busiest = found["bottleneck"]
        rows["bottleneck"] = f"{busiest['src']} -> {busiest['dst']}, busy {busiest['share']:.1%} of the time"
    rows["transfers"] = f"{found['transfers']:,} in {found['steps']:,} steps"
    rows["verified"] = "yes" if found["verified"] else f"NO: {trace.verdict.reason}"
    if "numbers" in found:
        rows["numbers"] = told(found["numbers"])
    head = f"{found['algorithm']} on {found['machine']}: {found['ranks']} ranks{load}"
    notes = [f"note: {note}" for note in trace.topology.assumed]
    return "\n".join([head, *(f"  {name:11} {value}" for name, value in rows.items()), *notes])


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}): give a path that can") from None
