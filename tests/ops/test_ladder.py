"""The ladder: every task is solved by its best, which nothing beats; what is wrong or slower is no solution."""

import json
from dataclasses import replace
from itertools import permutations, product

import pytest

import cli
from ops.ladder import TASKS, TOLERANCE, ladder
from ops.sketch import columns_of, written
from ops.sketch.referee import bound
from sim.errors import InputError
from tests.tables import each_row


def without_last(sketch):
    *columns, last = sketch.columns
    return replace(sketch, columns=(*columns, last[:-1]))


def one_by_one(sketch):
    """The same messages, a column each."""
    return replace(sketch, columns=tuple((move,) for column in sketch.columns for move in column))


@each_row("name", TASKS)
def test_every_task_is_solved_by_its_best_alone(name):
    task = TASKS[name]
    best = task.judge(task.best.schedule())
    assert best.solved
    assert task.par <= task.bound * (1 + TOLERANCE)
    assert task.bound >= bound(task.empty, task.topology, task.size) * (1 - TOLERANCE)
    wrong = task.judge(without_last(task.best).schedule())
    assert not wrong.right
    assert not wrong.solved
    assert task.goal
    assert task.because


def test_the_ladder_has_steps_which_leave_room_to_be_slower():
    tasks = ladder()
    assert len(tasks) >= 10
    assert len({task.order for task in tasks}) == len(tasks)
    slower = [task.judge(one_by_one(task.best).schedule()) for task in tasks]
    assert sum(result.right and not result.solved for result in slower) >= 6


@pytest.mark.slow
def test_a_line_cannot_be_done_faster_by_any_tree():
    """All trees of whole blocks, in all orders of columns: none beats the task's argument."""
    task = TASKS["broadcast_line"]
    texts = set()
    for parents in product(range(4), repeat=3):
        for order in permutations((1, 2, 3)):
            for cuts in product((";", " "), repeat=2):
                words = [f"{parents[rank - 1]}>{rank}:0" for rank in order if parents[rank - 1] != rank]
                text = "".join(word + cut for word, cut in zip(words, (*cuts, ""), strict=False))
                texts |= {text} if len(words) == 3 else set()
    results = [task.judge(task.empty.with_columns(columns_of(text)).schedule()) for text in sorted(texts)]
    times = [result.seconds for result in results if result.right]
    assert len(times) > 50
    assert min(times) >= task.par * (1 - TOLERANCE)


@pytest.mark.parametrize("ending", ["txt", "py", "xml"])
def test_the_terminal_judges_what_it_writes(ending, tmp_path, capsys):
    file = str(tmp_path / f"best.{ending}")
    for name in ("allgather_slow", "alltoall_ring"):
        assert cli.main(["exercises", name, "--best", file]) == 0
        assert cli.main(["verify", file, *(["--ranks", "4"] if ending == "py" else [])]) == 0
        machine = ["--machine", TASKS[name].machine.machine]
        machine += ["--edit", TASKS[name].machine.edits] if TASKS[name].machine.edits else []
        capsys.readouterr()
        assert cli.main(["run", "--schedule", file, *machine, "--size", "4MB", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["time_s"] == pytest.approx(TASKS[name].par)
        assert cli.main(["exercises", name, file, "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        assert said["solved"] is True
        assert said["par_s"] == said["time_s"]


def test_the_terminal_tells_what_is_wrong_and_what_is_slow(tmp_path, capsys):
    task, file = TASKS["broadcast_line"], tmp_path / "answer.txt"
    assert cli.main(["exercises"]) == 0
    assert all(name in capsys.readouterr().out for name in ("broadcast_line",))
    file.write_text(written(task.empty))
    assert cli.main(["exercises", task.name, str(file)]) == 1
    assert "is wrong: " in capsys.readouterr().out
    file.write_text(written(task.empty).replace("[]", "[0>1:0, 1>2:0, 2>3:0]"))
    assert cli.main(["exercises", task.name, str(file)]) == 1
    assert "is right, but takes 3 ms, 50.0% more than the best (2 ms)" in capsys.readouterr().out
    file.write_text(written(replace(task.empty, pieces=2)))
    for words, message in (
        (
            [task.name, str(file)],
            "asks for broadcast among 4 ranks from root 0, not broadcast among 4 ranks in 2 pieces",
        ),
        (["lader"], "no task is called 'lader': choose from"),
        ([task.name, str(tmp_path / "none")], "cannot be read"),
        ([task.name, str(file), "--best", str(tmp_path / "x.txt")], "leave out either"),
        ([task.name, "--best", str(tmp_path / "x.pdf")], "has none of the endings .py, .xml, .txt"),
        (["--best", str(tmp_path / "x.txt")], "name it"),
    ):
        assert cli.main(["exercises", *words]) == 2
        assert message in capsys.readouterr().err


def test_other_promises_are_refused():
    with pytest.raises(InputError, match="not allgather among 4 ranks"):
        TASKS["broadcast_line"].judge(TASKS["allgather_islands"].best.schedule())
