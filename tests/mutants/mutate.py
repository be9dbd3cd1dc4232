"""What can be wrong in a module: every change that Cosmic Ray's operators can make to it, one at a time."""

import difflib
import tomllib
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from cosmic_ray.ast import get_ast
from cosmic_ray.mutating import MutationVisitor
from cosmic_ray.operators.provider import OperatorProvider

SIM = "tests/sim"
ORACLES = tuple(f"{SIM}/test_{name}.py" for name in ("fabric", "fabric_world", "engine"))
BOUNDS = tuple(f"{SIM}/test_{name}.py" for name in ("lower_bound", "metrics", "trace"))
REPLAYS = tuple(f"{SIM}/test_{name}.py" for name in ("replay", "verify"))


def _of(file: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{SIM}/test_{file}.py::test_{name}" for name in names)


CROSSBARS = _of(
    "crossbar",
    "small_ones_have_the_times_of_a_solve_from_nothing_and_read_no_memory_that_was_never_written",
    "a_group_is_handed_back_when_another_flow_begins_and_taken_over_again",
    "a_group_is_handed_back_when_something_happens_to_it",
    "a_group_with_a_link_by_which_flows_leave_and_one_enters_is_none",
    "who_crosses_whom_is_the_same_when_a_link_moves_on_in_the_rows_of_its_side",
    "sides_of_more_links_than_a_word_has_bits_have_the_times_that_lists_of_links_give",
) + _of("fabric", "whatever_a_kernel_calls_is_compiled_with_it")
COMPILED = _of("speed", "all_functions_of_a_module_of_kernels_are_compiled")
FOLDS = COMPILED + _of(
    "fold",
    "what_is_added_to_block_0_and_is_another_spoils_it",
    "what_spoilt_a_block_is_told_however_far_that_was_carried",
    "doubling_over_distances_1_2_2_takes_the_time_of_1_2_4_and_is_wrong",
    "a_folded_run_is_the_run_of_all_ranks",
    "200_wrong_schedules_are_wrong_folded_and_right_ones_are_right",
    "what_is_stated_is_so",
)
APART = _of(
    "fold_apart",
    "rows_grow_before_a_wave_or_in_the_middle_of_it",
    "a_calendar_has_room_for_two_entries_of_every_row_and_link",
    "rows_that_wait_at_one_place_leave_it_in_any_order",
    "the_calendar_grows_before_a_wave_that_it_might_not_hold",
    "a_run_that_stands_names_who_waits_and_the_dead_link",
    "it_is_the_run_that_is_written_out",
)
KINDS = COMPILED + _of(
    "kinds",
    "two_writers_of_one_step_of_which_one_overwrites_are_wrong",
    "so_many_partners_of_a_sender_are_looked_through_and_no_more",
    "a_program_takes_the_last_slots_that_are_left_and_none_that_is_not",
    "colours_of_two_ranks_or_links_differ_with_any_pair_they_have",
    "variants_differ_in_what_their_ranks_and_links_are",
    "programs_of_messages_that_begin_alike_are_told_apart_wherever_they_are_looked_for",
    "moments_are_those_of_the_run_that_is_written_out",
    "an_outcome_is_that_of_the_run_that_is_written_out",
    "what_has_many_partners_or_may_count_twice_or_names_nobody_is_not_listed",
)
TESTS: dict[str, tuple[str, ...]] = {
    **{f"sim.fabric.{name}": ORACLES for name in ("calendar", "kernel", "links", "lone", "max_min")},
    **{f"sim.fabric.{name}": ORACLES for name in ("amend", "connections")},
    "sim.fabric.groups": (*ORACLES, *CROSSBARS[:3]),
    "sim.fabric.rows": APART,
    **{f"sim.fabric.crossbar.{name}": CROSSBARS for name in ("group", "shares", "table")},
    **{f"sim.schedule.{name}": (*COMPILED, *REPLAYS) for name in ("dependencies", "replay", "verify")},
    "sim.symmetry.follow": FOLDS,
    "sim.symmetry.classes.kernels": KINDS,
    "sim.trace.metrics": BOUNDS,
}
"""The modules that are changed, and the tests that notice fastest; kernels are interpreted, so large runs are not."""
EQUIVALENT = Path(__file__).with_name("equivalent.toml")


class Mutant(NamedTuple):
    """One change: an operator's name, and which of the places in a module where it applies."""

    module: str
    operator: str
    occurrence: int

    def source(self) -> str:
        """The module's text with the change."""
        changed = MutationVisitor.mutate_code(text_of(self.module), _operators()[self.operator], self.occurrence)
        assert changed is not None, self
        return changed

    def change(self) -> tuple[str, str]:
        """The lines that it changes, before and after."""
        lines = difflib.ndiff(text_of(self.module).splitlines(), self.source().splitlines())
        sides = [(line[0], " ".join(line[2:].split())) for line in lines if line[0] in "+-"]
        was, now = ("\n".join(text for side, text in sides if side == sign).strip() for sign in "-+")
        return was, now

    def why_equivalent(self) -> str:
        """Why no test can notice it; nothing where one must."""
        was, now = self.change()
        return _equivalent().get((self.module, was, now)) or _equivalent().get((self.module, was, None), "")


def sample(seed: int, modules: tuple[str, ...] = tuple(TESTS)) -> list[Mutant]:
    """Every mutant there is, in an order that the seed decides; a module that changes moves its own alone."""
    mutants = [
        Mutant(module, name, k)
        for module in modules
        for nodes in [list(_nodes(get_ast(text_of(module))))]
        for name, operator in _operators().items()
        for k in range(sum(1 for node in nodes for _ in operator.mutation_positions(node)))
    ]
    return sorted(mutants, key=lambda mutant: sha256(f"{seed} {' '.join(map(str, mutant))}".encode()).digest())


@cache
def text_of(module: str) -> str:
    """The source of a module, which is not imported."""
    return path_of(module).read_text("utf-8")


@cache
def version_of(module: str) -> str:
    """What a module's text was when a mutant of it was tried."""
    return sha256(text_of(module).encode()).hexdigest()[:12]


@cache
def path_of(module: str) -> Path:
    """Where a module's source is."""
    return Path(__file__).resolve().parents[2].joinpath(*module.split(".")).with_suffix(".py")


@cache
def _operators() -> dict:
    """Those that need no words of ours."""
    provider = OperatorProvider()
    return {name: provider[name]() for name in provider if not provider[name].arguments()}


def _nodes(node) -> Iterator:
    yield node
    for child in getattr(node, "children", ()):
        yield from _nodes(child)


@cache
def _equivalent() -> dict[tuple[str, str, str | None], str]:
    entries = tomllib.loads(EQUIVALENT.read_text("utf-8")).get("mutant", [])
    return {(entry["module"], entry["was"], entry.get("now")): entry["why"] for entry in entries}
