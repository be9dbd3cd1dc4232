"""Views, cards, what-ifs, comparisons, languages and lessons, as a person meets them in a real browser."""

import re
from itertools import cycle, pairwise

import pytest
from playwright.sync_api import expect

from tests.browser.visit import HASTE
from ui.player.views import VIEWS
from ui.text import catalogue, languages

pytestmark = [pytest.mark.browser, pytest.mark.turns("language", "names", "acts")]
RING = "?machine=switch:ranks=8"
BOTH = pytest.mark.parametrize("language", languages())


CUT = {"en": "Fail now", "zh": "现在断开"}


def words(language):
    texts = catalogue(language)
    return lambda key, **values: texts[key].format(**values)


def ask_what_if(page, thing, question, word):
    """Ask it of what is looked at in the first picture, until the address has what comes of it."""

    def act():
        if word not in page.page.evaluate("location.search"):
            player = page.player.first
            player.get_by_label(page.told("player.look")).select_option(label=thing, timeout=HASTE)
            player.locator(".rs-card").get_by_role("button", name=question, exact=True).click(timeout=HASTE)
            page.page.wait_for_function("word => location.search.includes(word)", arg=word, timeout=HASTE)

    page.again(act)


@BOTH
def test_every_view_shows_the_same_instant(play, language):
    say = words(language)
    page = play(f"{RING}&t=0.002", language)

    def state():  # where a block is on the picture is the view's own
        return page.ask("blocks().map(({ x, y, ...block }) => block)"), page.data("caption"), page.ask("slots(3)")

    before = state()
    for view in VIEWS:
        page.press(say(f"player.view.{view}"))
        assert page.data("view") == view
        assert state() == before
        ink = page.player.locator(".rs-stage").evaluate(
            "c => new Set(c.getContext('2d').getImageData(0, 0, c.width, c.height).data).size"
        )
        assert ink > 20, view


@BOTH
def test_views_and_the_critical_path_have_keys(play, language):
    page = play(f"{RING}&t=0.002", language)
    page.player.focus()
    for key, view in (
        ("v", "shape"),
        ("v", "matrix"),
        ("v", "time"),
        ("v", "machine"),
        ("m", "matrix"),
        ("m", "machine"),
    ):
        page.page.keyboard.press(key)
        assert page.data("view") == view
    lit = page.player.locator(".rs-lit")
    assert lit.get_attribute("aria-pressed") == "false"
    page.page.keyboard.press("c")
    assert lit.get_attribute("aria-pressed") == "true"


def test_commas_and_full_stops_go_from_arrival_to_arrival(play):
    page = play("?machine=dgx1v&algorithm=alltoall.linear")
    page.player.focus()
    seen = []
    for _ in range(3):
        page.page.keyboard.press(".")
        seen.append(page.t)
    assert seen == sorted(set(seen))
    page.page.keyboard.press(",")
    assert page.t == pytest.approx(seen[-2], rel=1e-6)


def test_a_link_is_explained_with_who_shares_it(play):
    page = play("?machine=nodes:nodes=2,gpus=4&algorithm=alltoall.linear&t=0.004")
    page.player.get_by_label("Look at").select_option(label="H0.NIC0 → SPINE")
    expect(page.player.locator(".rs-card-state")).to_have_text(re.compile("25 GB/s of 25 GB/s.*full"))
    page.player.locator(".rs-card-more > summary").click()
    lines = page.player.locator(".rs-lines").inner_text().split("\n")
    assert sum("1.56 GB/s" in line for line in lines) == 4
    assert "and 12 more" in lines
    page.player.locator(".rs-away").click()
    assert not page.player.locator(".rs-card").is_visible()
    assert page.player.evaluate("e => e === e.getRootNode().activeElement"), "keys went to nobody"


WHERE_PICTURES_STAND = """async players => {
  const seen = [];
  for (let k = 0; k <= 12; k += 1) {
    players[0].ringside.seek((k * 5e-4) / 12);
    await new Promise(requestAnimationFrame);
    seen.push(players.map((e) => Math.round(e.querySelector(".rs-stage").getBoundingClientRect().top)));
  }
  return seen;
}"""


