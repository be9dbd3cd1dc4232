"""Lists that fill themselves, and what is said of an addition that cannot be listed."""

import re
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event

import pytest

from ops import ALGORITHMS, algorithm
from ops.collectives import COLLECTIVES, allreduce
from ops.plan import Plan
from ops.run.work import settled
from ops.workloads import WORKLOADS
from sim import registry
from sim.errors import InputError
from sim.faults import Perturbation, RankNumber
from sim.faults.kinds import FAULTS, fault, faults
from sim.machines import MACHINES, build, machine
from sim.registry import AdditionError, Registry, addition_fault
from sim.schedule import copy
from sim.topology import Topology

SHAPES = '''"""Shapes."""

SHAPES = None  # a test puts the list here
'''
SQUARE = '''"""Squares."""

from shapes_here import SHAPES


def square(*, side: int = 1):
    """Four equal sides."""


SHAPES.add("square", square)
'''


@pytest.fixture
def shapes(tmp_path, monkeypatch):
    """A registry of a folder that is there for one test."""
    folder = tmp_path / "shapes_here"
    folder.mkdir()
    (folder / "__init__.py").write_text(SHAPES)
    (folder / "square.py").write_text(SQUARE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry, "ROOT", tmp_path)
    package = __import__("shapes_here")
    package.SHAPES = Registry("shapes_here", "shape", function=lambda function: function)
    yield folder, package.SHAPES
    for name in [name for name in sys.modules if name.startswith("shapes_here")]:
        del sys.modules[name]


def test_modules_and_packages_of_the_folder_are_found(shapes):
    folder, known = shapes
    (folder / "circle").mkdir()
    (folder / "circle" / "__init__.py").write_text(SQUARE.replace("square", "circle").replace("Four equal", "No"))
    assert list(known) == ["circle", "square"]
    assert known.summary("circle") == "No sides."
    assert known.parameters("square")["side"].default == 1
    with pytest.raises(InputError, match="no shape is called 'cube': choose from circle, square"):
        known["cube"]


@pytest.mark.parametrize(
    "source, told",
    [
        ("def round(:\n    pass\n", "shapes_here/round.py, line 1: invalid syntax: fix the file or remove it"),
        ("\nimport no_such_module\n", "shapes_here/round.py, line 2: ModuleNotFoundError: No module named"),
        ("1 / 0\n", "shapes_here/round.py, line 1: ZeroDivisionError: division by zero: fix the file"),
        (SQUARE, "shapes_here/round.py and shapes_here/square.py: two shapes are called square: rename one"),
        (
            SQUARE.replace('"""Four equal sides."""', "pass").replace('"square"', '"round"'),
            "shape round has no docstring",
        ),
        (SQUARE.replace("int", "'No'").replace('"square"', '"round"'), "has an annotation that cannot be used"),
        (SQUARE.replace("int", "list").replace('"square"', '"round"'), "parameter side is a list: annotate it with"),
    ],
)
def test_a_broken_addition_is_told_with_its_file(shapes, source, told):
    folder, known = shapes
    (folder / "round.py").write_text(source)
    for _ in range(2):
        with pytest.raises(AdditionError, match=re.escape(told)) as caught:
            list(known)
        assert "\n" not in str(caught.value)
        assert "round.py" in str(caught.value)


def test_what_is_mended_is_listed_beside_what_was_whole(shapes):
    folder, known = shapes
    (folder / "triangle.py").write_text("1 / 0\n")
    with pytest.raises(AdditionError):
        len(known)
    (folder / "triangle.py").write_text(SQUARE.replace("square", "triangle") + "\n")
    assert list(known) == ["square", "triangle"]


def test_a_list_has_more_for_a_while():
    def island() -> Topology:
        """Nothing around it."""
        return Topology("island", (), ())

    with MACHINES.also({"islet": island}):
        machine(island)
        assert build("island").n == build("islet").n == 0
    assert "island" not in MACHINES
    assert "islet" not in MACHINES


