"""Visits: everybody has a plan and a window of their own, and a damaged link says so."""

from itertools import cycle

import pytest

from ui.text import languages

pytestmark = pytest.mark.browser
RING = "?machine=switch:ranks=8&lang=en"
DAMAGED = {
    "machine=warp:ranks=4": "no machine is called 'warp'",
    "algorithm=allreduce.magic": "no algorithm is called",
    "capture=%%%": "capture is damaged",
    "t=later": "is not a time in seconds",
    "ranks=minus": "is not a whole number",
}
TOLD = {
    "no machine is called 'warp'": "没有叫做 'warp' 的机器",
    "no algorithm is called": "没有叫做 'allreduce.magic' 的算法",
    "capture is damaged": "链接中的 capture 已损坏",
    "is not a time in seconds": "链接中的 t='later' 不是以秒为单位的时间",
    "is not a whole number": "链接中的 ranks='minus' 不是整数",
}
"""What the Chinese page says of these."""


def said(query, language):
    """What a page in this language says of a damaged link."""
    return DAMAGED[query] if language == "en" else TOLD[DAMAGED[query]]


def test_two_people_do_not_see_each_others_plans(visit):
    one, two = visit(RING), visit("?machine=mesh:ranks=4&algorithm=broadcast.binomial&lang=zh")
    one.press("Step forward")
    assert (one.data("steps"), two.data("steps")) == ("14", "2")
    assert two.data("step") == "0"
    assert [one.player.get_by_role("button", name=name).count() for name in ("Play", "播放")] == [1, 0]
    assert [two.player.get_by_role("button", name=name).count() for name in ("Play", "播放")] == [0, 1]


def test_a_window_that_was_left_remembers_nothing(visit):
    one = visit(RING)
    stores, other = "[localStorage, sessionStorage]", f"{one.address}/_stcore/health"
    one.page.evaluate(f"{stores}.forEach(s => s.setItem('was', 'here')); document.cookie = 'was=here'")
    one.page.goto(other)
    assert one.page.evaluate(f"{stores}.map(s => s.getItem('was'))") == ["here", "here"]
    assert "was" in one.page.evaluate("document.cookie")
    page = one.leave()
    page.goto(other)
    assert page.evaluate(f"{stores}.map(s => s.getItem('was'))") == [None, None]
    assert "was" not in page.evaluate("document.cookie")


@pytest.mark.turns("query")
@pytest.mark.parametrize("query, language", list(zip(DAMAGED, cycle(languages()), strict=False)))
def test_a_damaged_link_says_what_is_wrong_and_still_shows_a_picture(visit, query, language):
    page = visit(f"?{query}&lang={language}")
    page.page.get_by_text(said(query, language)).first.wait_for()
    assert page.data("steps") == "14"
