"""Every command that compares opens with a sentence, whose numbers are those that it answers as JSON."""

import json

import pytest

import cli
from sim.units import fmt_time
from terminal import DONE, NO

SERVER = "--machine dual_socket_pcie --size 1MiB"


def said(line, capsys):
    """What a command says and what it answers as JSON; its text begins with the sentence of the latter."""
    assert cli.main([*line.split(), "--json"]) == DONE
    data = json.loads(capsys.readouterr().out)
    assert cli.main(line.split()) == DONE
    out = capsys.readouterr().out
    assert out.removeprefix("# ").startswith(data["answer"]["sentence"] + "\n")
    return data, out


def factor(times):
    return f"{float(f'{times:.2g}'):g}×" if times >= 1.05 else f"{100 * (times - 1):.1f}%"


def test_winners_says_who_is_best_of_how_many_how_far_ahead_and_why(capsys):
    data, _ = said("winners allreduce --machine dgx_a100 --ranks 8 --sizes 64KiB --grid-only --jobs 1", capsys)
    times = {name: times[0] for name, times in data["times_s"][0].items() if times[0] is not None}
    first, second, *_ = sorted(times, key=times.__getitem__)
    assert f"is the fastest of {len(data['algorithms'])} algorithms." in data["answer"]["sentence"]
    assert f"takes {fmt_time(times[first])}, {factor(times[second] / times[first])} faster" in data["answer"]["reason"]
    assert not data["answer"]["reason"].endswith("faster than all pairs.")  # it says why


def test_winners_of_many_cells_counts_them(capsys):
    data, _ = said(
        "winners allreduce.ring allreduce.recursive_doubling --machine switch:ranks=8 --grid-only --jobs 1", capsys
    )
    cells = [name for row in data["winners"] for name in row]
    count = max(map(cells.count, set(cells)))
    assert f"fastest of 2 algorithms in {count} of {len(cells)} cells." in data["answer"]["sentence"]


def test_a_table_that_was_kept_says_the_same_without_the_reason(tmp_path, capsys):
    table = str(tmp_path / "t.parquet")
    grid = "allreduce.ring allreduce.rabenseifner --machine switch:ranks=8 --ranks 4,8 --sizes 1KiB,64MiB --jobs 1"
    data, _ = said(f"sweep {grid} -o {table}", capsys)
    kept, _ = said(f"winners --table {table}", capsys)
    whole, _ = said(f"winners {grid} --grid-only", capsys)
    assert data["answer"]["sentence"] == kept["answer"]["sentence"] == whole["answer"]["sentence"]
    assert whole["answer"]["reason"].startswith(kept["answer"]["reason"])


@pytest.mark.parametrize("command", ["compare", "run", "why"])
def test_commands_say_of_a_fault_what_it_costs(command, capsys):
    change = f"allreduce.ring {SERVER} --fault slow_link:src=CPU0,dst=CPU1,share=0.5"
    data, _ = said(f"{command} {change}", capsys)
    assert cli.main(["run", *f"allreduce.ring {SERVER} --json".split()]) == DONE
    before = json.loads(capsys.readouterr().out)["time_s"]
    after = data["runs"][1]["time_s"] if command == "compare" else data["time_s"]
    assert (data["answer"]["before_s"], data["answer"]["after_s"]) == (before, after)
    assert data["answer"]["sentence"].startswith("Half the bandwidth on CPU0 → CPU1: ")
    assert data["answer"]["sentence"].endswith(f"{factor(after / before)} slower.")
    assert data["answer"]["reason"] == "All 8 GPUs wait for CPU0 ↔ CPU1."


def test_the_fastest_of_several_algorithms_or_networks_is_compared_with_the_next(capsys):
    several = "allreduce.ring allreduce.linear allreduce.rabenseifner"
    for more in (SERVER, "--machine nodes:nodes=2,gpus=2 --size 1MiB --network ethernet_10g --network infiniband_hdr"):
        data, _ = said(f"compare {several} {more}", capsys)
        first, second, *_ = sorted(row["time_s"] for row in data["runs"])
        sentence = data["answer"]["sentence"]
        assert f"is the fastest of {len(data['runs'])} compared: {fmt_time(first)}, " in sentence
        assert (factor(second / first) in sentence) == (second > first)


def test_why_explains_the_difference_from_its_run_to_the_other(capsys):
    data, _ = said(f"why allreduce.ring {SERVER} --compare-to algorithm=allreduce.linear", capsys)
    assert data["answer"]["factor"] == data["against"]["time_s"] / data["time_s"]
    alone, _ = said(f"why allreduce.ring {SERVER}", capsys)
    assert alone["answer"]["sentence"].startswith(f"Ring takes {fmt_time(alone['time_s'])}")


