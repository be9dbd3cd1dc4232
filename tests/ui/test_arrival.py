"""What a visit begins with: a link that cannot be followed says so for as long as its stand-in is shown."""

from ops.request import Request
from tests.ui.test_page import page


def errors(at):
    return [error.value for error in at.main.error]


def test_a_broken_link_says_so_until_another_scene_is_chosen_and_a_what_if_can_be_undone():
    at = page(capture="hello")
    assert any("the link's capture is damaged" in text for text in errors(at))
    assert any("the link's capture is damaged" in text for text in errors(at.run()))
    plain = at.session_state.scene
    assert plain == Request()
    assert at.button(key="undo").disabled

    at.session_state.forked = "straggler:rank=1,late=1ms"
    at.run()
    assert at.session_state.scene.trouble == "straggler:rank=1,late=1ms"
    assert not errors(at)
    assert not at.button(key="undo").disabled
    at.button(key="undo").click().run()
    assert at.session_state.scene == plain
    assert not errors(at)
