"""A machine that is dropped or pasted anywhere: it stands there, with what is told of it; what is none is refused."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from ops.formats import write_schedule
from ops.measured import formats as measured_formats
from ops.plan import Plan
from ops.plan.examples import example_captures
from ops.plan.plan_file import to_yaml
from ops.plan.training import WorkloadPlan, is_training
from ops.plan.training import to_yaml as training_yaml
from ops.registry import ALGORITHMS
from sim.formats import FORMATS, write_topology
from sim.machines import build
from ui.pages.measured import EXAMPLE
from ui.text import catalogue
from ui.workers import reading

pytestmark = pytest.mark.browser
PASTE = """async text => {
  while (!document.querySelector("[data-ringside=drop]")) await new Promise(requestAnimationFrame); // nobody listens
  const data = new DataTransfer();
  data.setData("text/plain", text);
  const place = document.querySelector("h1") ?? document.body;
  place.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
}"""
DROP = """async files => {
  while (!document.querySelector("[data-ringside=drop]")) await new Promise(requestAnimationFrame); // nobody listens
  const data = new DataTransfer();
  for (const [name, text] of files) data.items.add(new File([text], name));
  for (const kind of ["dragover", "drop"]) {
    document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
  }
}"""
DRAG = """sentence => {
  const data = new DataTransfer(), veil = document.querySelector("[data-ringside=drop]");
  data.setData("text/plain", sentence.textContent);
  const happens = (kind, where) =>
    where.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true, composed: true }));
  const over = () => [happens("dragover", document.body), veil.style.display][1];
  happens("dragstart", sentence);
  const own = over();
  happens("drop", document.body);
  happens("dragend", sentence);
  const found = { own, "another's": over() };
  happens("dragleave", document.body);
  return found;
}"""
CAPTURES = example_captures()
ROOT = Path(__file__).parents[2]


def stands(visit, count, language="en"):
    """Waits until a machine of so many GPUs is drawn with what is told of it."""
    visit.page.get_by_text(catalogue(language)["diagnosis.slow"]).first.wait_for()
    visit.page.get_by_role("radio", name=f"GPU{count - 1}", exact=True).wait_for()
    visit.settle()
    visit.has(view="machine")


def test_a_machine_is_pasted_and_dropped_on_any_page_and_what_is_none_is_refused(visit):
    one = visit("?machine=switch:ranks=4")
    page = one.page
    page.evaluate(PASTE, CAPTURES["dual-socket-pcie"])
    stands(one, 8)
    one.where("capture=example-dual-socket-pcie")
    page.get_by_text("8 values assumed").wait_for()
    page.get_by_role("radio", name="GPU3", exact=True).click()
    page.get_by_text("In a ring it sends to GPU4 over CPU0 → CPU1, at 16 GB/s: the slowest hop").wait_for()
    page.evaluate(DROP, [["notes.txt", "hello"]])
    page.get_by_text("notes.txt is no topology known here").wait_for()
    one.has(steps="14")
    one.choose("Language", "中文")
    page.get_by_text("学习", exact=True).wait_for()
    one.settle()
    page.get_by_text("学习", exact=True).click()
    one.where("page=learn")
    one.settle()
    page.evaluate(DROP, [["dgx.txt", CAPTURES["dgx-1v"]]])
    stands(one, 8, "zh")
    page.get_by_text("最佳的环次序").wait_for()
    page.get_by_role("button", name="比较", exact=True).click()
    one.player.nth(1).wait_for()
    one.where("order_ranks")
    one.settle()
    page.evaluate(DROP, [["empty.txt", " "]])
    page.get_by_text("empty.txt 是空的").wait_for()
    one.settle()
    expect(one.player).to_have_count(2)


def test_what_is_refused_is_still_told_when_the_page_is_drawn_anew_and_what_is_opened_then_is_not_lost(visit):
    one = visit("?machine=switch:ranks=4")
    page = one.page
    page.evaluate(PASTE, CAPTURES["dgx-1v"])
    stands(one, 8)
    page.evaluate(DROP, [["empty.txt", " "]])
    page.get_by_role("radio", name="GPU3", exact=True).click()
    one.settle()
    page.get_by_text("In a ring it sends to").wait_for()
    page.get_by_text("empty.txt is empty").wait_for()
    veils = page.get_by_text("empty.txt is empty").evaluate(DRAG)
    assert veils == {"own": "none", "another's": "grid"}, "a piece of the page is not what somebody brings"
    page.evaluate(DROP, [["pcie.txt", CAPTURES["dual-socket-pcie"]]])
    page.get_by_role("radio", name="GPU5", exact=True).click()
    one.where("capture=example-dual-socket-pcie")
    expect(page.get_by_text("empty.txt")).to_have_count(0)


KINDS = {
    "_machine": {
        **CAPTURES,
        **{
            name: write_topology(build("dgx_a100"), name)
            for name in FORMATS
            if FORMATS[name].write is not None and name != "simgrid_xml"
        },
    },
    "_schedule": {"msccl": write_schedule(ALGORITHMS["allreduce.ring"].schedule(4), "msccl_xml")},
    "_plan": {"yaml": to_yaml(Plan(machine="dgx1v"))},
    "_training": {"yaml": training_yaml(WorkloadPlan("fsdp"))},
    "_measured": {"nccl-tests": EXAMPLE},
}


@pytest.mark.parametrize("opens", KINDS)
def test_readers_say_what_a_text_is(opens):
    for name, text in KINDS[opens].items():
        kind = next(kind for kind, (matches, _) in reading.KINDS.items() if matches(text))
        assert f"_{kind}" == opens, name
    assert measured_formats.MEASUREMENTS.recognise(EXAMPLE, "")
    assert is_training(KINDS["_training"]["yaml"])
