"""Reading takes time in proportion to a text, whatever letters are repeated in it; counted, not timed.

What can grow faster than a text is of two kinds, and each is found where it can be counted.

Loops of ours, and texts handed again and again to a pattern or to a decoder of JSON: every reader gets a small text
that it reads, with a run of one letter at its beginning, inside a line, between two lines or at its end, once as long
and twice as long. Lines of Python that are carried out, letters that patterns are given and letters that JSON is read
from are counted together (`tests.counted`). Twice the run may cost no more than twice the steps.

Patterns that try many ways inside one call, which nothing outside of the matcher can count: their structure tells
(`tests.patterns`). No pattern that is searched for may begin anywhere in an unbounded run and fail behind it, and in
none may two unbounded repeats share a run. All patterns are looked at that stand in modules of readers, as the calls
in the source use them, and all that readers are seen to use.
"""

import ast
import re
import sys
from contextlib import suppress
from functools import cache
from inspect import getsource
from itertools import product
from urllib.parse import parse_qsl

import pytest

from ops.plan.link import from_link
from ops.plan.notation import parse_blocks
from ops.sketch import columns_of
from sim.errors import InputError
from sim.machines import build
from sim.placement import placed
from sim.placement.rank_file import in_one_line, is_rank_file
from sim.topology import pair_rates
from sim.topology.pair_rates import matrices
from sim.units import parse_bandwidth, parse_size, parse_time
from tests.attack.files import readers
from tests.counted import ANCHORED, counted
from tests.patterns import superlinear
from tests.tables import each_row
from ui.talk import document

LETTERS = " \t\n\r\x0b\u2028\u00a00a٣_-.,:;=+|#\"'([{<>/\\*`$&%é²│"
SEAMS = 4
PARTS = 44
"""Days after which every letter has been tried with every reader."""
SLACK = 1500
"""Steps that a text may take more for other reasons, as one more branch or one more try."""
RATES = """Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1
     0 901.33 247.10
     1 247.11 902.50
{"nvbandwidth": {"testcases": [{"bandwidth_description": "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)",
"bandwidth_matrix": [["N/A", "273.5"], ["273.6", "N/A"]]}]}}
"""
TALK = """ringside: talk-1
title: One
scenes:
  - link: '?algorithm=allreduce.ring&machine=switch:ranks=4'
    notes: |
      Watch.
"""


def _units(text):
    for parse in (parse_size, parse_bandwidth, parse_time):
        with suppress(InputError):
            parse(text)


def _ranks(text):
    if is_rank_file(text):
        in_one_line(text, "it")
    placed(build("switch:ranks=4"), text)


OTHERS = {
    "rates between GPUs": (RATES, matrices),
    "a rank file": ("rank 0=node1 slot=0\nrank 1=node2 slot=1\n", _ranks),
    "a list of GPUs": ("0,2-3,host0:1", _ranks),
    "a talk": (TALK, lambda text: document.from_text(text, "it")),
    "a link": ("algorithm=allreduce.ring&machine=switch:ranks=4&size=1MiB&against=size=1|ranks=2;root=1",
               lambda text: from_link(dict(parse_qsl(text)))),
    "numbers": ("1MiB,2,3KiB", lambda text: parse_blocks(text, "it")),
    "moves": ("0>1:2 1>0+2; 2>3:1=2", columns_of),
    "a unit": ("1.5us", _units),
}  # fmt: skip


@cache
def examples():
    """Every reader with its smallest sample."""
    found = {}
    for reader in readers():
        if reader.is_text:
            texts = [text for text in reader.samples() if text.strip()]
            found[reader.name] = (min(texts, key=len)[:3000], reader.use)
    return found | OTHERS


