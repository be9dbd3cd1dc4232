"""Workers of the page: whose turn it is, what a job may take, and what becomes of one that nobody waits for."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import CancelledError
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from ops.plan import Plan
from sim.base import watch
from sim.base.compiled import PATIENT, patience
from sim.errors import InputError
from ui.workers import asking, tasks
from ui.workers.fair_queue import FairQueue
from ui.workers.one import OwnProcess
from ui.workers.pool import HELD_UP, PROMPT, SHORT, PageJob, PoolLimits, Seat, WorkerDiedError, WorkerPool
from ui.workers.process import Call, answer, kept_waiting

MiB = 1 << 20


@dataclass(eq=False)
class Paper:
    visitor: str
    number: int = 0
    long: bool = False


def nap(seconds, word=""):
    """Sleeps in a worker."""
    for k in range(100):
        time.sleep(seconds / 100)
        watch.passing(k / 100)
    return word, os.getpid()


def fill():
    """Asks for more than a worker may have."""
    return len(bytearray(4096 * MiB))


def die():
    """Kills its own process."""
    os.kill(os.getpid(), signal.SIGKILL)


def refuse():
    """Raises what people are told."""
    raise InputError("no such thing: choose another")


def test_visitors_take_turns_and_each_keeps_its_own_order():
    queue = FairQueue()
    for visitor, number in (("a", 1), ("a", 2), ("a", 3), ("b", 1), ("c", 1), ("b", 2)):
        queue.put(Paper(visitor, number))
    taken = [queue.take() for _ in range(6)]
    assert [(paper.visitor, paper.number) for paper in taken] == [
        ("a", 1), ("b", 1), ("c", 1), ("a", 2), ("b", 2), ("a", 3),
    ]  # fmt: skip
    assert queue.take() is None
    assert len(queue) == 0


def test_who_had_much_of_the_workers_lately_waits_for_those_who_had_little():
    now = [0.0]
    queue = FairQueue(lambda: now[0])
    queue.charge("map", 4.0)
    queue.charge("page", 0.2)
    queue.charge("glance", 0.01)

    def order():
        for visitor in ("map", "page", "glance", "new"):
            queue.put(Paper(visitor))
        return [queue.take().visitor for _ in range(4)]

    assert order() == ["glance", "new", "page", "map"]
    now[0] = 30.0  # half of half of half of four seconds is left
    assert order() == ["page", "glance", "new", "map"]
    now[0] = 100.0
    assert order() == ["map", "page", "glance", "new"]


def test_what_takes_long_stays_behind_where_it_may_not_go():
    queue = FairQueue()
    for paper in (Paper("a", 1, long=True), Paper("a", 2), Paper("b", 1, long=True)):
        queue.put(paper)
    assert queue.has_short()
    assert queue.take(long=False).number == 2
    assert queue.take(long=False) is None
    assert not queue.has_short()
    queue.put(Paper("a", 0, long=True), first=True)
    assert [paper.number for paper in (queue.take(), queue.take(), queue.take())] == [1, 0, 1]


def test_what_is_dropped_is_never_taken():
    queue = FairQueue()
    for number in range(4):
        queue.put(Paper("ab"[number % 2], number))
    assert [paper.number for paper in queue.drop(lambda paper: paper.number > 1)] == [2, 3]
    assert (queue.of("a"), queue.of("b"), len(queue)) == (1, 1, 2)


@pytest.fixture(scope="module")
def pool():
    """Two workers of 1 GiB, and half a minute for a job."""
    workers = WorkerPool(PoolLimits(2, 1024 * MiB, 30.0)).start()
    yield workers
    workers.close()


def result(pool, visitor, function, *args, shared=False):
    job = pool.ask(visitor, Call(function, args), shared=shared)
    try:
        return job.result(60).read()
    finally:
        pool.leave(job)


@pytest.mark.slow
def test_a_plan_is_the_same_in_a_worker_and_here(pool):
    plan = Plan(machine="switch:ranks=4", algorithm="allreduce.ring", size="1MiB")
    assert result(pool, "a", tasks.run, plan, "en") == tasks.run(plan, "en")
    assert answer(Call(tasks.load, (plan,))).read() == result(pool, "a", tasks.load, plan)


@pytest.mark.slow
def test_a_refusal_comes_back_as_it_was(pool):
    with pytest.raises(InputError, match="no such thing: choose another"):
        result(pool, "a", refuse)


@pytest.mark.slow
def test_a_worker_that_is_full_or_dies_costs_its_visitor_one_sentence(pool):
    with pytest.raises(InputError, match="does not fit into memory"):
        result(pool, "a", fill)
    with pytest.raises(WorkerDiedError, match="was killed"):
        result(pool, "a", die)
    assert result(pool, "b", nap, 0, "well")[0] == "well"


@pytest.mark.slow
def test_a_worker_killed_while_it_had_nothing_to_do_is_replaced(pool):
    for _ in range(4):
        os.kill(result(pool, "a", nap, 0)[1], signal.SIGKILL)
        time.sleep(0.05)
    assert result(pool, "a", nap, 0, "again")[0] == "again"


@pytest.mark.slow
def test_who_asks_for_the_workers_while_one_ends_is_told_of_the_others():
    """As the small page of health and load does every five seconds."""
    pool, told = WorkerPool(PoolLimits(2, 1024 * MiB, 30.0)), []
    first, second = pool._seats
    for seat in (first, second):
        seat.start_process()
    assert pool.processes() == [first.process.pid, second.process.pid]
    connection = first._connection
    first._connection = SimpleNamespace(close=lambda: told.extend(pool.processes()))
    try:
        first._end()  # its process is closed, and nobody knows its number any more, before its connection is
        assert told == pool.processes() == [second.process.pid]
    finally:
        connection.close()
        second._end()
    assert pool.processes() == []


def test_a_worker_that_is_long_in_ending_costs_nobody_anything():
    def close():
        raise ValueError("Cannot close a process while it is still running")

    seat = Seat(WorkerPool(PoolLimits(1, 1024 * MiB, 30.0)))
    nothing = SimpleNamespace(close=lambda: None)
    seat.process, seat._connection = SimpleNamespace(kill=lambda: None, join=lambda _: None, close=close), nothing
    seat._end()
    assert seat.process is None


def test_what_nobody_waits_for_any_more_is_ended_at_once(pool):
    call = Call(nap, (25, "shared"))
    first, second = pool.ask("a", call), pool.ask("b", call)
    assert first is second
    pool.leave(first)
    time.sleep(0.3)
    assert not first.abandoned
    pool.leave(second)
    with pytest.raises(CancelledError):
        first.result(20)


@pytest.mark.slow
def test_a_short_run_never_waits_for_long_ones(pool):
    """Both workers are busy for long: one gives way, and its job waits to be done again from its beginning."""
    lasting = [pool.ask("hostile", Call(nap, (25, f"long {k}")), shared=False) for k in range(2)]
    time.sleep(SHORT + 0.1)
    assert result(pool, "other", nap, 0, "short")[0] == "short"
    assert not any(job.done() for job in lasting)
    assert [job.long for job in lasting].count(True) == 1
    for job in lasting:
        pool.leave(job)


@pytest.mark.slow
def test_seconds_that_others_had_the_processor_do_not_make_a_job_long():
    job = PageJob("a", Call(nap, (1.0,)))
    assert not job.lasts()
    job.begun = time.monotonic() - SHORT - 1.0
    assert job.lasts()
    job.held_up = 2.0
    assert not job.lasts()
    job.begun = time.monotonic() - HELD_UP - 1.0
    job.held_up = HELD_UP
    assert job.lasts()


def test_what_says_that_it_will_take_long_is_long_at_once():
    job = PageJob("a", Call(nap, (1.0,)))
    job.begun, job.estimate = time.monotonic(), watch.Estimate(1e3, 1e6, PROMPT / 2)
    assert not job.lasts()
    job.estimate = watch.Estimate(1e9, 1e6, 2 * PROMPT)
    assert job.lasts()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system tells nobody who waits")
def test_who_waits_for_a_processor_is_told():
    burn = "import time\nwhile time.process_time() < 0.15: pass\nprint(flush=True)\ninput()"
    core = min(os.sched_getaffinity(0))
    both = [
        subprocess.Popen(
            [sys.executable, "-c", f"import os\nos.sched_setaffinity(0, [{core}])\n{burn}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    try:
        assert all(process.stdout.readline() for process in both)
        assert max(kept_waiting(process.pid) for process in both) > 0.05
    finally:
        for process in both:
            process.communicate(b"\n")
    assert kept_waiting(1 << 30) == 0.0


@pytest.mark.slow
def test_a_job_has_so_many_seconds_and_tells_how_far_it_is():
    brief = WorkerPool(PoolLimits(1, 1024 * MiB, 2.0)).start()
    try:
        told, silent = brief.ask("a", Call(nap, (8,))), brief.ask("a", Call(time.sleep, (20,)))
        with pytest.raises(InputError, match="stopped after 2 s"):
            told.result(60).read()
        assert 0 < told.share < 0.5
        with pytest.raises(InputError, match="stopped after 2 s"):
            silent.result(60).read()
        time.sleep(2.2)  # a worker that has waited has all its time before it
        assert brief.ask("a", Call(nap, (0, "rested"))).result(60).read()[0] == "rested"
    finally:
        brief.close()


def test_while_kernels_are_made_workers_interpret_what_they_would_have_to_make_again():
    made = subprocess.Popen(["sleep", "600"])
    workers = WorkerPool(PoolLimits(1, 1024 * MiB, 30.0), kernels=lambda: made).start()
    try:
        assert workers.ask("a", Call(patience, ()), shared=False).result(60).read() == PATIENT
        made.kill()
        made.wait()
        assert workers.ask("a", Call(patience, ()), shared=False).result(60).read() == 1
    finally:
        made.kill()
        workers.close()


def test_without_workers_the_same_is_done_here():
    alone = OwnProcess()
    job = alone.ask("a", Call(nap, (0, "here")))
    assert job.result().read() == ("here", os.getpid())
    assert alone.ask("b", Call(refuse, ())).result().status == InputError.status


WARM = """
from sim.base.compiled import compiled
from sim.fabric import kernel, links
from sim.schedule import replay
from ui.plan.examples import EXAMPLES
from ui.workers import tasks, warm
kernels = [it for module in (kernel, links, replay) for it in vars(compiled(module)).values()]
forms = lambda: [len(vars(it).get("overloads", ())) for it in kernels]
warm.load()
before = forms()
tasks.run(EXAMPLES["nic_dies"].plan, "en")
assert any(before)
assert forms() == before, (before, forms())
"""


@pytest.mark.slow
def test_a_nic_that_dies_asks_a_warm_worker_for_no_other_kernel():
    subprocess.run([sys.executable, "-c", WARM], check=True, capture_output=True)


def test_who_waits_is_told_of_the_compiler_and_not_of_estimates_that_are_no_reason(monkeypatch):
    pool = SimpleNamespace(is_compiling=True)
    monkeypatch.setattr(asking, "the_pool", lambda: pool)
    job = PageJob("a", Call(nap, ()))
    job.begun, job.estimate = time.monotonic(), watch.Estimate(64, 13e3, 0.01)
    assert asking._in_words(job).startswith("Compiling the simulator, once")
    pool.is_compiling = False
    assert asking._in_words(job) == "Simulating … 0%"
    job.estimate = watch.Estimate(2e6, 3e9, 20.0)
    assert asking._in_words(job) == "Simulating … 0% (about 2,000,000 transfers, 3 GB of memory, 20.0 s)"