def test_scaling_says_what_more_ranks_cost_or_who_is_the_fastest(capsys):
    data, _ = said("scaling allreduce.ring --machine switch --vary ranks=4,8,16 --sizes 1MiB --jobs 1", capsys)
    few, *_, many = (row["time_s"] for row in data["rows"])
    assert data["answer"]["sentence"].startswith("16 ranks instead of 4: ")
    assert data["answer"]["sentence"].endswith(f"{factor(many / few)} slower.")
    data, _ = said(
        "scaling allreduce.ring allreduce.linear --machine switch --vary ranks=4,8 --sizes 1MiB --jobs 1", capsys
    )
    assert data["answer"]["sentence"] == "Ring is the fastest of 2 algorithms in all 2 cells."


def test_bandwidth_says_which_curve_is_highest_and_where_it_has_half_of_that(capsys):
    data, out = said(
        "bandwidth allreduce.ring allreduce.linear --machine switch:ranks=8 --sizes 1KiB..64MiB*2 --jobs 1", capsys
    )
    most = max(data["rows"], key=lambda row: row["busbw_Bps"])
    own = [row for row in data["rows"] if row["algorithm"] == most["algorithm"]]
    half = min(row["size_bytes"] for row in own if 2 * row["busbw_Bps"] >= most["busbw_Bps"])
    assert data["answer"]["sentence"].startswith("Ring reaches the most bus bandwidth of 2 curves: ")
    assert data["answer"]["reason"] == f"It reaches half of that from {half >> 10} KiB on."
    assert all(line.startswith(("#", "  ")) for line in out.splitlines())


def test_sensitivity_says_which_links_cost_and_win_most(capsys):
    data, _ = said(f"sensitivity allreduce.ring {SERVER} --factor 4", capsys)
    worst, best = max(s["slower_s"] for s in data["swings"]), min(s["faster_s"] for s in data["swings"])
    assert data["answer"]["sentence"].startswith("25% of the bandwidth on 2 × SYS")
    assert data["answer"]["sentence"].endswith(f"{factor(worst / data['time_s'])} slower.")
    assert data["answer"]["reason"].startswith("4× the bandwidth on 2 × SYS")
    assert data["answer"]["reason"].endswith(f"{factor(data['time_s'] / best)} faster.")


def test_failures_says_who_waits_for_whom_and_which_link_costs_most(capsys):
    data, _ = said(f"failures allreduce.ring {SERVER}", capsys)
    assert data["answer"]["sentence"].endswith("; the run never ends.")
    assert "Ranks wait for each other in a circle: 0 → 7 → " in data["answer"]["reason"]
    assert "11 of 11 links stop the run" in data["answer"]["reason"]
    data, _ = said("failures allgather.ring --machine ring:ranks=4 --size 4KiB", capsys)
    times = [loss["time_s"] for loss in data["losses"]]
    assert data["answer"]["sentence"].endswith(f"{factor(max(times) / data['time_s'])} slower.")


def test_workload_says_how_much_is_exposed_and_what_would_win_it_back(capsys):
    data, _ = said("workload ddp --machine switch:ranks=2,bandwidth=3GBps", capsys)
    assert data["answer"]["sentence"].startswith(f"The step takes {fmt_time(data['step_time_s'])}; ")
    assert data["answer"]["remedy"].startswith("Twice the bandwidth on all links of kind NVL brings ")


@pytest.mark.parametrize("command", ["run", "why", "compare"])
@pytest.mark.parametrize(
    "change", ["--fault dead_link:src=CPU0,dst=CPU1,start=10us", "--edit cut_cable:src=CPU0,dst=CPU1"]
)
def test_commands_say_who_waits_for_whom_in_a_run_that_never_ends(command, change, capsys):
    assert cli.main([command, *f"allreduce.ring {SERVER} {change} --json".split()]) == NO
    data = json.loads(capsys.readouterr().out)
    assert "nothing moves after " in data["answer"]["sentence"]
    assert data["answer"]["reason"].startswith("Ranks wait for each other in a circle: 0 → 7 → ")
    assert "CPU0 ↔ CPU1 carries nothing and stops the messages 3 → 4, 7 → 0." in data["answer"]["reason"]
    assert (data["runs"][1] if command == "compare" else data)["time_s"] is None


def test_of_several_algorithms_those_that_never_end_are_named(capsys):
    dead = "--machine dgx1v --size 1MiB --edit cut_cable:src=CPU0,dst=CPU1"
    assert cli.main(f"compare allreduce.ring allreduce.binomial_tree {dead}".split()) == NO
    sentence, reason, *table = capsys.readouterr().out.splitlines()
    assert sentence.startswith("Binomial tree instead of ring: the run ends after ")
    assert reason.startswith("Before: Ranks wait for each other in a circle")
    assert any(row.split() == ["allreduce.ring", "never", "ends"] for row in table)