def test_arguments_are_those_of_the_kind():
    with (
        FAULTS.also(),
        pytest.raises(AdditionError, match=r"fault fog takes machine: its first argument is topology"),
    ):

        @fault
        def fog(machine):
            """Nothing is seen."""

    with ALGORITHMS.also(), pytest.raises(AdditionError, match=r"algorithm allreduce\.star takes ranks: its first"):

        @algorithm(allreduce)
        def star(ranks):
            """Everyone to one."""
            yield

    with (
        ALGORITHMS.also(),
        pytest.raises(AdditionError, match=r"algorithm chain: pieces='segments' is no function of n"),
    ):

        @algorithm(allreduce, pieces="segments")
        def chain(n, *, segments: int = 4):
            """One after the other."""
            yield


def test_an_algorithm_without_its_collective_and_a_cost_without_a_parameter_are_refused():
    def star(n, *, group: int = 4):
        """Everyone to one."""
        yield

    for register, told in (
        (algorithm, "the collective it serves is none: give one of ops.collectives"),
        (algorithm(), "the collective it serves is none"),
        (algorithm("allreduce"), "the collective it serves is 'allreduce'"),
        (
            algorithm(allreduce, cost=lambda n: (n, 1)),
            "cost does not take its parameter group: write cost=lambda n, *, group: …",
        ),
    ):
        with ALGORITHMS.also(), pytest.raises(AdditionError, match=re.escape(f"algorithm star: {told}")) as caught:
            register(star)
        assert "test_registry.py" in str(caught.value)


def test_a_group_with_a_size_of_its_own_is_not_the_machines():
    machine = build("nodes:nodes=2,gpus=4")
    with ALGORITHMS.also():

        @algorithm(allreduce)
        def by_threes(n, *, group: int = 3):
            """Three at a time."""
            yield copy(0, 1, slot=0)

        groups = [
            settled(ALGORITHMS[f"allreduce.{name}"], 8, 0, machine, settings)["group"]
            for name in ("by_threes", "hierarchical")
            for settings in ({}, {"group": 2})
        ]
    assert groups == [3, 2, 4, 2]


def test_what_an_addition_returns_is_of_its_kind():
    def island():
        """Nothing around it."""

    def fog(topology):
        """Nothing is seen."""
        return island

    def star(n):
        """Everyone to one."""
        return copy(0, 1, slot=0)

    def chain(n):
        """One after the other."""
        yield 0, 1

    with MACHINES.also(), FAULTS.also(), ALGORITHMS.also():
        machine(island), fault(fog), algorithm(allreduce)(star), algorithm(allreduce)(chain)
        for call, told in (
            (lambda: build("island"), "island returns nothing, not Topology: fix its `return`"),
            (lambda: faults(["fog"], build("mesh")), "fog returns function, not Perturbation: fix"),
            (
                lambda: ALGORITHMS["allreduce.star"].schedule(2),
                "allreduce.star: its steps are a Step, not a row of them: yield each",
            ),
            (lambda: ALGORITHMS["allreduce.chain"].schedule(2), "allreduce.chain: step 1 is of type tuple: yield what"),
        ):
            with pytest.raises(InputError, match=re.escape(told)):
                call()


def test_what_an_additions_own_lines_do_wrong_is_told_with_the_line(shapes):
    folder, known = shapes
    (folder / "round.py").write_text(SQUARE.replace("square", "round") + "\n\ndef roll():\n    return sides\n")
    assert "round" in known
    roll = sys.modules["shapes_here.round"].roll
    with pytest.raises(NameError) as caught:
        roll()
    told = "shapes_here/round.py, line 14: NameError: name 'sides' is not defined: fix the file or remove it"
    assert str(addition_fault(caught.value)) == told
    with pytest.raises(RuntimeError) as again:  # as a process of SimPy's passes it on
        raise RuntimeError from caught.value
    assert str(addition_fault(again.value)) == told
    with pytest.raises(ZeroDivisionError) as elsewhere:
        known.get(1 / 0)
    assert addition_fault(elsewhere.value) is None


def test_what_an_addition_calls_with_something_wrong_is_told_with_its_own_line(shapes):
    folder, known = shapes
    body = "\n\ndef roll():\n    from sim.units import parse_size\n    return parse_size(3, 'it')\n"
    (folder / "round.py").write_text(SQUARE.replace("square", "round") + body)
    assert "round" in known
    with pytest.raises(TypeError) as caught:
        sys.modules["shapes_here.round"].roll()
    assert str(addition_fault(caught.value)).startswith("shapes_here/round.py, line 15: KindError: ")


