"""The sheet to print: what it asks for is what the simulator's buffers hold, in both kinds of file and languages."""

import re

import numpy as np
import pytest

import cli
from ops.plan import Plan
from ops.run.values import values_of
from sim.errors import InputError
from ui.export.exports import Shot, render
from ui.export.worksheet import pages, worksheet

RING = Plan(algorithm="allreduce.ring", machine="switch:ranks=4", size="4MiB", values="2,7,1,8,2,8,1,8,2,8,4,5,9,0,4,5")
ROW = re.compile(r"<tr><th>([^<]*)</th>(.*?)</tr>")
CELL = re.compile(r'<td( class="new")?>([^<]*)</td>')


@pytest.fixture(scope="module")
def trace():
    return RING.run().trace


def tables(page):
    """Of every row of the sheet the cells of its table: whether each is new, and what stands in it."""
    sections = page.split("<section>")[1:]
    return [[CELL.findall(cells) for _, cells in ROW.findall(section)[1:]] for section in sections]


@pytest.mark.turns("language")
@pytest.mark.parametrize("language", ["en", "zh"])
def test_answers_are_what_the_buffers_hold_and_only_these_are_blank_without(trace, language):
    shot = Shot(view="shape", language=language, plan=RING)
    blank, answered = (tables(render(trace, f"{kind}.html", shot).decode()) for kind in ("worksheet", "answers"))
    values = values_of(trace.schedule, RING.values)
    assert len(answered) == len(blank) == trace.schedule.steps + 1
    changed_so_far = np.zeros(values.states[0].shape, bool)
    for state, after, before_answers in zip(values.states, answered, blank, strict=True):
        assert [[text for _, text in row] for row in after] == [[str(x) for x in row] for row in state.tolist()]
        changed_so_far |= [[bool(is_new) for is_new, _ in row] for row in after]
        empty = [
            [("" if gone else text) for gone, (_, text) in zip(*row, strict=True)]
            for row in zip(changed_so_far, after, strict=True)
        ]
        assert [[text for _, text in row] for row in before_answers] == empty  # no row gives away another's answer
    changed = [sum(bool(is_new) for row in table for is_new, _ in row) for table in answered]
    assert changed == [0, *[4] * trace.schedule.steps]  # every rank gets one block in a step


def test_a_sheet_has_a_row_of_pictures_for_every_step_with_its_caption(trace):
    sheet = worksheet(trace, "Ring", "shape", "en", RING, answered=False)
    assert [len(row.pictures) for row in sheet.rows] == [1, *[3] * trace.schedule.steps]
    for row in sheet.rows[1:]:
        assert row.caption.startswith("Rank 0 sends block")
        assert not np.array_equal(row.pictures[0], row.pictures[1])  # something has moved
    rows = [row for page in pages(sheet, 9.0) for row in page]
    assert rows == list(sheet.rows)


@pytest.mark.turns("language")
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_pdf_has_all_pages(trace, language):
    page = render(trace, "answers.pdf", Shot(view="shape", language=language, plan=RING))
    assert page.startswith(b"%PDF")
    sheet = worksheet(trace, "Ring", "shape", language, RING, answered=True)
    assert int(re.search(rb"/Count (\d+)", page)[1]) == len(list(pages(sheet, 9.64)))


def test_small_numbers_stand_where_none_are_named_and_a_mean_ends_divided(trace):
    mean = worksheet(trace, "Ring", "shape", "en", Plan(op="mean"), answered=True)
    due = values_of(trace.schedule, "small", "mean").final
    assert [[float(cell.text) for cell in row] for row in mean.rows[-1].cells] == due.tolist()


def test_a_sheet_speaks_of_an_operation_where_one_is_done():
    for algorithm, combines in (("allreduce.ring", True), ("broadcast.binomial", False)):
        plan = Plan(algorithm=algorithm, machine="switch:ranks=4", op="max")
        sheet = worksheet(plan.run().trace, "", "shape", "en", plan, answered=False)
        assert ("taking the larger one" in sheet.task) is combines


def test_what_has_no_room_is_refused(capsys):
    with pytest.raises(InputError, match="has room for 16 ranks"):
        worksheet(Plan(machine="switch:ranks=32").run().trace, "", "shape", "en", None, answered=False)
    line = ["render", "allreduce.ring", "--machine", "switch:ranks=32", "-o", "never.worksheet.pdf", "--size", "1MiB"]
    assert cli.main(line) == 2
    assert "show fewer ranks" in capsys.readouterr().err
