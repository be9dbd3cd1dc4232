"""What is shown of a run that is too large to be shown whole."""

import numpy as np
import pytest

from ops.plan import Plan
from ops.run.part import shown
from ui.player.payload import pack, unpack

RING = Plan("allreduce.ring", "nodes:nodes=4,gpus=4", size="1MiB")
TWO_LEVELS = Plan("allreduce.hierarchical_2d", "nodes:nodes=4,gpus=4", size="1MiB")


def test_a_run_that_is_written_out_is_shown_whole():
    run = RING.run()
    assert shown(run) is run.trace


@pytest.mark.parametrize("plan_", [TWO_LEVELS, RING.changed({"machine": "switch:ranks=24"})])
def test_a_host_of_ranks_stands_for_the_others_under_its_own_names(plan_):
    run, whole = plan_.run(written=0), plan_.run().trace
    part, chosen = shown(run), run.representatives
    numbers = np.array(part.excerpt.numbers)
    assert (part.excerpt.shown, part.excerpt.ranks) == (len(chosen), whole.schedule.n)
    assert numbers[: len(chosen)].tolist() == chosen.tolist()
    names = [part.topology.devices[device].name for device in part.topology.ranks]
    assert names == [whole.topology.devices[whole.topology.ranks[rank]].name for rank in numbers]
    rows = np.flatnonzero(np.isin(whole.schedule.src, chosen) | np.isin(whole.schedule.dst, chosen))
    pairs = [numbers[column] for column in (part.schedule.src, part.schedule.dst)]
    assert sorted(zip(*pairs, part.end.round(12), strict=True)) == sorted(
        zip(whole.schedule.src[rows], whole.schedule.dst[rows], whole.end[rows].round(12), strict=True)
    )
    assert part.time == pytest.approx(whole.time)
    at = {(link.src, link.dst): k for k, link in enumerate(whole.topology.links)}
    for k, link in enumerate(part.topology.links):
        assert part.link_bytes[k] <= whole.link_bytes[at[link.src, link.dst]] * (1 + 1e-12)
    own = [link for link in part.topology.links if link.src == names[0]]
    assert all(
        part.link_bytes[part.topology.links.index(link)] == pytest.approx(whole.link_bytes[at[link.src, link.dst]])
        for link in own
    )


@pytest.mark.parametrize(("language", "says"), [("en", "4 of 16 ranks are drawn, H0.GPU0 … H0.GPU3"), ("zh", "16")])
def test_a_picture_of_a_part_says_so_and_names_ranks_by_their_own_numbers(language, says):
    run = TWO_LEVELS.run(written=0)
    packed = pack(shown(run), language, run.breakdown)
    header, columns = unpack(packed)
    assert says in packed["note"]
    assert header["places"]["name"][4].split()[-1].strip() == str(header["meta"]["numbers"][4])
    assert sum(seconds for _, seconds in header["why"]["parts"]) == pytest.approx(run.time)
    assert len(columns["path"]) == 0
    assert pack(RING.run().trace, language)["note"] == ""


def test_blocks_of_a_part_are_those_of_the_whole_run():
    run, whole = TWO_LEVELS.run(written=0), TWO_LEVELS.run().trace
    part = shown(run)
    held = whole.schedule.promise.given[list(part.excerpt.numbers)]
    np.testing.assert_array_equal(part.schedule.promise.given, held)