@BOTH
def test_runs_side_by_side_share_a_clock_and_are_one_under_the_other_on_a_phone(visit, language):
    say = words(language)
    page = visit(f"{RING}&lang={language}&against=algorithm=allreduce.recursive_doubling|machine=dgx_a100")
    expect(page.player).to_have_count(3)
    page.settle()
    bar = page.page.locator(".rs-controls")
    bar.get_by_role("button", name=say("player.forward"), exact=True).click()

    def in_step():
        assert len({page.player.nth(k).get_attribute("data-time-s") for k in range(3)}) == 1
        assert [each.is_visible() for each in page.page.locator(".rs-sent").all()] == [True] * 3
        assert not any(each.is_visible() for each in page.page.locator(".rs-slots").all())

    page.soon(in_step)
    page.player.first.press("End")
    stands = page.page.locator(".rs-stands")
    expect(stands).to_have_text(re.compile("^1\\. (Ring|环) · DGX A100: 499\\.1 µs.*×"))
    expect(page.page.get_by_text("DGX A100", exact=False)).not_to_have_count(0)
    page.page.set_viewport_size({"width": 390, "height": 844})

    def stacked():
        assert page.page.evaluate("document.documentElement.scrollWidth") <= 390
        boxes = [page.player.nth(k).bounding_box() for k in range(3)]
        assert len({box["x"] for box in boxes}) == 1
        assert all(lower["y"] > upper["y"] + upper["height"] - 1 for upper, lower in pairwise(boxes))

    def stay():
        tops = page.player.evaluate_all(WHERE_PICTURES_STAND)
        assert {*map(tuple, tops)} == {tuple(tops[0])}  # however long a sentence is, no picture moves

    page.soon(stacked)
    page.soon(stay)


def test_a_slide_shows_the_stage_alone(visit):
    page = visit(f"{RING}&embed=true&view=shape&t=0.001")
    page.settle()
    page.has(view="shape")
    assert page.page.get_by_test_id("stSidebar").count() == 0
    assert page.page.get_by_text("Bus bandwidth").count() == 0


BROKEN = '[data-testid="stException"], [data-testid="stError"]'
PLANS = {"slow_hop": "dual_socket", "doubling": "recursive_doubling"}
"""By turns, as choosing what is chosen already changes nothing; each with what its link holds."""
PLAY = re.compile("^(Play|Pause)$")
"""What starts and stops: a plan chosen from the first screen, which plays by itself, plays on."""
AFTERWARDS = {
    "another plan": lambda page: page.explore(page.told("example.doubling")),
    "undo": lambda page: page.page.get_by_role("button", name=page.told("page.undo")).click(),
    "a size": lambda page: page.nudge(),
    "a language": lambda page: page.choose("Language", {"en": "中文", "zh": "English"}[page.language]),
    "the player": lambda page: [page.player.get_by_role("button", name=PLAY).click() for _ in range(2)],
    "a rank to ask about": lambda page: page.press("Who holds what"),
    "a page": lambda page: page.page.get_by_text(page.told("page.train.title"), exact=True).click(),
}


@pytest.mark.parametrize(
    "acts", [("another plan", "undo", "a size", "a language"), ("the player", "a rank to ask about", "a page")]
)
def test_after_a_plan_anything_may_be_done(visit, acts):
    page = visit("?lang=en")
    for name, (plan, place) in zip(acts, cycle(PLANS.items()), strict=False):
        page.explore(page.told(f"example.{plan}"))
        page.page.wait_for_url(re.compile(place))
        page.settle()
        AFTERWARDS[name](page)
        page.settle()
        if name == "a language":
            (page.language,) = {*languages()} - {page.language}
        main = page.page.get_by_test_id("stMain")
        expect(main.locator("h1"), name).to_have_count(1)
        expect(main, name).to_have_text(re.compile(".{100}", re.DOTALL), use_inner_text=True)
        expect(page.page.locator(BROKEN), name).to_have_count(0)
    page.where("page=train" if name == "a page" else "!page=train")


def in_view(what, top):
    place = what.bounding_box()
    assert top <= place["y"] <= 900 - place["height"], what


TABLE = "\tGPU0\tGPU1\nGPU0\tX\tNV12\nGPU1\tNV1"
BAD = {"nothing": "", "garbage": "hello", "cut short": TABLE, "no text": "\x00\x01\x02"}


@pytest.mark.parametrize("language, names", [("en", ("nothing", "garbage")), ("zh", ("cut short", "no text"))])
def test_a_bad_capture_is_refused_beside_it_in_view_and_the_stage_stays(visit, language, names):
    say = words(language)
    page = visit(f"?capture=example-dgx-1v&lang={language}", viewport={"width": 1440, "height": 900})
    page.language = language
    title = page.page.locator("h1").inner_text()
    page.choose(say("page.example"), say("page.example.own"))
    side, main = page.page.get_by_test_id("stSidebar"), page.page.get_by_test_id("stMain")
    for name in names:
        file = {"name": f"{name}.txt", "mimeType": "text/plain", "buffer": BAD[name].encode()}
        side.locator("input[type=file]").set_input_files(file)
        side.get_by_text(f"{name}.txt").first.wait_for()
        side.get_by_test_id("stAlert").wait_for()
        main.get_by_test_id("stAlert").first.wait_for()
        page.settle()
        for alert in (side.get_by_test_id("stAlert"), main.get_by_test_id("stAlert").first):
            page.soon(in_view, alert, 0)
        expect(page.page.locator("h1"), name).to_have_text(title)
        page.has(steps="14")


