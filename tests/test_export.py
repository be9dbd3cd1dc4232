"""`export`: machines and schedules in other formats, read back by what reads them."""

import json
import re

import pytest

import cli
from ops import ALGORITHMS
from ops.formats import SCHEDULE_FORMATS, read_schedule
from sim.formats import FORMATS, read_topology
from sim.machines import build
from sim.parameters import parameters
from terminal import BAD_INPUT, DONE


@pytest.fixture
def said(capsys):
    """Runs a command and returns its status, what it prints and what it complains of."""

    def run(*argv):
        status = cli.main(["export", *argv])
        return status, *capsys.readouterr()

    return run


@pytest.mark.parametrize("word", ["yaml", "ringside_yaml", "ringside-yaml", "ringside"])
def test_a_machine_is_printed_and_reads_back(said, word):
    status, out, err = said("--machine", "nodes:nodes=2,gpus=2", "--to", word)
    assert (status, err) == (DONE, "")
    assert read_topology(out, "out").links == build("nodes:nodes=2,gpus=2").links


@pytest.mark.parametrize("name", [name for name, known in FORMATS.items() if known.write])
def test_every_format_of_machines_writes_a_file_that_it_reads(said, tmp_path, name):
    path = tmp_path / "box"
    status, out, _ = said("--machine", "dgx_a100", "--to", name, "-o", str(path), "--json")
    told = json.loads(out)
    assert status == DONE
    assert told == {"name": "dgx_a100", "format": name, "file": str(path), "bytes": path.stat().st_size}
    back = read_topology(path.read_text(), "box")
    assert (back.n, back.format) == (8, name)


def test_a_capture_goes_from_format_to_format(said, tmp_path):
    capture, box = tmp_path / "capture", tmp_path / "box.yml"
    capture.write_text("\tGPU0\tGPU1\nGPU0\tX\tPIX\nGPU1\tPIX\tX\n")
    assert said("--topology", str(capture), "--default", "pix=20GBps", "--to", "yaml", "-o", str(box))[0] == DONE
    status, out, _ = said("--topology", str(box), "--to", "simgrid")
    assert status == DONE
    assert 20e9 in {link.bandwidth for link in read_topology(out, "out").links}
    read = read_topology(box.read_text(), "box")
    assert read.pairs["GPU0"] == {"GPU1": "PIX"}
    assert any("assumed" in note for note in read.assumed)


@pytest.mark.parametrize("name", [name for name, known in SCHEDULE_FORMATS.items() if known.write and name != "matrix"])
def test_every_format_of_schedules_writes_what_it_reads(said, name):
    takes = parameters(SCHEDULE_FORMATS[name].write, skip=("schedule",))
    options = ["--option", "size=1MiB"] if "size" in takes else []
    status, out, err = said("allreduce.ring", "--ranks", "4", "--to", name, "--json", *options)
    assert (status, err) == (DONE, "")
    told = json.loads(out)
    assert (told["name"], told["format"], told["file"]) == ("allreduce.ring", name, None)
    assert read_schedule(told["text"], "out").n == 4


def test_the_machine_says_how_many_ranks_a_schedule_has(said):
    status, out, _ = said("alltoall.linear", "--machine", "switch:ranks=4", "--to", "msccl")
    assert status == DONE
    assert read_schedule(out, "out").n == ALGORITHMS["alltoall.linear"].schedule(4).n


@pytest.mark.parametrize(
    "argv, message",
    [
        (["--machine", "ring"], "Missing option '--to'"),
        (["--to", "yaml"], "a machine must be given once"),
        (["--machine", "ring", "--to", "foo"], "--to 'foo' is no format that is written: choose from .*ringside_yaml"),
        (["--machine", "ring", "--to", "nvidia_smi"], "--to 'nvidia_smi' is no format that is written"),
        (["--machine", "ring", "--to", "xml"], "--to 'xml' is several written formats"),
        (["--machine", "ring", "--to", "goal"], "goal holds schedules, not machines: name an algorithm"),
        (["--to", "goal"], "nothing to run is given"),
        (["allreduce.ring", "--ranks", "4", "--to", "yaml"], "ringside_yaml holds machines, not schedules"),
        (["--machine", "ring", "--ranks", "4", "--to", "yaml"], "--ranks, --root and --set are for schedules"),
        (["allreduce.ring", "--to", "msccl_xml"], "add --ranks 8"),
        (["--machine", "ring", "--to", "yaml", "--option", "size=1"], "ringside_yaml has no parameter 'size'"),
        (["--machine", "ring", "--to", "yaml", "-o", "/no/such/folder/x"], "/no/such/folder/x cannot be written"),
    ],
)
def test_what_cannot_be_exported_is_told_in_one_line(said, argv, message):
    status, out, err = said(*argv)
    assert (status, out, err.count("\n")) == (BAD_INPUT, "", 1)
    assert re.search(message, err), err
