"""What losing a cable costs: one run for cables that are alike, whatever their devices are called."""

import json

import numpy as np
import pytest

import cli
from ops.lab import sensitivity as answers
from ops.lab.sensitivity import failures
from ops.plan import Plan
from sim.base import watch
from sim.errors import InputError
from terminal import DONE

SYMMETRIC = {
    "switch:ranks=6": ("allreduce.ring", "alltoall.pairwise", "allreduce.recursive_doubling"),
    "nodes:nodes=4,gpus=2": ("allreduce.ring", "allreduce.hierarchical_2d"),
    "nodes:nodes=3,gpus=4,nics=2": ("allreduce.hierarchical_2d", "alltoall.linear"),
    "torus:dims=4x4": ("allreduce.ring", "alltoall.linear", "allgather.ring"),
    "torus:dims=3x3": ("allreduce.ring", "alltoall.linear"),
    "ring:ranks=5": ("allgather.ring", "alltoall.linear"),
    "fat_tree:pods=2,leaves=2,gpus=2": ("allreduce.ring", "alltoall.linear"),
    "fat_tree:pods=3,leaves=2,gpus=2": ("alltoall.linear",),
    "mesh:ranks=4": ("alltoall.linear", "allgather.ring"),
}
ASKED = [(machine, algorithm) for machine, names in SYMMETRIC.items() for algorithm in names]

MACHINE = """\
ringside: 1
name: two switches
devices:
  - {name: "GPU0", kind: GPU}
  - {name: "GPU1", kind: GPU}
  - {name: "S", kind: NVS}
  - {name: "T", kind: NVS}
links:
  - {from: "GPU0", to: "S", bandwidth: 300GBps, latency: 0.5us}
  - {from: "GPU0", to: "T", bandwidth: 200GBps, latency: 0.5us}
  - {from: "GPU1", to: "S", bandwidth: 300GBps, latency: 0.5us}
  - {from: "GPU1", to: "T", bandwidth: 200GBps, latency: 0.5us}
"""


def times(plan: Plan) -> dict[tuple[str, str], float | None]:
    _, losses = failures(plan.prepare())
    return {ends: loss.time for loss in losses for ends in loss.cables}


@pytest.mark.parametrize(("machine", "algorithm"), ASKED)
def test_one_run_of_a_class_of_cables_is_the_run_without_each(machine, algorithm, monkeypatch):
    plan = Plan(algorithm, machine, size="1MiB")
    grouped = times(plan)
    monkeypatch.setattr(answers, "equivalent_links", lambda topology, folded: np.arange(len(topology.links)))
    alone = times(plan)
    assert grouped.keys() == alone.keys()
    for ends, time in alone.items():
        assert grouped[ends] == (None if time is None else pytest.approx(time, rel=1e-9)), ends


def test_cables_that_are_alike_take_one_run_and_are_all_told():
    ran = []
    plan = Plan("allreduce.hierarchical_2d", "nodes:nodes=16,gpus=8", size="1MiB")
    _, losses = failures(plan.prepare(), progress=lambda done, of: ran.append(of))
    assert ran == [3, 3, 3]
    assert [len(loss.cables) for loss in losses].count(128) == 1
    assert sum(len(loss.cables) for loss in losses) == 128 + 2 * 16
    assert {loss.name.partition(" x ")[0] for loss in losses} == {"128", "16"}


def test_a_run_with_faults_of_its_own_looks_at_every_cable():
    plan = Plan("allgather.ring", "ring:ranks=4", size="1MiB", fault="straggler:rank=1,late=1ms")
    _, losses = failures(plan.prepare())
    assert [len(loss.cables) for loss in losses] == [1] * 4


@pytest.mark.parametrize("name", ["GPU,0", "GPU;0", "GPU + 0", "GPU|0", "a=b", "A%2C0", "Wörk & Play", " GPU0 "])
def test_losing_a_cable_costs_the_same_whatever_its_devices_are_called(name, tmp_path, capsys):
    told = []
    for called in ("GPU0", name):
        text = MACHINE.replace("GPU0", called)
        (tmp_path / "machine.yaml").write_text(text)
        asked = ["failures", "allreduce.ring", "--topology", str(tmp_path / "machine.yaml"), "--size", "1MiB", "--json"]
        assert cli.main(asked) == DONE
        told.append(json.loads(capsys.readouterr().out)["losses"])
    plain, losses = told
    assert [(loss["time_s"], loss["reason"]) for loss in losses] == [(loss["time_s"], None) for loss in plain]
    assert {loss["src"] for loss in losses} == {name, "GPU1"}


def test_what_a_run_may_not_take_is_an_error_and_no_lost_cable():
    plan, runs = Plan("allgather.ring", "ring:ranks=4", size="1MiB").prepare(), []

    def announced(estimate: watch.Estimate) -> None:
        runs.append(estimate)
        if len(runs) == 2:
            raise InputError("it is too much")

    with watch.watched(watch.Watch(announce=announced)), pytest.raises(InputError, match="too much"):
        failures(plan)
