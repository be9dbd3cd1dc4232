"""A view that is one file, in a real browser: the recipe's, played by a page of its own."""

import subprocess
import sys

import pytest
from playwright.sync_api import expect

from tests.browser.visit import FILES
from tests.test_contributing import project, recipes, untouched  # noqa: F401

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.mark.parametrize("project", [recipe for recipe in recipes() if recipe.path.endswith(".js")], indirect=True)
def test_a_view_that_is_one_file_is_chosen_by_its_own_name_and_paints(project, enter):  # noqa: F811
    folder, recipe = project
    run = "cli.py render allreduce.ring --machine switch:ranks=8 --size 1MiB -o sent.html --view sent"
    subprocess.run([sys.executable, *run.split()], cwd=folder, check=True, capture_output=True)
    page = enter(FILES, offline=True, viewport={"width": 1280, "height": 900}).page
    page.goto((folder / "sent.html").as_uri())
    player = page.locator('[data-ringside="player"][data-steps]')
    player.wait_for()
    expect(player).to_have_attribute("data-view", "sent")
    views = player.locator(".rs-view")
    named = ["Machine", "Algorithm", "Who holds what", "Messages over time", recipe.summary]
    assert views.locator("option").all_inner_texts() == named
    assert views.input_value() == "sent"
    blank = player.locator(".rs-stage").evaluate("c => c.toDataURL()")
    player.focus()
    page.keyboard.press("End")
    stage = player.locator(".rs-stage")
    page.wait_for_function("([c, blank]) => c.toDataURL() !== blank", arg=[stage.element_handle(), blank])
    stage.hover(position={"x": 20, "y": 150})
    expect(player.locator(".rs-tip")).to_contain_text("rank 0")
    views.select_option(index=0)
    expect(player).to_have_attribute("data-view", "machine")