@BOTH
def test_what_a_click_on_a_link_opens_is_in_view(visit, language):
    page = visit(f"{RING}&lang={language}&t=0.002&view=machine", viewport={"width": 1440, "height": 900})
    page.settle()
    stage = page.player.locator(".rs-stage")
    stage.evaluate("e => e.scrollIntoView({ block: 'start' })")
    page.page.get_by_test_id("stMain").evaluate("e => { e.scrollTop = 0; }")
    box = stage.bounding_box()
    card = page.player.locator(".rs-card")
    places = [(x, y) for y in range(20, int(900 - box["y"]), 12) for x in range(40, int(box["width"]), 40)]
    places.sort(key=lambda place: abs(place[0] - box["width"] / 2) + abs(place[1] - box["height"] / 2))
    blocks = [(block["x"], block["y"]) for block in page.ask("blocks()")]
    middle = [sum(values) / len(blocks) for values in zip(*blocks, strict=True)]
    # a link is most likely met between a block on its way and the switch
    for x, y in [*(((x + middle[0]) / 2, (y + middle[1]) / 2) for x, y in blocks if y < 900 - box["y"]), *places]:
        page.page.mouse.click(box["x"] + x, box["y"] + y)
        if card.is_visible() and card.get_by_role("button", name=CUT[language], exact=True).count():
            break
        page.page.get_by_test_id("stMain").evaluate("e => { e.scrollTop = 0; }")
    page.soon(in_view, card.get_by_role("button", name=CUT[language], exact=True), 60)


@BOTH
def test_a_link_whose_loss_stalls_the_run_is_shown_as_the_stall_it_is(visit, language):
    say = words(language)
    page = visit(f"?machine=dual_socket_pcie&lang={language}&t=0.001", viewport={"width": 1440, "height": 900})
    page.language = language
    ask_what_if(page, "CPU0 → CPU1", CUT[language], "fault=")
    expect(page.player.locator(".rs-old")).to_be_visible()
    page.settle()
    assert page.page.locator(BROKEN).count() == 0
    said = page.page.locator(".rs-said")
    expect(said).to_contain_text("CPU0 → CPU1")
    expect(said).to_contain_text("0 → 7 → 6 → 5 → 4 → … → 0")  # at once, not only at its end
    expect(said).not_to_contain_text(say("page.proved", collective="allreduce"))
    stalled = page.player
    stalled.focus()
    page.page.keyboard.press("End")
    page.has(caption=re.compile("0 → 7 → 6"))
    standing = stalled.evaluate("e => e.ringside.blocks()")
    assert {(block["src"], block["dst"]) for block in standing} == {(3, 4), (7, 0)}
    expect(page.page.locator(".rs-end-old")).to_contain_text("7.341 ms")
    expect(stalled.locator(".rs-old")).to_contain_text(say("page.compare.faultless"))


def test_what_was_chosen_can_be_undone(visit):
    page = visit(RING)
    undo = page.page.get_by_role("button", name="Undo")
    expect(undo).to_have_count(0)
    page.nudge()
    page.where("size=32MiB")
    page.settle()
    undo.click()
    page.where("!size=")
    page.has(steps="14")


def test_the_language_is_a_click_away_and_stays_on_the_next_page(visit):
    page = visit(RING)
    page.choose("Language", "中文")
    page.where("lang=zh")
    page.page.get_by_text("每个 rank 持有的数据").wait_for()
    page.settle()
    page.page.get_by_text("学习", exact=True).click()
    page.page.get_by_text("六种集合通信，三面镜子").first.wait_for()
    page.where("lang=zh")


@BOTH
def test_an_answer_plays_and_a_finished_lesson_is_remembered(visit, language):
    say = words(language)
    page = visit(f"?page=learn&lesson=server&step=3&lang={language}")
    page.settle()
    expect(page.player.first).to_have_attribute("data-playing", "false")
    page.page.get_by_text(say("lesson.option.twice"), exact=True).click()
    page.page.get_by_role("button", name=say("page.learn.check")).click()
    page.page.get_by_text(say("page.learn.right", answer=say("lesson.option.twice"))).wait_for()
    page.page.wait_for_function("e => e.dataset.playing === 'true'", arg=page.player.first.element_handle())
    page.page.get_by_role("button", name=say("page.learn.finish")).click()
    page.page.get_by_text(say("page.learn.done")).wait_for()
    page.settle()
    page.page.goto(f"{page.address}/?page=learn&lang={language}")
    page.page.get_by_text(f"{say('lesson.server.title')} ✓").wait_for()


def test_hundreds_of_thousands_of_routes_show_what_is_true_of_all(visit):
    page = visit("?machine=switch:ranks=600&algorithm=alltoall.linear")
    assert page.data("steps") == "1"
    expect(page.player.get_by_text("The picture shows links and steps without blocks")).to_be_visible()
    expect(page.player.locator(".rs-view option", has_text="Who holds what")).to_be_disabled()
    page.press("Step forward")
    assert page.data("step") == "1"
