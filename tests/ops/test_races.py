"""No race is ok: programs whose result depends on chance are wrong, told with two accesses; no others are."""

import random
import re
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest

from ops import ALGORITHMS
from ops.formats import check_schedule, read_schedule, write_schedule
from ops.formats.interpreter.buffers import lay_out
from sim.engine import simulate
from sim.machines import build
from tests.ops.msccl import program
from tests.ops.random_orders import Program, Stuck, at_random, held_up, never_before
from tests.tables import each_row

FILES = sorted((Path(__file__).parents[1] / "data" / "msccl-xml").glob("*.xml"))
SMALL = [file for file in FILES if file.stat().st_size < 100_000]
WHERE = re.compile(r"gpu (\d+)/tb (\d+)/step (\d+)")


def orders(made, count):
    """What `count` random orders come to."""
    return outcomes(made, map(at_random, range(count)))


def outcomes(made, choices):
    """What some orders come to; nothing but a deadlock where one does not end."""
    try:
        return [made.outcome(choose) for choose in choices]
    except Stuck:
        return ["deadlock"]


def contrary(reason):
    """Orders in which one of the thread blocks of a race that is told comes last, or stops where it has read."""
    steps = [((int(gpu), int(tb)), int(step)) for gpu, tb, step in WHERE.findall(reason)]
    yield from (never_before(block) for block, _ in steps)
    for seed in range(20):
        yield from (held_up([(*step, read)], seed) for step in steps for read in (False, True))
    yield from map(at_random, range(1000, 2000))


def held_against_orders(text, count):
    """The verdict agrees with what random orders do; a race that is told shows in two of them."""
    verdict = check_schedule(text, "edited.xml")
    if verdict.verdict in ("malformed", "duplicate_connection"):
        return verdict.verdict
    made = Program(text)
    try:
        found = orders(made, count)
    except ValueError:  # two cnt that differ
        assert verdict.verdict == "malformed", verdict
        return "malformed"
    if found == ["deadlock"]:
        assert verdict.verdict == "deadlock", verdict
    elif "depends on chance" in verdict.reason:
        others = (other for choose in contrary(verdict.reason) for other in outcomes(made, [choose]))
        assert any(other != found[0] for other in chain(found, others)), verdict.reason
        return "race"
    else:
        rightly = all(made.right(other) for other in found)
        assert verdict.verdict == ("ok" if rightly else "wrong"), verdict
    return verdict.verdict


def edited(text, draw):
    """The program with one edit, as a person might make it by mistake."""
    root = ET.fromstring(text)
    blocks = [tb for tb in root.iter("tb") if len(tb)]
    steps = [step for tb in blocks for step in tb]
    match draw.randrange(6):
        case 0:
            step = draw.choice([s for s in steps if s.get("depid") != "-1"] or steps)
            step.attrib.update(depid="-1", deps="-1")
        case 1:
            draw.choice([s for s in steps if s.get("hasdep") == "1"] or steps).attrib["hasdep"] = "0"
        case 2:
            draw.choice(steps).attrib.update(type="nop", cnt="0")
        case 3:
            tb = draw.choice([tb for tb in blocks if len(tb) > 1] or blocks)
            a, b = (draw.randrange(len(tb)) for _ in range(2))
            first, second = dict(tb[a].attrib), dict(tb[b].attrib)
            tb[a].attrib.update(second | {"s": first["s"]})
            tb[b].attrib.update(first | {"s": second["s"]})
        case 4:
            step, end = draw.choice(steps), draw.choice(["src", "dst"])
            step.attrib[f"{end}off"] = str(max(0, int(step.get(f"{end}off")) + draw.choice([-1, 1])))
        case _:
            step, end = draw.choice(steps), draw.choice(["src", "dst"])
            step.attrib[f"{end}buf"] = draw.choice("ios")
    return ET.tostring(root, encoding="unicode")


def test_a_read_that_a_write_may_precede_is_a_race():
    # GPU 1 sends o0 on, and nothing says that it has arrived before.
    chain = program(
        "broadcast",
        {(1, -1, 0): ["s o0 o0"]},
        {(-1, 0, 0): ["r o0 o0 !"], (2, -1, 0): ["s o0 o0"]},
        {(-1, 1, 0): ["r o0 o0"]},
    )
    found = check_schedule(chain, "chain.xml")
    assert found.verdict == "wrong"
    assert "gpu 1/tb 1/step 0" in found.reason
    assert "gpu 1/tb 0/step 0" in found.reason
    assert "let step 0 of tb 1 wait for step 0 of tb 0" in found.reason
    waits = program(
        "broadcast",
        {(1, -1, 0): ["s o0 o0"]},
        {(-1, 0, 0): ["r o0 o0 !"], (2, -1, 0): ["s o0 o0 @0.0"]},
        {(-1, 1, 0): ["r o0 o0"]},
    )
    assert check_schedule(waits, "waits.xml").verdict == "ok"


