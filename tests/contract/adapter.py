"""All calls into the project. A change of its names edits this file and `words.json`; stored answers stay."""

import contextlib
import importlib.util
import io
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch
from urllib.parse import parse_qsl, urlencode

import click
import numpy as np

import cli
from ops.lab.grid import Grid
from ops.lab.journal import read_table
from ops.lab.sweep import sweep
from ops.lab.winners import results, winner_map
from ops.plan import Plan, plan_file, training
from ops.plan.link import from_link, to_link
from ops.plan.notation import differences
from ops.plan.training import WorkloadPlan
from ops.run import Run
from ops.sketch import written
from ops.training.step import TrainingStep
from ops.whatif import file as what_if_file
from sim.errors import InputError, StalledError
from sim.trace import Trace, from_json
from terminal import PROGRAM, commands, ringside
from tests.contract.plain import plain
from tests.contract.words import table
from ui.build.payload import board
from ui.learning.runs import runs_of
from ui.lessons import LESSONS
from ui.notebook.widgets import Shown
from ui.pages import PAGES, build, lab
from ui.plan.beginning import beginning_of
from ui.player.payload import pack, unpack
from ui.talk import Talk, document, pages
from ui.text import catalogue, languages, missing, retold, speaking

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = "OUT/"
"""What paths of written files begin with in stored command lines and answers."""
DIGESTS = "made.json"
"""A file of digests of all sources, which differ with every change."""
READ: dict[str, Callable[[str], Any]] = {".json": json.loads, ".yaml": lambda text: file_of(text, "it")}
"""Written files whose content is part of an answer, by their endings."""


def command(line: str) -> dict[str, Any]:
    """What a command line of stored words answers: its status, its JSON, whether it complains, and what it writes."""
    out, err = io.StringIO(), io.StringIO()
    with TemporaryDirectory() as folder, contextlib.chdir(ROOT):
        words = [word.replace(OUTPUT, f"{folder}/") for word in table().line(shlex.split(line))]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = cli.main([*words, "--json"])
        answer = json.loads(out.getvalue().replace(f"{folder}/", OUTPUT) or "null")
        paths = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        files = {
            path.name: READ[path.suffix](path.read_text("utf-8"))
            for path in paths
            if path.suffix in READ and path.name != DIGESTS
        }
    if isinstance(answer, dict) and str(answer.get("file")).endswith((".html", ".svg", ".gif")):
        answer["bytes"] = answer["bytes"] > 0  # the words of a page may change, and its length with them
    return {"status": status, "complains": bool(status and err.getvalue()), "answer": answer} | (
        {"files": files} if files else {}
    )


def complaint(line: str, language: str) -> str:
    """What a command line of stored words complains of, in a language."""
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(io.StringIO()), speaking(language):
        try:
            ringside.main(table().line(shlex.split(line)), PROGRAM, standalone_mode=False)
        except (InputError, StalledError) as error:
            return retold(error)
    return ""


def plan_of(plan: Plan) -> dict[str, Any]:
    """A plan as data, the runs beside it as what each does otherwise."""
    fields = {name: value for name, value in plain(plan).items() if value != getattr(Plan(), name)}
    return fields | ({"against": differences(plan.against)} if plan.against else {})


def run_of(plan: Plan) -> dict[str, Any]:
    """What a plan's run gives; of one that stalls, up to there."""
    try:
        outcome: Run = plan.run()
    except StalledError as error:
        return {"stalled": trace_of(error.trace)} if isinstance(error.trace, Trace) else {"stalled": True}
    return trace_of(outcome.trace) | {"bound_s": outcome.bound, "busbw_Bps": outcome.busbw}


