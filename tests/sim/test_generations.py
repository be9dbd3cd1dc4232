"""Which GPUs a machine has: what says it, and that what its links carry does not change it."""

import pytest

from ops import ALGORITHMS
from ops.libraries.nccl.choice import choose
from ops.libraries.nccl.layers import family_of
from ops.libraries.nccl.topology_search import generation_of, is_amd
from ops.run import execute
from ops.run.work import registered
from sim.errors import InputError
from sim.faults.edits import edited
from sim.formats import read_topology, write_topology
from sim.machines import MACHINES, build
from sim.topology.generations import can_reduce, of_sm
from sim.trace import from_json
from sim.units import MiB
from tests.tables import each_row

EIGHTEEN = "\n".join(["\tGPU0\tGPU1\tGPU2", "GPU0\tX\tNV18\tNV18", "GPU1\tNV18\tX\tNV18", "GPU2\tNV18\tNV18\tX", ""])


@each_row(
    "spec, generation",
    [
        ("dgx_h100:nvlink=20.5GBps", "Hopper"),
        ("dgx_h100:nvlink=40.1GBps,pcie=12GBps", "Hopper"),
        ("dgx_b200:nvlink=36GBps", "Blackwell"),
        ("gb200_nvl72:nvlink=36GBps,trays=2", "Blackwell"),
        ("dgx_a100:nvlink=20.6GBps", "Ampere"),
        ("dgx1v:pcie=48GBps", "Volta"),
        ("rtx_pro_6000:pcie=24GBps", "Blackwell"),
        ("l40s:pcie=48GBps", "Ampere"),
    ],
)
def test_rates_do_not_change_which_gpus_a_machine_has(spec, generation):
    machine, plain = build(spec), build(spec.split(":")[0])
    assert machine.generation == plain.generation
    assert generation_of(machine) == generation
    thinner = edited(machine, ["set_class:times=0.9"])
    assert generation_of(thinner) == generation
    assert not is_amd(thinner)


@pytest.mark.parametrize("spec", ["mi300x:xgmi=40GBps", "mi250x:xgmi=40GBps,pcie=12GBps"])
def test_rates_do_not_change_who_made_the_gpus(spec):
    assert is_amd(build(spec))
    assert generation_of(build(spec)) == "Ampere"


@pytest.mark.parametrize("spec", ["dgx_h100:nvlink=20.5GBps", "gb200_nvl72:nvlink=36GBps,trays=2"])
def test_a_machine_with_thinner_nvlinks_still_adds_in_its_switch(spec):
    thin, usual = (
        choose(build(each), "allreduce", 64 * MiB) for each in (spec, spec.partition("nvlink")[0] + "gamma=0ns")
    )
    assert thin.chosen.algorithm == usual.chosen.algorithm == "NVLS"
    assert thin.chosen.time == pytest.approx(usual.chosen.time, rel=0.5)


@each_row("name", [name for name in MACHINES if build(name).generation], days=3)
def test_formats_keep_the_generation(name):
    machine = edited(build(name), ["set_class:times=0.9"])
    assert read_topology(write_topology(machine, "ringside_yaml"), "again").generation == machine.generation
    try:
        text = write_topology(machine, "nccl_xml")
    except InputError:
        return
    assert read_topology(text, "again").generation == machine.generation


def test_a_trace_keeps_the_generation():
    machine = build("dgx_h100")
    trace = execute(machine, registered(ALGORITHMS["allreduce.nvls"], 8, topology=machine), MiB).trace
    assert from_json(trace.to_json()).topology.generation == "Hopper"


def test_yaml_says_the_generation_or_is_rejected_by_line():
    text = write_topology(build("dgx_h100"), "ringside_yaml")
    assert "generation: Hopper\n" in text
    assert read_topology(text.replace("generation: Hopper\n", ""), "old").generation == ""
    with pytest.raises(InputError, match=r"line 3: generation is 'Hoper': choose from Pascal, .*, Hopper"):
        read_topology(text.replace("generation: Hopper", "generation: Hoper"), "wrong")


@pytest.mark.parametrize(
    ("words", "given", "generation"),
    [
        ("8x H100", {"nvlink": "10GBps"}, "Hopper"),
        ("B200", {"nvlink": "20.6GBps"}, "Blackwell"),
        ("", {"gpu": "H800", "nvlink": "11GBps"}, "Hopper"),
        ("", {}, "Hopper"),
        ("", {"nvlink": "19GBps"}, "Hopper"),
        ("", {"nvlink": "36GBps"}, "Blackwell"),
    ],
)
def test_a_capture_has_the_gpus_that_it_names_whatever_its_links_carry(words, given, generation):
    machine = read_topology(f"{words}\n{EIGHTEEN}", "capture", **given)
    assert (machine.generation, generation_of(machine)) == (generation, generation)
    assert family_of(machine).layers[0].name == generation


def test_nccl_s_xml_says_the_generation_by_compute_capability():
    text = write_topology(build("dgx_h100"), "nccl_xml")
    assert 'sm="90"' in text
    one_older = text.replace('sm="90"', 'sm="80"', 1)
    assert read_topology(one_older, "mixed").generation == "Ampere"  # NCCL goes by the oldest
    assert read_topology(text.replace(' sm="90"', "", 1), "untold").generation == ""
    assert read_topology(text, "told", nvlink="18GBps").generation == "Hopper"


@pytest.mark.parametrize(("sm", "able"), [(60, False), (75, False), (80, False), (89, False), (90, True), (103, True)])
def test_switches_reduce_from_hopper_on(sm, able):
    assert can_reduce(of_sm(sm)) is able
