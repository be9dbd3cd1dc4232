"""How large a machine may be: the refusal names both numbers, and the flag it names lifts it."""

import pytest

import cli
from sim.base.size import SETTING, USUAL, allowing, max_devices
from sim.errors import InputError
from sim.formats import read_topology
from sim.machines import build
from tests.tables import each_row

TOO_LARGE = {
    "switch": "switch:ranks=32768",
    "ring": "ring:ranks=40000",
    "mesh": "mesh:ranks=1024",
    "nodes": "nodes:nodes=4096,gpus=8",
    "torus": "torus:dims=64x64x64",
    "fat_tree": "fat_tree:pods=256,leaves=256,gpus=256",
    "dragonfly": "dragonfly:groups=16,routers=256,gpus=16",
    "server": "dgx_h100:hosts=1024",
}


@each_row("spec", TOO_LARGE.values())
def test_a_machine_too_large_is_refused_with_both_numbers(spec):
    with pytest.raises(InputError, match=r"[\d,]+ (devices|links) are more than (32,768|262,144): choose fewer"):
        build(spec)


FILES = {
    "SimGrid": '<platform version="4.1"><cluster id="c" prefix="n" suffix="" radical="0-{}" speed="1Gf" bw="1Bps"'
    ' lat="0"/></platform>',
    "ASTRA-sim": "topology: [Switch]\nnpus_count: [{}]\nbandwidth: [1]\nlatency: [1]\n",
    "YAML": "ringside: 1\ndevices: [{{name: GPU, count: {}, kind: GPU}}]\nlinks: []\n",
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_a_file_of_a_machine_too_large_is_refused_before_anything_is_made(text):
    with pytest.raises(InputError, match=r"devices are more than 32,768: choose fewer, or allow them with --max"):
        read_topology(text.format(65535), "it")
    with pytest.raises(InputError, match=r"devices are more than 32,768: choose fewer$|from 1 to 4194304$"):
        read_topology(text.format(10**9), "it")


def test_the_flag_lifts_it_for_one_command(capsys):
    command = ["run", "allreduce.ring", "--machine", "switch:ranks=8", "--size", "1MiB"]
    assert cli.main([*command, "--max-devices", "8"]) == 2
    assert "9 devices are more than 8: choose fewer, or allow them with --max-devices 9" in capsys.readouterr().err
    assert cli.main([*command, "--max-devices", "9"]) == 0
    assert max_devices() == USUAL


@pytest.mark.parametrize("word", ["0", "-1", "many", "9" * 5000, "1e5", ""])
def test_what_is_no_maximum_is_refused_by_name(word, capsys, monkeypatch):
    assert cli.main(["list", "machines", "--max-devices", word]) == 2
    assert "--max-devices=" in capsys.readouterr().err
    if word:
        monkeypatch.setenv(SETTING, word)
        with pytest.raises(InputError, match=f"{SETTING}=.* is no number of devices from 1 to 4194304"):
            build("dgx1v")


def test_a_setting_holds_where_nothing_else_is_said(monkeypatch):
    monkeypatch.setenv(SETTING, "70000")
    assert max_devices() == 70_000
    with allowing(5):
        assert max_devices() == 5
    assert max_devices() == 70_000