def trace_of(trace: Trace) -> dict[str, Any]:
    """The numbers of a trace: times of every transfer, bytes of every link, what was wrong."""
    ends = [(link.src, link.dst) for link in trace.topology.links]
    with np.errstate(invalid="ignore"):  # what never arrives
        left, carried = trace.left, trace.link_bytes.tolist()
    return {
        "algorithm": trace.schedule.name,
        "machine": trace.topology.name,
        "ranks": trace.schedule.n,
        "size_bytes": trace.size,
        "time_s": trace.time,
        "verdict": trace.verdict.verdict,
        "steps": trace.schedule.steps,
        "left_s": left,
        "end_s": trace.end,
        "bytes": trace.bytes,
        "links": [
            {"src": src, "dst": dst, "bytes": size} for (src, dst), size in zip(ends, carried, strict=True) if size
        ],
        "affected": {"transfer": trace.hits.transfer, "seconds": trace.hits.seconds},
    }


def step_of(step: TrainingStep) -> dict[str, Any]:
    """The numbers of a training step."""
    return {
        "workload": step.workload,
        "ranks": step.ranks,
        "time_s": step.time,
        "exposed_s": step.exposed_s,
        "peak_bytes": step.peaks,
        "link_bytes": step.link_bytes,
        "spans": [{"rank": s.rank, "lane": s.lane, "start_s": s.start, "end_s": s.end} for s in step.spans],
        "facts": {key: value for key, value in step.facts.items() if isinstance(value, int | float)},
    }


def training_of(plan: WorkloadPlan) -> dict[str, Any]:
    """A training plan as data."""
    machine = plan_of(plan.machine)
    return {"workload": plan.workload, "settings": dict(plan.settings), "machine": machine}


def open_link(query: str) -> dict[str, Any]:
    """What an address opens: its plan, where in its runs the page stands, and the numbers of the runs."""
    words = dict(parse_qsl(query))
    try:
        return LINKS[words.get("page", "stage")](words)
    except InputError as error:
        return {"refused": bool(str(error))}


def _stage_link(words: Mapping[str, str]) -> dict[str, Any]:
    plan, (beginning, wrong) = from_link(words), beginning_of(words)
    again = to_link(plan)
    return {
        "plan": plan_of(plan),
        "place": {"t": beginning.t, "view": beginning.view, "words": beginning.place, "wrong": wrong is not None},
        "runs": [run_of(one) for one in (plan, *plan.others())],
        "returns": from_link(dict(parse_qsl(urlencode(again)))) == plan,
        "words": dict.fromkeys(again, True),
    }


def _train_link(words: Mapping[str, str]) -> dict[str, Any]:
    plan = training.from_query(words)
    again = training.to_query(plan)
    returns = training.from_query(dict(parse_qsl(urlencode(again)))) == plan
    step = step_of(plan.run())
    return {"plan": training_of(plan), "step": step, "returns": returns, "words": dict.fromkeys(again, True)}


def _lab_link(words: Mapping[str, str]) -> dict[str, Any]:
    query: dict[str, str] = {}
    with patch("streamlit.query_params", dict(words)):
        question = lab._arrive()
    with patch("ui.address.write", lambda named, _: query.update(named)):
        lab._depart(question)
    with patch("streamlit.query_params", query):
        returns = lab._arrive() == question
    answers = []
    for cluster in question.clusters:
        rows = [row for some in results(question.grid(cluster).cells(), jobs=1) for row in some]
        winners = winner_map(rows)
        best = [[winners.winner(n, size) for size in winners.sizes] for n in winners.ranks]
        answers.append({"cluster": plan_of(cluster), "rows": [plain(row) for row in rows], "winners": best})
    return {"question": plain(question), "answers": answers, "returns": returns, "words": dict.fromkeys(query, True)}


class _Query(dict[str, str]):
    """Query words that a page may replace, as Streamlit's."""

    def from_dict(self, words: Mapping[str, str]) -> None:
        self.clear()
        self.update(words)


