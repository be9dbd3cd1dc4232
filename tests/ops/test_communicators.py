"""Ranks that meet: whose call meets whose, who is missing, and that one file is a library."""

import pytest

from ops.communicators.rendezvous import Communicator, Meeting
from ops.communicators.selection import Selection
from ops.libraries import LIBRARIES, CollectiveCall, Decision, Library, Members
from sim.engine import Cluster
from sim.errors import InputError
from sim.machines import build

MACHINE = build("nodes:nodes=2,gpus=4")


class Noted(Meeting):
    """A meeting that keeps what everyone brought, once all have come."""

    def __init__(self, ranks):
        super().__init__(ranks)
        self.result = None

    def begin(self):
        assert self.result is None
        self.result = self.everything()


def test_calls_of_one_kind_meet_in_their_order():
    group = Communicator(MACHINE, (5, 1, 3))

    def come(rank, part, kind=None):
        return group.come(rank, part, lambda: Noted(group.ranks), kind)

    first = come(3, "a")
    second = come(3, "b")
    other = come(3, "c", "gradients")
    assert len({id(first), id(second), id(other)}) == 3
    assert come(5, "d") is first
    assert first.missing() == [1]
    assert not first.complete
    assert come(1, "e", "gradients") is other
    assert come(1, "f") is first
    assert first.result == ["d", "f", "a"]
    assert first.missing() == []
    assert second.result is None
    assert other.missing() == [5]


def test_members_know_their_hosts_and_are_a_machine_of_their_own():
    pairs = Members(MACHINE, [MACHINE.ranks[r] for r in (0, 1, 4, 5)])
    assert (pairs.hosts, pairs.per_host) == ([0, 0, 1, 1], 2)
    assert pairs.machine.n == 4
    assert Members(MACHINE, MACHINE.ranks).machine is MACHINE
    assert Members(MACHINE, [MACHINE.ranks[r] for r in (0, 4, 1, 5)]).per_host == 1


def test_a_function_is_a_library():
    def lam(call):
        """Whatever is asked for goes round a ring."""
        return Decision(f"{call.collective}.ring")

    before = set(LIBRARIES)
    with LIBRARIES.also({"lam": Library("lam", lam)}):
        assert set(LIBRARIES) == before | {"lam"}
        assert before >= {"gloo", "mpich", "nccl", "openmpi"}
        call = CollectiveCall("allgather", Members(MACHINE, MACHINE.ranks), 1024, 256)
        assert Selection("lam").choose(call).algorithm == "allgather.ring"
        assert LIBRARIES["lam"].summary == "Whatever is asked for goes round a ring."
        assert all(entry.summary for entry in LIBRARIES.values())
        with pytest.raises(InputError, match=r"choose from gloo, lam, mpich, nccl, openmpi"):
            Selection("lan")


def test_a_lock_is_given_in_the_order_it_was_asked_for():
    cluster = Cluster(MACHINE)
    lock, order = cluster.lock(), []

    def user(number, seconds):
        with lock.request() as turn:
            yield turn
            yield cluster.env.timeout(seconds)
            order.append((number, cluster.env.now))

    users = [cluster.env.process(user(k, 3.0 - k)) for k in range(3)]
    cluster.run(cluster.env.all_of(users))
    assert order == [(0, 3.0), (1, 5.0), (2, 6.0)]
