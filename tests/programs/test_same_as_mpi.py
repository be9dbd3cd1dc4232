"""Programs print the same on the simulated cluster as under a real MPI library."""

from functools import cache
from itertools import product

import pytest

from ops.programs import run_program
from sim.machines import build
from tests.contract.store import stored
from tests.programs.running import HERE, PROGRAMS
from tests.tables import each_row


def test_there_are_ten_programs_and_more():
    assert len(PROGRAMS) >= 10


@cache
def plain(name):
    """A program on four ranks of an ideal switch: several tests look at it, and it runs once."""
    return run_program(HERE / name, build("switch:ranks=4"), 4)


@pytest.mark.slow
@each_row("name", PROGRAMS)
def test_a_program_prints_what_it_printed_under_a_real_mpi(name):
    outcome = plain(name)
    assert outcome.failure is None
    assert outcome.output.strip()
    assert outcome.output == stored("mpi")[name]


@pytest.mark.slow
@each_row("name, library", product(PROGRAMS, ("mpich", "nccl")), over=["library"])
def test_what_a_program_prints_does_not_depend_on_algorithms_machine_or_protocol(name, library):
    other = run_program(HERE / name, build("nodes:nodes=2,gpus=2"), 4, library=library, eager=0)
    assert other.failure is None
    assert other.output == plain(name).output
    assert all(call.verified for call in other.calls if call.tag is None and len(call.ranks) > 1)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(
    "ranks", [1, 2, pytest.param(3, marks=pytest.mark.slow), pytest.param(5, marks=pytest.mark.slow)]
)
def test_programs_run_on_any_number_of_ranks(name, ranks):
    if name == "jacobi.py" and ranks == 5:
        pytest.skip("its plate has 24 rows, which five ranks do not share")
    assert run_program(HERE / name, build(f"switch:ranks={max(2, ranks)}"), ranks).failure is None