def _build_link(words: Mapping[str, str]) -> dict[str, Any]:
    drawing, query = build.from_query(words), _Query()
    with patch("streamlit.query_params", query):
        build._depart(drawing)
    shown = board(
        drawing.sketch, drawing.machine, drawing.spare, drawing.task if drawing.task != build.OWN else "", "en"
    )
    numbers = {key: shown[key] for key in ("judged", "ranks", "owed", "held", "use", "verdict", "solved")}
    sketch = drawing.sketch
    drawn = {"collective": sketch.collective, "ranks": sketch.ranks, "pieces": sketch.pieces, "root": sketch.root}
    again = build.from_query(query)
    return {
        "drawing": drawn | {"task": drawing.task, "machine": plan_of(drawing.machine)},
        "board": numbers,
        "run": run_of(Plan(**_drawn_plan(drawing))) if any(sketch.columns) else None,
        "returns": (again.task, again.sketch, again.machine) == (drawing.task, drawing.sketch, drawing.machine),
        "words": dict.fromkeys(query, True),
    }


def _drawn_plan(drawing: build.HandDrawing) -> dict[str, Any]:
    machine: dict[str, Any] = plain(drawing.machine)
    return machine | {"schedule": written(drawing.sketch), "schedule_name": "drawing"}


def _learn_link(words: Mapping[str, str]) -> dict[str, Any]:
    lesson = LESSONS[words["lesson"]]
    step = lesson.steps[int(words.get("step", "1")) - 1]
    runs = runs_of(step.plans)
    times = [run.time for run in runs]
    answer = step.ask.answer(runs) if step.ask else None
    number = answer if not isinstance(answer, str) else [*step.ask.options].index(answer)  # type: ignore[union-attr]
    return {"steps": len(lesson.steps), "times_s": times, "answer": plain(number), "view": step.view}


LINKS = {"stage": _stage_link, "train": _train_link, "lab": _lab_link, "build": _build_link, "learn": _learn_link}


def file_of(text: str, name: str) -> dict[str, Any]:
    """What a plan file says, as data; a training step's, too."""
    if training.is_training(text):
        return training_of(training.from_yaml(text, name))
    if what_if_file.is_sheet(text):
        sheet = what_if_file.read(text, name)
        return {"baseline": plan_of(sheet.baseline), "variants": plain(sheet.variants)}
    return plan_of(plan_file.from_yaml(text, name))


def open_plan(path: Path) -> dict[str, Any]:
    """What a plan file says, and the numbers of its runs; whether it is the same once written and read again."""
    text = path.read_text(encoding="utf-8")
    if training.is_training(text):
        step = training.from_yaml(text, path.name)
        returns = training.from_yaml(training.to_yaml(step), path.name) == step
        return {"plan": training_of(step), "step": step_of(step.run()), "returns": returns}
    plan = plan_file.from_yaml(text, path.name)
    again = plan_file.from_yaml(plan_file.to_yaml(plan), path.name)
    runs = [run_of(one) for one in (plan, *plan.others())]
    return {"plan": plan_of(plan), "runs": runs, "returns": plan_of(again) == plan_of(plan)}


def open_trace(path: Path) -> dict[str, Any]:
    """The numbers of a run that was written to a file."""
    text = path.read_text(encoding="utf-8")
    return {"trace": trace_of(from_json(text)), "run": run_of(Plan(schedule=text))}


def open_talk(path: Path) -> dict[str, Any]:
    """What a talk says, as data, and what its page plays."""
    talk: Talk = document.from_text(path.read_text(encoding="utf-8"), path.name)
    again = document.from_text(document.to_text(talk), path.name)
    data = pages.shown(talk)
    entries = [plain(entry) | {"plan": plan_of(entry.plan), "origin": ""} for entry in talk.scenes]
    played = [
        {"time_s": entry["time"], "start": entry["start"], "runs": len(entry["runs"])} for entry in data["scenes"]
    ]
    return {
        "language": talk.language,
        "title": talk.title,
        "scenes": entries,
        "played": played,
        "runs": [decoded(run) for run in data["all"].values()],
        "returns": again == talk,
    }


