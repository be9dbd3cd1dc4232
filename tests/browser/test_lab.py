"""The lab as a person meets it, in a real browser."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
ASKED = "?page=lab&machines=switch:ranks=8&algorithms=ring,recursive_doubling&sizes=1KiB,1MiB,1GiB"
CELLS = '[aria-roledescription="rect mark"]'


@pytest.fixture
def lab(visit):
    """Opens the lab with a question, and waits for its map."""

    def open_lab(query=ASKED, **options):
        one = visit(query, awaited=CELLS, **options)
        one.settle()
        return one

    return open_lab


def cell(one, size, ranks):
    """The cell of the map at a size and a number of ranks."""
    return one.page.locator(f'{CELLS}[aria-label*="{size}"][aria-label*="anks: {ranks}"]').first


@pytest.mark.turns("size", "ranks", "winner")
@pytest.mark.parametrize(("size", "ranks", "winner"), [("1 KiB", 8, "recursive_doubling"), ("1 GiB", 4, "ring")])
def test_the_map_has_a_cell_for_every_size_and_rank_and_a_click_opens_its_run_on_the_stage(lab, size, ranks, winner):
    one = lab()
    expect(one.page.locator(CELLS)).to_have_count(3 * 3)
    for at, fastest in (("1 KiB", "recursive_doubling"), ("1 GiB", "ring")):
        expect(cell(one, at, 8)).to_have_attribute("aria-label", re.compile(rf"\b{fastest}\b"))
    cell(one, size, ranks).click()
    one.page.wait_for_selector('[data-ringside="player"][data-steps]')
    expect(one.page.locator("h1").first).to_have_text(re.compile(f"by {winner.replace('_', ' ')} on"))
    for word in ("machine=switch", "!page=lab", f"size={size.replace(' ', '')}"):
        one.where(word)
    steps = {"recursive_doubling": 3, "ring": 2 * (ranks - 1)}[winner]
    one.has(steps=str(steps))


def test_a_new_question_is_in_the_address_and_in_the_map(lab):
    one = lab()
    sizes = one.page.get_by_role("textbox", name="Sizes")
    sizes.fill("1MiB,2MiB")
    one.page.get_by_role("button", name="Ask", exact=True).click()
    one.page.wait_for_function(f"() => document.querySelectorAll('{CELLS}').length === 6")
    one.where("sizes=1MiB")
