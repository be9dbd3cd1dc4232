"""The page of what-ifs without a browser: what is made by hand, undone, kept in a link and saved."""

from dataclasses import replace
from pathlib import Path

from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from ops.plan import Plan
from ops.plan.packing import packed, unpacked
from ops.whatif import Sheet
from ops.whatif.file import read, write
from terminal.what_if import what_if
from tests.ui.visited import state_of
from ui.share.saving import SavingState
from ui.whatif.state import WhatIfState
from ui.workers import tasks

APP = str(Path(__file__).parents[2] / "app.py")
BASE = Plan(machine="switch:ranks=4", size="1MiB")
HALF = "set_link:src=SW,dst=GPU1,times=0.5"
BY_HAND = [
    *(("size", f"{size}KiB") for size in (1, 2, 4, 64, 256, 4096)),
    *(("algorithm", f"allreduce.{name}") for name in ("recursive_doubling", "linear", "double_binary_tree")),
    ("algorithm", "nccl.allreduce"),
    *(("machine", name) for name in ("ring", "dgx_h100", "dgx_a100", "nodes")),
    ("edits", HALF),
    ("edits", "cut_cable:src=SW,dst=GPU1"),
    ("edits", "set_class:latency=5us"),
    ("fault", "straggler:rank=1,late=1ms"),
    ("placement", "0,2,1,3"),
    ("ranks", "2"),
]


def page(**words):
    at = AppTest.from_file(APP, default_timeout=180)
    for name, word in {"page": "what_if", **words}.items():
        at.query_params[name] = word
    at.run()
    assert not at.exception
    return at


def widget(widgets, key):
    """The widget whose key begins so, whatever number it has now."""
    (one,) = [each for each in widgets if each.key and each.key.partition("~")[0] == key]
    return one


def by_hand(at, word, text):
    words = widget(at.selectbox, "whatif_word")
    if words.value != word:
        words.select(word).run()
    fields = [*at.text_input, *at.selectbox]
    field = widget(fields, f"whatif_value_{word}")
    field.set_value(text) if field.type == "selectbox" else field.input(text)
    at.button(key="whatif_add").click().run()
    assert not at.exception


def saved(at, key):
    """What a button saves."""
    at.button(key=key).click().run()
    (file,) = state_of(at, SavingState).made
    at.session_state[SavingState.__name__] = SavingState()
    return file.data


def test_twenty_variants_made_by_hand_and_by_file_give_the_same_table(tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "what_if_answer", tasks.what_if_row)  # many runs for what no table holds
    assert len(BY_HAND) == 20
    at = page(list=packed(write(Sheet(BASE)), {}))
    for word, text in BY_HAND:
        by_hand(at, word, text)
    assert len(state_of(at, WhatIfState).sheet.variants) == 20
    table, kept = saved(at, "whatif_csv"), saved(at, "whatif_yaml")
    file = tmp_path / "list.yaml"
    file.write_bytes(kept)
    answer = CliRunner().invoke(what_if, [str(file), "-o", str(tmp_path / "t.csv")], standalone_mode=False)
    assert answer.exception is None
    assert (tmp_path / "t.csv").read_bytes() == table
    word = at.query_params["list"]
    linked = page(list=word if isinstance(word, str) else word[0])
    assert state_of(linked, WhatIfState).sheet == state_of(at, WhatIfState).sheet
    assert not linked.error