def with_run(text, letter, length, seam):
    """A text with a run of a letter at its beginning, inside its middle line, before that one or at its end."""
    line = text.rfind("\n", 0, len(text) // 2) + 1
    at = (0, (line + len(text)) // 2 if line else len(text) // 2, line, len(text))[seam]
    return text[:at] + letter * length + text[at:]


def steps(use, text, *, lines):
    with counted(lines=lines) as work, suppress(InputError):
        use(text)
    return work


def check_growth(name, length, letter, seam, *, lines=True):
    text, use = examples()[name]
    once, twice = (steps(use, with_run(text, letter, times * length, seam), lines=lines) for times in (1, 2))
    assert twice.steps <= 2.2 * once.steps + SLACK, (letter, seam, once.steps, twice.by_place.most_common(3))


NAMES = [reader.name for reader in readers() if reader.is_text] + list(OTHERS)


@pytest.mark.slow
@each_row("name, part", product(NAMES, range(PARTS)), over=["part"])
def test_a_run_twice_as_long_costs_no_more_than_twice(name, part):
    for at, letter in enumerate(LETTERS[part::PARTS]):
        check_growth(name, 500, letter, (at + part) % SEAMS)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_runs_of_24_000_letters_are_read_in_proportion(name):
    for at, letter in enumerate(LETTERS):
        check_growth(name, 12_000, letter, (at // SEAMS + NAMES.index(name)) % SEAMS, lines=False)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_runs_are_read_in_proportion_wherever_they_are(name):
    for letter in LETTERS:
        for seam in range(SEAMS):
            check_growth(name, 1000, letter, seam)


def _uses_in_source():
    """Every pattern that stands in a module's own name and how the module's source uses it."""
    for module in [m for m in sys.modules.values() if m.__name__.partition(".")[0] in ("sim", "ops")]:
        for node in ast.walk(ast.parse(getsource(module))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                pattern = vars(module).get(node.value.id)
                if isinstance(pattern, re.Pattern):
                    yield module.__name__, pattern, node.attr in ANCHORED


def _uses_when_reading():
    """Every pattern that readers are seen to use with their samples and with what they refuse, and how."""
    for name, (text, use) in examples().items():
        for given in (text, "no text of any format\n"):
            for pattern, anchored in steps(use, given, lines=False).patterns:
                yield name, pattern, anchored


@pytest.mark.parametrize("uses", [_uses_in_source, _uses_when_reading])
def test_no_pattern_is_superlinear(uses):
    found = {
        (pattern.pattern, why): where
        for where, pattern, anchored in uses()
        if (why := superlinear(pattern, anchored=anchored))
    }
    assert not found


@each_row(
    "pattern, anchored, why",
    [
        (r"[ \t]*<\?xml", False, "begins anywhere"),
        (r"[ \t]*<\?xml", True, ""),
        (r"[ \t]*+<", False, "begins anywhere"),
        (r"^[ \t]*<", False, ""),
        (r"(?m)^\s*<", False, "begins anywhere"),
        (r"<a [^>]*b", False, "begins anywhere"),
        (r"<a [^<>]*b", False, ""),
        (r"x.*y", False, "begins anywhere"),
        (r"x.{0,200}y", False, ""),
        (r"\s*\s*$", True, "divides"),
        (r"\s*+\s*$", True, ""),
        (r"\d*\w*-", True, "divides"),
        (r"(?:a+)+b", True, "repeats"),
        (r"(?:a+,)+b", True, ""),
        (r"(?<!\d)\d+x", False, ""),
    ],
)  # fmt: skip
def test_the_structure_of_a_pattern_tells_what_is_superlinear(pattern, anchored, why):
    assert superlinear(re.compile(pattern), anchored=anchored).startswith(why or "none"[4:])
    assert bool(superlinear(re.compile(pattern), anchored=anchored)) == bool(why)


@each_row(
    "name, part",
    [
        ("rates between GPUs", '{"nvbandwidth": '),
        ("a topology file: nccl_xml", "<!-- "),
        ("a topology file: nccl_xml", "<br>"),
        ("a topology file: nccl_xml", "<topology "),
        ("a topology file: nccl_xml", "<platform "),
        ("a topology file: nccl_xml", "<system "),
        ("a topology file: nccl_xml", " \n"),
        ("a topology file: nvidia_smi", "\n"),
        ("a topology file: ringside_yaml", "a: b\n"),
        ("a file with measurements: nccl_tests", "export A=1\n"),
        ("a file with measurements: osu", "# OSU MPI "),
        ("a schedule file: goal", "/* "),
        ("a schedule file: goal", "\n num_ranks"),
    ],
)
def test_words_that_repeat_are_read_in_proportion(name, part):
    """What begins again inside of itself, which no run of one letter does."""
    text, use = examples()[name]
    once, twice = (steps(use, text + part * times, lines=False) for times in (200, 400))
    assert twice.steps <= 2.2 * once.steps + SLACK, (once.steps, twice.by_place.most_common(3))


def test_steps_grow_with_the_square_where_every_place_is_decoded_to_the_end():
    def from_every_place(text):
        for at in range(len(text)):
            with suppress(ValueError):
                pair_rates.json.JSONDecoder().raw_decode(text, at)

    once, twice = (steps(from_every_place, "[" * n, lines=False).steps for n in (100, 200))
    assert twice > 3 * once
