"""What a machine should reach, as every output has it; the gate; how far two numbers of few hosts reach."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from cli import main
from ops.expected import ExpectedRow, expected, with_hosts
from ops.libraries.nccl.own.band import band_at, band_of
from ops.libraries.nccl.own.numbers import calibrated
from ops.measured.comparison import compare_table, verdict
from ops.measured.files import place, read_file, read_tables
from ops.measured.own.fit import fit_own
from sim.errors import InputError
from sim.faults.edits import edited
from sim.machines import build
from sim.topology.networks import networked
from tests.ops.measured.test_validate import asked
from tests.tables import each_row

DATA = Path(__file__).parents[2] / "data" / "nccl-tests"
ASKED = ("expected", "dgx_h100", "--hosts", "2", "--collective", "allreduce", "--sizes", "1KiB,64MiB")
CLUSTERS = {"201*": "allgather", "202*": "allreduce", "203*": "allreduce"}
"""Public tables of 2 hosts and more of one cluster, and the collective that is looked at."""


def test_python_and_the_terminal_say_the_same(capsys):
    rows = expected("dgx_h100:hosts=2", "allreduce", ["1KiB", 64 << 20])
    status, found = asked(capsys, *ASKED)
    assert status == 0
    assert [row["time"] for row in found["rows"]] == [row.time for row in rows]
    assert [row.size for row in rows] == [1 << 10, 64 << 20]
    for row in rows:
        assert isinstance(row, ExpectedRow)
        assert (row.ranks, row.hosts) == (16, 2)
        assert row.busbw == pytest.approx(row.size / row.time * 2 * 15 / 16)
        assert row.bound < row.time
        assert " -> " in row.link
        assert row.least_busbw == pytest.approx(row.busbw / (1 + row.band))


def printed(capsys, *argv):
    assert main([*argv]) == 0
    return capsys.readouterr().out


def test_the_table_names_band_bound_and_link(capsys):
    text = printed(capsys, *ASKED)
    assert {"collective", "busbw", "within", "bound", "limiting"} <= set(text.split("\n")[0].split())
    assert "%" in text
    assert " -> " in text


def test_csv_and_nccl_tests_are_read_back(capsys):
    rows = expected("dgx_h100:hosts=2", "allreduce", ["1KiB", "64MiB"])
    table = list(csv.DictReader(io.StringIO(printed(capsys, *ASKED, "--format", "csv"))))
    assert [float(row["time"]) for row in table] == [row.time for row in rows]
    (again,) = read_tables(printed(capsys, *ASKED, "--format", "nccl-tests"), "it.txt")
    assert again.ranks == 16
    assert [row.seconds for row in again.rows] == pytest.approx([row.time for row in rows], abs=1e-8)


def test_rules_have_the_labels_of_nccl_inspector(capsys):
    rows = expected("dgx_h100:hosts=2", "allreduce", ["1KiB", "64MiB"])
    rules = yaml.safe_load(printed(capsys, *ASKED, "--format", "prometheus"))["groups"][0]["rules"]
    assert len(rules) == 2
    for rule, row, size in zip(rules, rows, ("1-2KB", "67-68MB"), strict=True):
        labels = f'collective="AllReduce",nranks="16",n_nodes="2",message_size="{size}"'
        expr, limit = rule["expr"].split(" < ")
        assert expr == f"nccl_bus_bandwidth_gbs{{{labels}}}"
        assert float(limit) == pytest.approx(row.least_busbw / 1e9, rel=1e-4)


def test_more_hosts_are_asked_for_by_number():
    assert with_hosts("aws_p5:hosts=2", 8) == "aws_p5:hosts=8"
    with pytest.raises(InputError, match="switch has no number of hosts"):
        with_hosts("switch", 2)


@each_row(
    "line",
    (
        "expected dgx_h10",
        "expected dgx_h100 --collective allreduct",
        "expected dgx_h100 --sizes 0",
        "expected dgx_h100 --hosts 0 --calibration nowhere.json",
        "expected switch --hosts 4",
        "expected dgx_h100 --gate nowhere.txt",
        "expected dgx_h100 --format xml",
        "expected switch:ranks=16 --gate " + str(next(DATA.glob("019*"))),
    ),
)
def test_bad_input_is_one_sentence(line, capsys):
    assert main(line.split()) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_band_widens_with_hosts_and_ends_where_no_measurement_stands_behind_it():
    machine, release = build("dgx_h100:hosts=2"), {"release": "2.30"}
    bands = [band_at(build(f"dgx_h100:hosts={hosts}"), 1 << 30) for hosts in (2, 16, 32)]
    assert bands[0] < bands[1] < bands[2]
    assert band_of(machine, release, 1 << 30) == bands[0]
    assert band_of(networked(machine, "ethernet_25g"), release, 1 << 30) is None
    assert band_of(edited(machine, ["set_class:times=0.5"]), release, 1 << 30) is None
    assert band_of(machine, release, 1 << 30, ["straggler:rank=3,late=1ms"]) is None
    assert band_of(machine, {**release, "variables": "p2p_disable"}, 1 << 30) is None
    assert band_of(machine, {}, 1 << 30) is None
    assert band_at(machine, 1 << 40) is None


def test_numbers_of_ones_own_narrow_the_band_of_a_network_that_one_table_is_of():
    machine = build("gcp_a3_ultra:hosts=2")
    own = calibrated(machine, "hop_20us,share_0.85,hosts_2")
    assert band_at(own, 1 << 10) < 0.5 * band_at(machine, 1 << 10)
    assert band_at(calibrated(machine, "link_share_0.9,hosts_1"), 1 << 10) == band_at(machine, 1 << 10)


def by_hosts(pattern, collective):
    """Tables of one cluster by their hosts, with their machines."""
    placed = [place(table)[:2] for table in read_file(next(DATA.glob(pattern)))]
    chosen = [(machine, table) for machine, table in placed if table.rows[0].collective == collective]
    return {table.ranks // 8: (machine, table) for machine, table in chosen}


@each_row("pattern", CLUSTERS, over=["pattern"])
def test_two_numbers_of_2_hosts_bring_4_and_8_nearer(pattern):
    hosts = by_hosts(pattern, CLUSTERS[pattern])
    numbers = str(fit_own([hosts.pop(2)]).numbers)
    assert max(hosts) >= 4
    for machine, table in hosts.values():
        few = replace(table, rows=table.rows[::3])
        usual, own = (verdict(compare_table(on, few)[0]).large for on in (machine, calibrated(machine, numbers)))
        assert own < usual


def test_answers_as_json_have_no_more_than_they_say(capsys):
    _, found = asked(capsys, "expected", "switch:ranks=8", "--collective", "allreduce", "--sizes", "1MiB")
    assert found["rows"][0]["band"] is None
    assert json.dumps(found)