def test_a_row_is_renamed_removed_and_made_the_baseline():
    sheet = Sheet(BASE).added({"edits": HALF}).added({"size": "1KiB"})
    at = page(list=packed(write(sheet), {}))
    assert state_of(at, WhatIfState).row == -1
    at.session_state[WhatIfState.__name__] = replace(state_of(at, WhatIfState), row=0)
    at.run()
    widget(at.text_input, "whatif_name_0").input("Half").run()
    assert state_of(at, WhatIfState).sheet.variants[0].name == "Half"
    at.button(key="whatif_rebase").click().run()
    assert state_of(at, WhatIfState).sheet.baseline == replace(BASE, edits=HALF)
    at.button(key="whatif_undo").click().run()
    at.session_state[WhatIfState.__name__] = replace(state_of(at, WhatIfState), row=1)
    at.run()
    at.button(key="whatif_remove").click().run()
    assert [variant.name for variant in state_of(at, WhatIfState).sheet.variants] == ["Half"]
    at.button(key="whatif_undo").click().run()
    at.button(key="whatif_undo").click().run()
    assert state_of(at, WhatIfState).sheet == sheet
    assert not at.exception


def test_what_is_simulated_becomes_a_row():
    at = AppTest.from_file(APP, default_timeout=180)
    for name, word in {"machine": "switch:ranks=4", "size": "1MiB"}.items():
        at.query_params[name] = word
    at.run()
    at.select_slider(key="size_").set_value("2MiB").run()
    assert not at.exception
    (variant,) = state_of(at, WhatIfState).sheet.variants
    assert variant.changes == (("size", "2MiB"),)


def test_what_cannot_be_is_said_in_one_sentence():
    at = page(list=packed(write(Sheet(BASE)), {}))
    by_hand(at, "ranks", "many")
    assert "many" in at.error[0].value
    for word, text in (("edits", "set_class:times=0"), ("edits", "x"), ("algorithm", "nccl.allreduce")):
        by_hand(at, word, text)
    assert len(state_of(at, WhatIfState).sheet.variants) == 3
    assert not at.error
    for machine in ("ring", "tpu_v4"):
        widget(at.selectbox, "whatif_machine").select(machine).run()
        assert not at.exception


def test_a_damaged_link_is_said_in_one_sentence():
    at = page(list="zzz")
    assert len(at.error) == 1


ACTIONS = st.one_of(
    st.tuples(st.just("add"), st.sampled_from([{"size": f"{k}KiB"} for k in range(1, 9)])),
    st.tuples(st.sampled_from(["remove", "rename", "sort", "move"]), st.integers(0, 9)),
)


def act(state, name, word):
    sheet, row = state.sheet, state.row
    count = len(sheet.variants)
    if name == "add":
        return state.did(sheet.added(word), count)
    if name == "move":
        return state.did(sheet.on(Plan(machine=f"switch:ranks={word + 2}")), row)
    if not count:
        return state
    if name == "sort":
        return state.did(sheet.ordered(sorted(range(count), key=lambda k: (k * word) % count)), -1)
    place = word % count
    return state.did(sheet.removed(place) if name == "remove" else sheet.renamed(place, f"name {word}"), place)


@given(st.lists(ACTIONS, min_size=50, max_size=50))
def test_undo_and_redo_of_fifty_actions_return_to_the_same_list(actions):
    state, seen = WhatIfState().began(Sheet(BASE)), []
    for name, word in actions:
        after = act(state, name, word)
        if after.sheet != state.sheet:
            seen.append(state.sheet)
        state = after
        assert -1 <= state.row < max(1, len(state.sheet.variants))
    last = state.sheet
    for sheet in reversed(seen):
        state = state.undone()
        assert state.sheet == sheet
    for _ in seen:
        state = state.redone()
    assert state.sheet == last


def test_plans_of_another_question_are_no_rows():
    state = WhatIfState().followed(BASE)
    assert state.followed(replace(BASE, machine="dgx_a100")).sheet == Sheet(replace(BASE, machine="dgx_a100"))
    tried = state.followed(replace(BASE, size="1KiB"))
    assert len(tried.sheet.variants) == 1
    assert tried.followed(replace(BASE, algorithm="alltoall.linear")) == tried
    assert tried.followed(BASE).sheet == tried.sheet
    assert len(tried.followed(replace(BASE, machine="dgx_a100")).sheet.variants) == 2
    assert read(unpacked(packed(write(tried.sheet), {}), {}, "list"), "list") == tried.sheet
