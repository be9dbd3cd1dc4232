"""Answers are what they were, to the bit, after stored words have passed through the table of words."""

import json
import shlex
from functools import cache

import click
import pytest

from ops.lab import sweep
from tests.contract import __main__ as recording
from tests.contract import adapter
from tests.contract.cases import is_long, sections
from tests.contract.inputs import command_lines
from tests.contract.plain import compact
from tests.contract.store import stored
from tests.contract.words import PROMISED, VERDICTS, WordTable, differences, table
from tests.ops.lab.conftest import here

kept_answers = cache(stored)
"""A section's file is read once for all of its cases."""
SLOW = ("commands", "package")
OUTSIDE = {"--dask", "--port", "--host", "--embed-from", "--json"}
"""Options that no stored line has: they reach other computers, serve pages, or are added to all lines."""
MEASURED = "tests/data/nccl-tests/036-a100-8x-nvswitch-allreduce-reformatted.txt"
COMPLAINTS = (
    "run allreduce.rign --machine switch:ranks=4 --size 1MiB",
    "run allreduce.ring --machine swich --size 1MiB",
    "run allreduce.ring --machine switch:ranks=0 --size 1MiB",
    "run allreduce.ring --machine switch:rank=4 --size 1MiB",
    "run allreduce.ring --machine switch:ranks=4 --size 1MiBB",
    "run allreduce.ring --machine switch:ranks=4 --size 1MiB --ranks 5",
    "run allreduce.ring --machine switch:ranks=4 --size 1MiB --set segments=2",
    "run allgather.recursive_doubling --machine switch:ranks=6 --size 1MiB",
    "run allgatherv.ring --machine switch:ranks=4 --counts 1,2",
    "run allreduce.ring --machine switch:ranks=4 --size 1MiB --fault fog",
    "run allreduce.ring --machine switch:ranks=4 --size 1MiB --fault straggler:rank=9",
    "run allreduce.ring --machine switch:ranks=4 --size 1MiB --fault dead_link:src=GPU0,dst=GPU1",
    "run allreduce.ring --machine switch:ranks=4 --size 1MiB --edit cut_cable:src=GPU0,dst=GPU9",
    "run allreduce.ring --machine switch:ranks=4 --size 1MiB --network avian",
    "run allreduce.ring --machine switch:ranks=4 --size 1MiB --placement 0,0",
    "run allreduce.ring --machine switch:ranks=99999 --size 1MiB",
    "workload ddp:bucket=none --machine switch:ranks=2",
    "workload fdsp --machine switch:ranks=2",
    "topology LICENSE",
    "run --schedule docs/tour.md --machine switch:ranks=4",
)
"""Command lines that are refused, in sentences that pages show too."""


def _cases():
    for section, cases in sections().items():
        for case in cases:
            marks = [pytest.mark.slow] if section in SLOW else []
            marks += [pytest.mark.long] if is_long(section, case) else []
            yield pytest.param(section, case, id=f"{section}/{case[:90]}", marks=marks)


@pytest.mark.parametrize(("section", "case"), [*_cases()])
def test_an_answer_is_what_was_stored(section, case, monkeypatch):
    monkeypatch.setattr(sweep, "cores", here)
    now = sections()[section][case]()
    now = now if section == "mpi" else compact(now)  # what programs print is kept whole
    assert [*differences(kept_answers(section)[case], now, table())] == []


def test_every_stored_answer_has_a_case():
    assert {name: [*stored(name)] for name in sections()} == {name: [*cases] for name, cases in sections().items()}


def test_every_command_and_every_option_has_a_stored_line():
    used: dict[str, set[str]] = {}
    for line in command_lines():
        name, *words = table().line(shlex.split(line))
        used.setdefault(name, set()).update(word.partition("=")[0] for word in words)
    commands = adapter.terminal_commands()
    torchrun = commands.pop("torchrun")  # PyTorch need not be there
    assert torchrun.name == "torchrun"
    assert used.keys() == commands.keys() - {"dashboard"}
    options = {tuple(o.opts) for command in commands.values() for o in command.params if isinstance(o, click.Option)}
    anywhere = OUTSIDE.union(*used.values())
    assert [names for names in options if not anywhere & {*names}] == []


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("run", "run allreduce.ring --machine switch:ranks=4 --size 1MiB"),
        ("run", "run allreduce.ring --machine switch:ranks=4096 --size 64MiB"),
        ("run", "run allreduce.ring --machine switch:ranks=4 --size 1MiB --fault jitter"),
        ("verify", "verify allreduce.ring --ranks 4"),
        ("topology", "topology --machine dgx_a100"),
        (
            "validate",
            "validate tests/data/nccl-tests/036-a100-8x-nvswitch-allreduce-reformatted.txt --machine dgx_a100",
        ),
    ],
)
def test_promised_keys_are_in_every_answer_by_their_own_names(command, line):
    names = set()

    def collect(value):
        for entry in value if isinstance(value, list) else value.values() if isinstance(value, dict) else ():
            collect(entry)
        names.update(value if isinstance(value, dict) else ())

    collect(adapter.command(line)["answer"])
    assert {*PROMISED[command]} - names == set()