def test_two_reductions_into_one_place_that_nothing_orders_lose_one_of_them():
    both = program(
        "reduce",
        {(-1, 1, 0): ["rrc o0 o0"], (-1, 2, 0): ["rrc o0 o0"]},
        {(0, -1, 0): ["s o0 o0"]},
        {(0, -1, 0): ["s o0 o0"]},
    )
    found = check_schedule(both, "both.xml")
    assert found.verdict == "wrong"
    assert "writes chunk 0 of buffer o" in found.reason


def test_a_place_that_is_input_and_output_is_called_by_both():
    """A program in place writes to its output what others of its lines read as its input."""
    chain = program(
        "broadcast",
        {(1, -1, 0): ["s i0 i0"]},
        {(2, -1, 0): ["s i0 i0"], (-1, 0, 0): ["r o0 o0"]},
        {(-1, 1, 0): ["r o0 o0"]},
    )
    assert "reads chunk 0 of buffer o (in place also chunk 0 of buffer i) and" in check_schedule(chain, "it").reason


def test_in_place_the_input_of_a_rank_is_its_part_of_the_output():
    base = lay_out("allgather", 3, 3, 1, in_place=True, root=0)
    assert [base.name(rank, 1) for rank in (0, 1)] == [
        "chunk 1 of buffer o", "chunk 1 of buffer o (in place also chunk 0 of buffer i)",
    ]  # fmt: skip
    assert lay_out("allgather", 3, 3, 1, in_place=False, root=0).name(1, 1) == "chunk 0 of buffer o"


def test_two_writes_of_the_same_are_no_race():
    twice = program(
        "broadcast",
        {(1, -1, 0): ["s o0 o0"], (1, -1, 1): ["s o0 o0"]},
        {(-1, 0, 0): ["r o0 o0"], (-1, 0, 1): ["r o0 o0"]},
    )
    assert check_schedule(twice, "twice.xml").verdict == "ok"


def test_no_private_attribute_decides_a_verdict():
    text = write_schedule(ALGORITHMS["allreduce.rabenseifner"].schedule(8), "msccl_xml")
    assert check_schedule(text, "ours.xml").verdict == "ok"
    loose = re.sub(r'depid="\d+" deps="\d+"', 'depid="-1" deps="-1"', text)
    assert loose != text
    assert check_schedule(loose, "loose.xml").verdict == "wrong"
    assert not simulate(build("switch:ranks=8"), read_schedule(loose, "loose.xml"), size=1 << 20).verdict.ok


@pytest.mark.slow
@each_row("file", SMALL)
def test_edited_programs_are_judged_as_random_orders_of_them_end(file):
    draw = random.Random(file.stem)
    for _ in range(3):
        held_against_orders(edited(file.read_text(), draw), 10)


def test_the_dependency_that_is_named_makes_the_program_right():
    # The chunk must be sent before the receive overwrites it; as the program is replayed, it comes first.
    swap = program(
        "alltoall",
        {(-1, 1, 0): ["r i1 i1"], (1, -1, 0): ["cpy s0 s1", "s i1 i1"]},
        {(-1, 0, 0): ["r i0 i0 @1.0"], (0, -1, 0): ["s i0 i0 !"]},
        chunks=2,
        scratch=2,
    )
    judged = check_schedule(swap, "swap.xml")
    assert judged.verdict == "wrong"
    assert 'let step 0 of tb 0 wait for step 1 of tb 1 (depid="1" deps="1", hasdep="1" there)' in judged.reason


def main(folder, most=300):
    """Edits of all shared programs, fifty orders each: `python -m tests.ops.test_races FOLDER [EDITS]`.

    What is judged otherwise than it ends is written to the folder.
    """
    draw, seen = random.Random(1), Counter()
    for number in range(most):
        file = FILES[number % len(FILES)]
        text = edited(file.read_text(), draw)
        try:
            verdict = held_against_orders(text, 50)
        except AssertionError:
            verdict = "disagrees"
            Path(folder, f"{number}.xml").write_text(text)
        seen[verdict] += 1
        print(f"{number + 1} of {most}: {file.stem}: {verdict}", flush=True)
    print(dict(seen))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
