"""A change that keeps what a text means keeps what is read: the same machine, schedule, rows or rates.

Mails quote every line, launchers and logs put their marks before each, editors and systems change ends of lines and
indentation, Markdown puts fences around, other writers put keys and attributes into another order.
"""

import json
import re
from dataclasses import replace
from functools import cache, partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.formats import SCHEDULE_FORMATS, check_schedule, read_schedule
from ops.measured.files import read_tables
from ops.measured.formats import MEASUREMENTS
from sim.errors import InputError
from sim.formats import FORMATS, read_topology
from sim.topology.pair_rates import matrices
from tests.attack.files import samples_of
from tests.pasted import several_prefixes
from tests.test_linear import RATES

LARGEST = 12_000
MOST = 3
"""Samples of a format."""
TABLES = ("amd_smi", "nvidia_smi", "rocm_smi", "nccl_tests", "osu", "printed rates")
"""Tables in which only words count, and which all launchers print."""
MARKS = ("> ", ">> ", "[1,0]<stdout>:", "node7: ", "2025-09-01T10:11:12Z ", "[rank0]: ", "0: ")
"""What any text may have in front of every line."""


def topology(text):
    machine = read_topology(text, "it")
    return machine.format, machine.devices, machine.links, machine.ranks, machine.pairs


def schedule(text):
    verdict = check_schedule(text, "it")
    made = read_schedule(text, "it")
    return (
        verdict.verdict,
        made.n,
        *(getattr(made, key).tolist() for key in ("src", "dst", "op", "from_slot", "to_slot")),
    )


def tables(text):
    return [
        (table.kind, table.ranks, table.devices, [replace(row, line=0) for row in table.rows])
        for table in read_tables(text, "it")
    ]


def rates(text):
    return [(matrix.title, matrix.rank, matrix.gpus, matrix.rows) for matrix in matrices(text)]


KINDS = ((FORMATS, topology), (SCHEDULE_FORMATS, schedule), (MEASUREMENTS, tables))
NAMES = {name: (formats, read) for formats, read in KINDS for name in formats} | {
    "rates": (None, rates),
    "printed rates": (None, rates),
}


@cache
def samples(name):
    """Small texts that a format reads, with what is read."""
    formats, read = NAMES[name]
    found = []
    for text in samples_of(formats, name) if formats else (RATES if name == "rates" else RATES.partition("{")[0],):
        if len(text) <= LARGEST and len(found) < MOST:
            try:
                found.append((text, read(text)))
            except InputError:
                continue
    return found


def each_line(change, text):
    return "".join(f"{change(line)}\n" for line in text.split("\n"))


def marked(mark, text):
    return each_line(lambda line: f"{mark}{line}", text)


def other_order(text):
    """Keys of JSON sorted, attributes of XML the other way round; any other text as it is."""
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        attribute = r'[\w:.-]+\s*=\s*"[^"<>]*"'
        return re.sub(
            rf"<(\w+)((?:\s+{attribute})+)",
            lambda tag: f"<{tag[1]} {' '.join(reversed(re.findall(attribute, tag[2])))}",
            text,
        )


AROUND = {
    "as it is": lambda text: text,
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "byte order mark": lambda text: f"\ufeff{text}",
    "trailing blanks": partial(each_line, lambda line: f"{line}  "),
    "blank lines": lambda text: f"\n\n{text}\n\n",
    "indented": partial(each_line, lambda line: f"    {line}"),
    "fenced": lambda text: f"```\n{text}\n```\n",
    "in Markdown": lambda text: f"Hello,\n\n```text\n{text}\n```\n\nYours",
}
"""What may be done to a text as a whole."""


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_a_change_that_keeps_the_meaning_keeps_the_answer(name, data):
    text, answer = data.draw(st.sampled_from(samples(name)))
    _, read = NAMES[name]
    around = data.draw(st.sampled_from(list(AROUND)))
    mark = "".join(data.draw(several_prefixes() if name in TABLES else st.lists(st.sampled_from(MARKS), max_size=1)))
    changed = other_order(text) if data.draw(st.booleans()) else text
    changed = AROUND[around](changed)
    assert read(marked(mark, changed) if mark and around != "byte order mark" else changed) == answer