def resume_table(folder: Path) -> dict[str, Any]:
    """What a sweep that goes on with the table and journal of a folder finds there, and all rows in the end."""
    done = sweep(Grid(**_axes(folder / "grid.json")), folder / "t.parquet", jobs=1)
    counts = {"cells": done.cells, "found_before": done.before, "failed": done.failed, "damaged": len(done.damaged)}
    return counts | {"rows": done.table.to_pylist()}


def _axes(path: Path) -> dict[str, Any]:
    """The axes of a grid by today's names."""
    return {table().key("", axis): points for axis, points in json.loads(path.read_text("utf-8")).items()}


def table_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a table that a sweep wrote."""
    rows: list[dict[str, Any]] = read_table(path).to_pylist()
    return rows


def decoded(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers that a page is sent of a run, decoded as a browser does."""
    header, columns = unpack(dict(payload))
    steps = {key: value for key, value in header["steps"].items() if key in ("begin", "end", "phases", "messages")}
    kept = ("devices", "kinds", "links", "block_names", "shape", "faults", "why")
    meta = {key: value for key, value in header["meta"].items() if key != "stalled"}
    return {"meta": meta, "steps": steps} | {key: header[key] for key in kept} | {"columns": columns}


def player_payload(plan: Plan, language: str = "en") -> dict[str, Any]:
    """What the player's page holds of a plan's run."""
    return pack(plan.prepare().run(history=True).trace, language)


def sentences(plan: Plan, language: str) -> list[str]:
    """All sentences that the player says of a plan's run."""
    header, _ = unpack(player_payload(plan, language))
    steps = header["steps"]
    return [steps["opening"], steps["goal"], steps["closing"], *steps["caption"]]


def text_ids(language: str) -> set[str]:
    """Ids of all texts of a language."""
    return {*catalogue(language)}


def text(key: str, language: str) -> str:
    """A text by its id."""
    return catalogue(language)[key]


def lacking(language: str) -> list[str]:
    """Ids of texts that a language has no words for."""
    return sorted(missing(language))


def spoken_languages() -> tuple[str, ...]:
    """The languages of the interface."""
    return languages()


def page_names() -> list[str]:
    """The dashboard's pages."""
    return sorted(PAGES)


def package(program: Path) -> dict[str, Any]:
    """What a program prints that uses the package which `package/build.py` makes, in a process of its own."""
    spec = importlib.util.spec_from_file_location("contract_build", ROOT / "package" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    with TemporaryDirectory() as folder:
        made.write(ROOT, Path(folder) / made.PACKAGE)
        environment = {**os.environ, "PYTHONPATH": folder, "NUMBA_DISABLE_JIT": "1"}
        use = [sys.executable, "-W", "ignore", "-c", table().source(program.read_text("utf-8"))]
        ended = subprocess.run(use, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    answer: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return answer


@contextlib.contextmanager
def package_name() -> Iterator[None]:
    """While it lasts, this checkout can be imported under the name of the package."""
    with patch.object(sys, "path", [str(ROOT / "package"), *sys.path]):
        yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "ringside"]:
        del sys.modules[name]


def shown_of(value: Any) -> Any:
    """A notebook's output as data: of a widget its runs and where it stands, of other values the numbers."""
    if isinstance(value, dict) and all("." in str(name) for name in value):
        return {name: size > 0 for name, size in value.items()}  # sizes of files with words in them
    if not isinstance(value, Shown):
        return value
    shown = {"widget": type(value).__name__, "link": dict.fromkeys(value.link, True)}
    shown |= {name: getattr(value, name) for name in ("time", "view", "end", "step", "cell") if hasattr(value, name)}
    return shown | ({"runs": [trace_of(trace) for trace in value.traces]} if hasattr(value, "traces") else {})


def linked(query: str) -> Plan:
    """The plan of a link to a run."""
    return from_link(dict(parse_qsl(query)))


def terminal_commands() -> dict[str, click.Command]:
    """The terminal's commands by name."""
    context = click.Context(ringside)
    return {name: found for name in commands() if (found := ringside.get_command(context, name))}