def test_no_table_renames_what_is_promised():
    words = table()
    assert words.keys.keys() & {key for keys in PROMISED.values() for key in keys} == set()
    assert words.values.keys() & {*VERDICTS} == set()


@pytest.mark.parametrize("language", [language for language in adapter.spoken_languages() if language != "en"])
def test_every_text_is_there_in_every_language(language):
    assert len(adapter.text_ids("en")) > 1000
    assert adapter.lacking("en") == adapter.lacking(language) == []
    assert adapter.text_ids("en") - adapter.text_ids(language) == set()
    titles = [f"page.{name}.title" for name in adapter.page_names()]
    assert all(adapter.text(key, "en") and _is_chinese(adapter.text(key, "zh")) for key in titles)


@pytest.mark.slow
@pytest.mark.parametrize("line", COMPLAINTS)
def test_an_error_has_words_in_both_languages(line):
    english = adapter.complaint(line, "en")
    assert english
    assert not _is_chinese(english)
    assert _is_chinese(adapter.complaint(line, "zh"))


@pytest.mark.parametrize("words", ["algorithm=allreduce.ring&machine=switch:ranks%3D4&size=1MiB"])
def test_the_player_says_as_much_in_both_languages(words):
    english, chinese = (adapter.sentences(adapter.linked(words), language) for language in ("en", "zh"))
    assert len(english) == len(chinese) > 6
    assert all(english)
    assert all(map(_is_chinese, chinese))


def _is_chinese(text: str) -> bool:
    return any("\u4e00" <= letter <= "\u9fff" for letter in text)


THEN = {"time_s": 0.1, "troubles": [{"trouble": "slow_link"}], "machine": {"name": "x"}, "name": "y", "is": True}


@pytest.mark.parametrize(
    ("now", "words", "said"),
    [
        (THEN, {}, []),
        (THEN | {"time_s": 0.1 + 2**-56}, {}, [".time_s is 0.10000000000000002; it was 0.1"]),
        (THEN | {"is": 1}, {}, [".is is 1; it was true"]),
        (THEN | {"more": 1}, {}, [".more is new: 1"]),
        (THEN | {"more": 1}, {"new": ("more",)}, []),
        ({**THEN, "name": "z"}, {"values": {"y": "z"}}, []),
        ({**THEN, "machine": {"label": "x"}}, {"keys": {"machine/name": "label"}}, []),
        (
            {**THEN, "machine": {"label": "x"}},
            {},
            ['.machine.name is missing; it was "x"', '.machine.label is new: "x"'],
        ),
        ({**THEN, "troubles": []}, {}, [".troubles has 0 entries; it had 1"]),
    ],
)
def test_only_words_of_the_table_may_differ(now, words, said):
    assert [*differences(THEN, now, WordTable(**words))] == said


def test_options_and_identifiers_pass_through_the_table():
    words = WordTable(options={"--fault": "--fault"}, python={"trouble": "fault"})
    assert words.line(["run", "--fault=a:b=c", "--fault", "--troubles"]) == [
        "run",
        "--fault=a:b=c",
        "--fault",
        "--troubles",
    ]
    assert words.source("Request(trouble=troubles)") == "Request(fault=troubles)"


def test_a_stored_answer_changes_only_where_that_is_accepted():
    cases = {"new": lambda: 1, "kept": lambda: 2.0, "other": lambda: 3}
    before = {"kept": 2, "other": 4, "gone": 5}
    answers, refused = recording.recorded("s", cases, before, [])
    assert refused == ["s/other:  is 3; it was 4", "s/gone: the case is gone"]
    answers, refused = recording.recorded("s", cases, before, ["s/o*", "s/gone"])
    assert (answers, refused) == ({"new": 1, "kept": 2, "other": 3}, [])
    assert json.dumps(answers["kept"]) == "2"