@pytest.mark.parametrize(
    ("signature", "told"),
    [
        ("side: int = '8'", "parameter side has the default '8', which is no int: give one"),
        ("side: int = True", "parameter side has the default True, which is no int: give one"),
        ("side: Time = '2us'", "parameter side has the default '2us', which is no time: give one"),
        ("side: Annotated[int, Bounds(16, 2)] = 8", "parameter side has the bounds 16..2: give the smaller one first"),
        ("side: Annotated[int, Bounds(2, 4)] = 5", "cannot have its default: its default: side=5 is outside 2..4"),
        ("side: Literal['a', 'b'] = 'wool'", "its default: side='wool' is unknown: choose from a, b"),
    ],
)
def test_a_default_that_no_one_could_give_is_refused_when_it_is_listed(shapes, signature, told):
    folder, known = shapes
    head = "from typing import Annotated, Literal\n\nfrom sim.parameters import Bounds\nfrom sim.units import Time\n"
    (folder / "round.py").write_text(head + SQUARE.replace("square", "round").replace("side: int = 1", signature))
    with pytest.raises(AdditionError, match=re.escape(told)):
        list(known)


def test_pieces_of_nothing_and_processes_that_are_none_are_refused():
    """In the words of the file that has them, whoever finds out."""

    def nothing(n):
        """Nothing."""
        yield copy(0, 1, slot=0)

    def adrift(controls):
        yield controls.wait_until(1e-6)

    def called(topology: Topology) -> Perturbation:
        """A process that was called."""
        return Perturbation("called", process=adrift(None))

    def lost(topology: Topology) -> Perturbation:
        """Waits for a process, and not for what that waits for."""
        return Perturbation("lost", process=adrift)

    def sleepy(topology: Topology, *, rank: RankNumber) -> Perturbation:
        """Late by rank, where devices count otherwise."""
        return Perturbation(late={rank: 1e-3})

    with FAULTS.also(), ALGORITHMS.also():
        algorithm(allreduce, pieces=lambda n: 0)(nothing), fault(called), fault(lost), fault(sleepy)
        with pytest.raises(TypeError, match="late is by device, and 6 is no DeviceIndex: write rank_index"):
            faults(["sleepy:rank=6"], build("nodes:nodes=2,gpus=4"))
        with pytest.raises(InputError, match="algorithm nothing: pieces is 0 for 2 ranks: give 1 or more"):
            ALGORITHMS["allreduce.nothing"].schedule(2)
        with pytest.raises(TypeError, match="process is a generator: give the function that makes it"):
            faults(["called"], build("mesh"))
        with pytest.raises(InputError, match=r"test_registry.py, line \d+: yields a generator: yield what to wait for"):
            Plan(machine="mesh:ranks=4", fault="lost").run()


@pytest.mark.parametrize("known", [ALGORITHMS, MACHINES, FAULTS, WORKLOADS], ids=lambda known: type(known).__name__)
def test_every_list_describes_what_it_has(known):
    for name in known:
        assert known.summary(name).endswith(".")
        assert known.about(name) is not None
        assert all(parameter.name == key for key, parameter in known.parameters(name).items())


def test_words_of_a_signature_are_the_only_ones_taken():
    with pytest.raises(InputError, match="p2p='far' is unknown: choose from all, near, no"):
        build("geforce_4090:p2p=far")
    assert MACHINES.parameters("geforce_4090")["p2p"].words == ("all", "near", "no")
    assert COLLECTIVES["allreduce"].name == "allreduce"


class Slow(Registry[str]):
    """A list whose first module takes until somebody `goes` on."""

    def __init__(self):
        super().__init__("sim.machines", "thing")
        self.begun, self.goes = Event(), Event()

    def _load(self, module):
        self._entries[module] = module
        self.begun.set()
        assert self.goes.wait(60)


def test_whoever_asks_while_another_thread_fills_a_list_gets_all_of_it():
    slow = Slow()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(len, slow)
        assert slow.begun.wait(60)
        second = pool.submit(len, slow)
        assert not wait([second], timeout=0.2).done
        slow.goes.set()
        assert first.result(60) == second.result(60) > 10
