"""The report of a capture: the numbers of the commands beside it, in the terminal and in a page without a network."""

import io
import json
from contextlib import redirect_stdout
from html import unescape

import pytest

import cli
from ops.plan import Plan
from ops.report import report_of, with_hosts_and_nics
from sim.units import fmt_bandwidth, fmt_time
from terminal import BAD_INPUT, DONE
from tests.tables import each_row

FOLDER = "tests/data/nvidia-smi-topo"
CAPTURES = (
    f"{FOLDER}/007-dgx1v-cube-mesh-4nic-tabs.txt",
    f"{FOLDER}/018-8gpu-a100-pcie-nv12-pairs.txt",
    "tests/data/nccl-topo-xml/001-azure-ndv2-v100-8x.xml",
)


def terminal(*words):
    """What a command prints as JSON."""
    output = io.StringIO()
    with redirect_stdout(output):
        assert cli.main([*words, "--json"]) == DONE
    return json.loads(output.getvalue())


@pytest.fixture(scope="module", params=CAPTURES)
def written(request, tmp_path_factory):
    """A capture, its report as JSON, and its page."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    return request.param, terminal("report", request.param, "-o", str(path)), path


def test_a_report_has_what_three_commands_say(written):
    capture, report, _ = written
    for own, command in (("topology", "topology"), ("diagnosis", "diagnose")):
        assert report[own] == terminal(command, capture)
    assert report["expected"] == terminal("expected", capture)["rows"]


def test_a_page_has_these_numbers(written):
    _, report, path = written
    page = unescape(path.read_text(encoding="utf-8"))
    judged, rows = report["diagnosis"], report["expected"]
    said = {fmt_time(judged[key]) for key in ("time_s", "ring_order_time_s")}
    said |= {fmt_time(cable[key]) for cable in judged["cables"] for key in ("slower_s", "faster_s")}
    said |= {fmt_bandwidth(gpu[key]) for gpu in judged["gpus"] for key in ("rate_Bps", "slowest_Bps", "pace_Bps")}
    said |= {fmt_time(row["time"]) for row in rows} | {fmt_bandwidth(row["busbw"]) for row in rows}
    said |= {fmt_bandwidth(row["least_busbw"]) for row in rows if row["least_busbw"]} | {row["link"] for row in rows}
    said |= {fmt_time(change["saves_s"]) for change in report["changes"]} | set(judged["assumed"])
    said |= {f"{report['topology']['gpus']} GPUs, {report['topology']['nics']} NICs"}
    assert {words for words in said if words not in page} == set()


def test_what_saves_most_is_what_the_run_saves(written):
    capture, report, _ = written
    assert report["changes"]
    for change in report["changes"]:
        edits = [change["edit"]] if change["edit"] else []
        edits = [report["diagnosis"]["ring_order_edit"], *edits] if change["after_order"] else edits
        algorithm = change["name"] if change["kind"] == "algorithm" else "allreduce.ring"
        words = [word for edit in edits for word in ("--edit", edit)]
        run = terminal("run", algorithm, "--topology", capture, "--size", "64MiB", *words)
        assert run["time_s"] == pytest.approx(change["after_s"], rel=1e-9)
        assert change["before_s"] - change["after_s"] == pytest.approx(change["saves_s"])


@each_row("hosts, nics", [(1, 2), (2, 4), (3, 8)], days=3)
def test_a_machine_has_the_hosts_and_nics_that_are_set(hosts, nics):
    plan = with_hosts_and_nics(Plan(machine="dgx_a100"), hosts, nics)
    report = report_of(plan)
    assert report.hosts == hosts
    assert report.topology["nics"] == hosts * nics
    assert report.topology["gpus"] == 8 * hosts


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((CAPTURES[0], "-o", "report.docx"), "print that page for a PDF"),
        ((f"{FOLDER}/001-2gpu-nv2.txt", "--hosts", "2"), "has no NIC to join 2 hosts by"),
        ((f"{FOLDER}/027-gb10-1gpu-4nic.txt",), "1 GPU"),
        (("--machine", "dgx_a100:hosts=2", "--nics", "2"), "has several hosts"),
    ],
)
def test_what_cannot_be_reported_is_one_sentence(words, said, capsys):
    assert cli.main(["report", *words]) == BAD_INPUT
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert said in lines[0]
