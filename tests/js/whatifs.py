"""Random what-ifs, with what Python says of each: a run, what is asked of it, and the run that comes of that."""

import random
from dataclasses import replace
from typing import Any

from ops.answers import Outcome, answer, of_run
from ops.answers.remedy import MOST, WORTH, faster_links
from ops.plan import Plan
from ops.run import Run
from sim.errors import Message, StalledError
from sim.trace import Trace
from ui.controls.compare import forked
from ui.player.answer import written
from ui.player.component import player_data
from ui.player.payload import pack
from ui.text import languages

SLOWER = "answer.slower"
EACH = 6
"""What-ifs of every base."""
BASES = {
    "ring": Plan(machine="switch:ranks=8", algorithm="allreduce.ring", size="1MiB"),
    "server": Plan(machine="dgx_h100", algorithm="allreduce.ring", size="16MiB"),
    "hosts": Plan(machine="dgx_h100:hosts=2", algorithm="alltoall.linear", size="16MiB"),
    "sockets": Plan(machine="dual_socket_pcie:gamma=0.01ns", algorithm="allreduce.ring", size="64MiB"),
    "in switch": Plan(machine="switch:ranks=8", algorithm="allreduce.nvls", size="1MiB"),
    "contention": Plan(machine="nodes:nodes=2,gpus=4", algorithm="alltoall.linear", size="64MiB"),
    "adding": Plan(machine="switch:ranks=4,overhead=1us", algorithm="allreduce.linear", size="1MiB"),
    "tree": Plan(machine="fat_tree", algorithm="allreduce.rabenseifner", size="16MiB"),
    "lockstep": Plan(machine="switch:ranks=16", algorithm="allreduce.ring", size="1MiB", lockstep=True),
    "faulty": Plan(
        machine="switch:ranks=16",
        algorithm="reduce_scatter.ring",
        size="1MiB",
        fault="straggler:rank=3,late=20us;slow_link:src=SW,dst=GPU1,share=0.7,start=3us,end=50us",
    ),
}


def question(draw: random.Random, trace: Trace) -> str:
    """Return a random question about a run, in the words of a hand."""
    machine, end = trace.topology, trace.time * 1e6
    link, rank = draw.choice(machine.links), draw.randrange(machine.n)
    ends, now = f"src={link.src},dst={link.dst}", f"start={draw.uniform(0.1, end):.6g}us"
    crossed = {machine.links[k].src for k, size in enumerate(trace.link_bytes) if size}
    idle = next((f"src={each.src},dst={each.dst}" for each in machine.links if not {each.src, each.dst} & crossed), "")
    return draw.choice(
        [
            f"slow_link:{ends},share={draw.uniform(0.05, 1):.4g},{now}",
            f"slow_link:{ends},share=0.5",
            f"set_link:{ends},bandwidth={draw.uniform(0.2, 90):.4g}GBps",
            f"set_link:{ends},times={draw.uniform(0.1, 8):.3g}",
            f"set_link:{ends},latency={draw.uniform(0.01, 20):.3g}us",
            f"set_class:kind={link.kind},times={draw.uniform(0.1, 4):.3g}",
            f"size:bytes={draw.randrange(1 << 18, 1 << 27)}",
            f"straggler:rank={rank},late={draw.uniform(0.01, end):.3f}us",
            f"straggler:rank={rank},slower={draw.uniform(1, 5):.3g}",
            f"dead_link:{ends},{now},end={2 * end + 1:.6g}us",
            *([f"dead_link:{idle},reroute=yes"] if idle else []),
        ]
    )


def ran(plan: Plan, *, history: bool) -> Run:
    """Return what Python says of a plan, whatever stands beside it."""
    return plan.prepare().run(history=history)


def faster_link(outcome: Outcome) -> Message | None:
    """Return what a page finds by itself, twice the bandwidth where everybody waits; None if that wins too little."""
    if not outcome.plan or outcome.transfers > MOST:
        return None
    tried = faster_links(replace(outcome.plan, against=""), outcome)
    return next((message for time, message in tried if time < WORTH * outcome.time), None)


def answers(before: Run, base: Plan, after: Run, changed: Plan) -> dict[str, Any]:
    """Return what is said of a what-if in every language, with what would win a loss back as far as a page can tell."""
    outcomes = [of_run(after, changed), of_run(before, base)]
    answered = answer(outcomes[1], outcomes[0], remedies=False)
    helps = faster_link(outcomes[0]) if answered.sentence.text == SLOWER else None
    return {language: written(replace(answered, remedy=helps), language) for language in languages()}


def raw(trace: Trace) -> dict[str, list[float]]:
    """Return the moments of a run in s, as they are, and the causes."""
    return {name: getattr(trace, name).tolist() for name in ("start", "end", "left", "cause")}


def cases(name: str) -> dict[str, Any]:
    """Return a base, packed, and what-ifs about it, with and without its history by turns."""
    draw, base, history = random.Random(name), BASES[name], len(name) % 2 == 0
    run = ran(base, history=history)
    trace = run.trace
    whatifs: list[dict[str, Any]] = []
    while len(whatifs) < EACH:
        specs = [question(draw, trace) for _ in range(draw.choice([1, 1, 2, 3]))]
        changed = base
        for spec in specs:
            changed = forked(changed, spec)
        try:
            after = ran(changed, history=history)
        except StalledError:
            continue
        what, said = after.trace, answers(run, base, after, changed)
        whatifs.append({"specs": specs, "raw": raw(what), "time": what.time, "payload": pack(what), "answers": said})
    texts = {language: player_data([], language)["text"] for language in languages()}
    return {"payload": pack(trace), "whatifs": whatifs, "texts": texts}
