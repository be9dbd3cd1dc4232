"""Texts from outside: workers alone read them, each once, and one that blocks its reader costs a sentence."""

import asyncio
from urllib.parse import urlencode

import pytest
from streamlit.testing.v1 import AppTest

from ops.plan import Plan, model, plan_file, training
from ops.plan.examples import example_captures, example_schedules
from ops.plan.link import to_link
from sim.base.files.textfile import decoded
from sim.base.formats import Formats
from sim.base.share import MOST_SECONDS
from sim.errors import Message
from tests.attack.visitors import FINISHED, Tab, look
from tests.blocking import HOSTILE, block
from tests.browser.visit import PATIENCE, serve
from tests.ui.test_dropped import drop, told
from tests.ui.test_page import APP, page
from tests.ui.visited import change_state
from ui.talk import Talk, TalkScene, document
from ui.text import say
from ui.visit import VisitState
from ui.workers import asking, reading
from ui.workers.one import OwnProcess
from ui.workers.pool import PoolLimits, WorkerPool
from ui.workers.process import Call, Result
from ui.workers.remembered import REFUSED, ROOM, LateError, Remembered

PLAN = Plan(machine="switch:ranks=4", size="1MiB")
CAPTURE, SCHEDULE = example_captures()["dgx-1v"], next(iter(example_schedules().values()))
PAIRS = r"""Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)
   D\D     0      1
     0 700.00  40.00
     1  40.00 700.00
"""
READERS = {
    Formats: ("recognise", "call"),
    model: ("placed", "edited", "from_json"),
    plan_file: ("parse_yaml",),
    training: ("parse_yaml",),
    document: ("parse_yaml",),
    reading: ("matrices", "in_one_line"),
}
"""What looks into a text."""


class Watched(OwnProcess):
    """Carries calls out where they are asked, and knows whether one is under way, and which there were."""

    def __init__(self):
        super().__init__()
        self.depth, self.calls = 0, []

    def ask(self, visitor, call, *, shared=True):
        self.calls.append(call.function.__name__)
        self.depth += 1
        try:
            return super().ask(visitor, call, shared=shared)
        finally:
            self.depth -= 1


@pytest.fixture
def pool(monkeypatch):
    """In place of workers; a reader that is called outside of them ends the test."""
    workers, read_outside = Watched(), []

    def guarded(function, name):
        def read(*args, **options):
            if not workers.depth:
                read_outside.append(name)
            return function(*args, **options)

        return read

    monkeypatch.setattr(asking, "the_pool", lambda: workers)
    for owner, names in READERS.items():
        for name in names:
            monkeypatch.setattr(owner, name, guarded(getattr(owner, name), name))
    yield workers
    assert read_outside == []


LINKS = {
    "capture": {"capture": CAPTURE},
    "schedule": {"schedule": SCHEDULE, "machine": "switch:ranks=4"},
    "placement": {"machine": "dgx_a100", "placement": "0-3"},
    "edits": {"machine": "dgx_a100", "edits": "fail_link:src=GPU0,dst=NVS"},
    "counts": {"machine": "switch:ranks=2", "algorithm": "allgatherv.ring", "counts": "1KiB,2KiB"},
    "edited capture": {"capture": CAPTURE, "edits": "fail_link:src=GPU0,dst=GPU1", "placement": "0-3"},
}


@pytest.mark.slow
@pytest.mark.parametrize("words", LINKS.values(), ids=LINKS)
def test_no_page_reads_the_texts_of_a_link_itself(pool, words):
    link = to_link(Plan(**words))
    page(**link)
    page(page="train", **link)


DROPPED = {
    "capture": (CAPTURE,),
    "capture and pairs": (CAPTURE, PAIRS),
    "schedule": (SCHEDULE,),
    "plan": (plan_file.to_yaml(PLAN),),
    "training": (training.to_yaml(training.WorkloadPlan(machine=PLAN)),),
    "talk": (document.to_text(Talk("A talk", (TalkScene(PLAN, "A plan"),))),),
    "nothing": ("a shopping list: apples",),
}


@pytest.mark.slow
@pytest.mark.parametrize("texts", DROPPED.values(), ids=DROPPED)
def test_no_page_reads_what_is_dropped_itself(pool, texts):
    at = page()
    change_state(
        at, VisitState, received={"files": [{"name": f"{k}.txt", "text": text} for k, text in enumerate(texts)]}
    )
    at.run()
    assert not at.exception
    assert "arrived" in pool.calls


def test_a_link_without_a_text_has_nothing_read_by_a_worker(pool):
    page(machine="dgx1v", size="1MiB", algorithm="allreduce.ring", network="")
    assert set(pool.calls) & {*vars(reading)} == set()


