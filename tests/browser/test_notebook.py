"""The widgets of a notebook in a plain page, with a model as anywidget has one: values go both ways, and no further."""

import json

import pytest
from playwright.sync_api import expect

from ops.lab.cells import rows
from ops.plan import Plan
from ops.plan.training import WorkloadPlan
from tests.browser.visit import FILES, PLAYER
from ui.notebook import show

pytestmark = pytest.mark.browser
PAGE = """<!doctype html><html><meta charset="utf-8"><body style="background:{paper}"><style>{style}</style>
<div style="height:3000px"></div><div id="cell" style="width:900px"></div><div style="height:3000px"></div>
<script type="module">
const values = {values}, handlers = {{}};
window.told = [];
window.model = {{
  get: (name) => values[name],
  set: (name, value) => {{
    if (JSON.stringify(values[name]) === JSON.stringify(value)) return;
    values[name] = value;
    window.told.push([name, value]);
    for (const handler of handlers[`change:${{name}}`] ?? []) handler();
  }},
  save_changes: () => window.told.push(["saved"]),
  on: (name, handler) => (handlers[name] ??= []).push(handler),
  off: (name, handler) => (handlers[name] = handlers[name].filter((other) => other !== handler)),
}};
{code}
window.close_it = await widget.render({{ model, el: document.getElementById("cell") }});
</script></body></html>"""


@pytest.fixture
def cell(enter, tmp_path):
    """Opens a widget under a cell; `told` is what it has told Python."""

    def opened(widget, awaited, paper="#ffffff"):
        names = [name for name in ("data", "height", "time", "view", "cell") if widget.has_trait(name)]
        values = json.dumps({name: getattr(widget, name) for name in names}).replace("<", "\\u003c")
        code = widget._esm.replace("export default", "const widget =", 1)
        file = tmp_path / "cell.html"
        file.write_text(PAGE.format(paper=paper, style=widget._css, values=values, code=code), encoding="utf-8")
        page = enter(FILES, offline=True).page
        page.goto(file.as_uri())
        page.locator(awaited).first.wait_for()
        return page

    return opened


def python_sets(page, name, value):
    """As when Python has set a value: the widget is told, and nothing is new to Python."""
    page.evaluate("([name, value]) => model.set(name, value)", [name, value])
    page.evaluate("() => { told.length = 0; }")


def test_the_player_and_python_move_each_other(cell):
    widget = show(Plan(machine="switch:ranks=4", size="1MiB"), time=10e-6)
    page = cell(widget, PLAYER)
    player = page.locator(PLAYER)
    assert float(player.get_attribute("data-time-s")) == pytest.approx(10e-6, rel=1e-6)
    picture, whole = (player.locator(name).first.bounding_box()["height"] for name in (".rs-stage", ".rs-stand"))
    assert 220 < picture < whole <= widget.height  # though far down on a long page
    python_sets(page, "time", widget.end / 2)
    page.wait_for_function(f"document.querySelector('{PLAYER}').dataset.timeS >= {widget.end * 0.499}")
    python_sets(page, "view", "matrix")
    page.wait_for_function(f"document.querySelector('{PLAYER}').dataset.view === 'matrix'")
    page.evaluate("() => new Promise((done) => setTimeout(done, 600))")  # by the clock that it would tell by
    assert page.evaluate("told") == []
    player.focus()
    page.keyboard.press("End")
    page.wait_for_function("told.length > 0")
    page.wait_for_function("told.some(([name]) => name === 'saved')")
    (name, value), *_ = page.evaluate("told")
    assert (name, value) == ("time", pytest.approx(widget.end, rel=1e-6))
    page.evaluate("close_it()")
    python_sets(page, "time", 0)
    expect(player).to_have_count(0)


def test_a_cell_answers_what_if_without_python(cell):
    widget = show(Plan(machine="switch:ranks=4", size="1MiB"))
    page = cell(widget, PLAYER)
    page.locator(".rs-look select").select_option(label="SW → GPU3")
    page.locator(".rs-curve:visible").first.wait_for()
    page.locator("[data-drag=bandwidth]").fill("-10")
    expect(page.locator(".rs-old")).to_be_visible()
    python_sets(page, "time", widget.end / 2)
    expect(page.locator(".rs-old")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".rs-old")).to_be_hidden()


@pytest.mark.parametrize("paper", ["#ffffff", "#111111"])
def test_a_cell_is_drawn_in_the_colours_around_it(cell, paper):
    page = cell(show(Plan(machine="switch:ranks=4", size="1MiB")), PLAYER, paper)
    expect(page.locator(".rs-root")).to_have_css("color-scheme", "light" if paper == "#ffffff" else "dark")
    ink = "rgb(49, 51, 63)" if paper == "#ffffff" else "rgb(250, 250, 250)"
    expect(page.locator(".rs-caption").first).to_have_css("color", ink)


def test_a_cell_of_a_map_is_chosen_from_both_sides(cell):
    cells = [Plan(f"allreduce.{name}", "switch:ranks=4", size="1KiB", ranks=4) for name in ("ring", "rabenseifner")]
    page = cell(show(rows(cells, budget=60.0)), '[data-ringside="map"]')
    page.get_by_role("button").first.click()
    assert page.evaluate("told") == [["cell", {"ranks": 4, "bytes": 1024}], ["saved"]]
    expect(page.get_by_role("button").first).to_have_attribute("aria-pressed", "true")
    python_sets(page, "cell", None)
    expect(page.get_by_role("button").first).to_have_attribute("aria-pressed", "false")


def test_an_instant_of_a_training_step_is_chosen_from_both_sides(cell):
    widget = show(WorkloadPlan(machine=Plan(machine="switch:ranks=2,bandwidth=3GBps")))
    page = cell(widget, '[data-ringside="training"]')
    python_sets(page, "time", widget.data["end"] / 2)
    page.wait_for_function("document.querySelector('.rs-now')?.style.left === '50%'")
    expect(page.locator(".rs-doing li")).to_have_count(2)
    slider = page.get_by_role("slider")
    slider.focus()
    page.keyboard.press("End")
    assert page.evaluate("told") == [["time", pytest.approx(widget.data["end"])], ["saved"]]
    expect(page.locator(".rs-doing li").first).to_contain_text("nothing")