def test_a_text_is_read_once_however_often_its_page_is_drawn(monkeypatch):
    at, read = page(capture="example-dgx-1v"), []
    whole = reading.FORMATS.recognise
    monkeypatch.setattr(reading.FORMATS, "recognise", lambda text, name: read.append(name) or whole(text, name))
    at.run()
    assert read == []


@pytest.fixture
def impatient(monkeypatch):
    """Two workers that have a second for each job."""
    workers = WorkerPool(PoolLimits(2, 2 << 30, 1.0)).start()
    monkeypatch.setattr(asking, "the_pool", lambda: workers)
    monkeypatch.setattr(reading, "machine_format", block)
    yield workers
    workers.close()


@pytest.mark.slow
def test_a_text_that_blocks_its_reader_costs_a_sentence_and_is_tried_once(impatient):
    at = AppTest.from_file(APP, default_timeout=180)
    for name, word in to_link(Plan(capture=HOSTILE)).items():
        at.query_params[name] = word
    sentence = say("page.reading.late", "en", seconds="1")
    assert sentence in told(at.run())
    tried = impatient.load()["done"]
    assert sentence in told(at.run())
    assert impatient.load()["done"] == tried


@pytest.mark.slow
def test_what_is_dropped_and_blocks_its_reader_is_refused_in_the_language_of_the_visit(impatient, monkeypatch):
    monkeypatch.setattr(reading, "arrived", blocked)
    at = page(lang="zh", page="health")
    drop(at, "it", HOSTILE)
    assert told(at) == [say("page.reading.late", "zh", seconds="1")]


BLOCKING_APP = """
if __name__ == "__main__":
    from ui.frame.front import main

    main()
elif __name__ != "__mp_main__":
    from streamlit import App

    from tests.blocking import block
    from ui.server.application import around
    from ui.workers import reading

    reading.machine_format = block
    app = App(__file__, **around())
"""
"""The dashboard with a reader that blocks."""


@pytest.mark.slow
def test_while_a_text_blocks_its_reader_the_server_answers_others(tmp_path):
    script = tmp_path / "blocking_app.py"
    script.write_text(BLOCKING_APP, "utf-8")
    address, server = serve(script=script, **{MOST_SECONDS: "10"})
    others = "machine=switch:ranks=4"

    async def visit():
        async with Tab(address) as first, Tab(address) as other:
            await other.drawn(others)
            hostile = asyncio.create_task(last_alert(first, urlencode(to_link(Plan(capture=HOSTILE)))))
            while not look(address)["running"]:
                await asyncio.sleep(0)
            await other.drawn(others)
            assert look(address)["running"]
            assert not hostile.done()
            return await hostile

    try:
        assert say("page.reading.late", "en", seconds="10") in asyncio.run(visit())
    finally:
        server.terminate()
        assert server.wait(PATIENCE) is not None


async def last_alert(tab, query):
    """What a page tells last, once it is drawn."""
    await tab.ask(query)
    said = ""
    while True:
        message = await tab.heard()
        if message.delta.new_element.alert.body:
            said = message.delta.new_element.alert.body
        if message.script_finished == FINISHED and message.WhichOneof("type") == "script_finished":
            return said


def blocked(texts):
    """Reads what is dropped for ever."""
    return block(texts[0][0])


@pytest.mark.parametrize("outcome", [Result(refusal=Message("no such thing"), status=2), LateError("late")])
def test_what_was_refused_is_not_tried_again_for_a_minute(outcome):
    now = [0.0]
    remembered, call = Remembered(lambda: now[0]), Call(decoded, (b"", "it"))
    remembered.keep(call, outcome, 100)
    now[0] = REFUSED - 1
    assert remembered.get(call) is outcome
    now[0] = REFUSED
    assert remembered.get(call) is None
    assert remembered.bytes == 0


def test_texts_count_among_what_is_remembered():
    remembered = Remembered()
    calls = [Call(decoded, (b"", str(k))) for k in range(6)]
    for call in calls:
        remembered.keep(call, Result(b"short"), ROOM // 5)
    assert [call for call in calls if remembered.get(call)] == calls[2:]
    remembered.keep(Call(decoded, (b"", "large")), Result(b"short"), ROOM // 3)
    assert remembered.get(Call(decoded, (b"", "large"))) is None


def test_a_text_that_needs_too_much_memory_is_told_in_the_words_of_texts(monkeypatch):
    def full(text):
        raise MemoryError

    monkeypatch.setattr(asking, "the_pool", OwnProcess)
    with pytest.raises(asking.InputError) as refused:
        asking.read(full, "it")
    assert str(refused.value) == say("page.reading.full", "en")
