"""Every kind of fault against times worked out by hand, and several at once."""

import math
import re
from typing import Annotated, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops import ALGORITHMS
from sim.engine import Cluster, simulate
from sim.errors import InputError, StalledError, UnreachableError
from sim.faults import Endpoint, LinkEnd, LinkStart, Perturbation, RankNumber
from sim.faults.kinds import FAULTS, Offer, fault, faults
from sim.machines import build
from sim.parameters import Bounds
from sim.registry import AdditionError
from sim.topology import Device, Link, Topology, both_ways
from sim.trace import from_json
from sim.units import Time
from tests.tables import each_row

G = 1e9
SWITCH = build("switch:ranks=4,bandwidth=1GBps,latency=1us")
ALPHA = 2e-6
RING, SEND = ALGORITHMS["allreduce.ring"], ALGORITHMS["sendrecv.direct"]
BROADCAST = ALGORITHMS["broadcast.linear"].schedule(2)


def run(*specs, machine=SWITCH, schedule=None, size=4e6, **options):
    schedule = schedule or RING.schedule(machine.n)
    return simulate(machine, schedule, size, perturbations=faults(specs, machine), **options)


def plain(size=4e6, beta=1 / G):
    """A ring of four, undisturbed."""
    return 6 * (ALPHA + size / 4 * beta)


def test_a_rank_that_comes_late_holds_its_neighbours_up_and_is_named():
    trace = run("straggler:rank=2,late=10ms", lockstep=True)
    # the first step ends when rank 2's messages have gone and come, the other five follow
    assert trace.time == pytest.approx(10e-3 + plain(), rel=1e-12)
    assert trace.faults == ("straggler:rank=2,late=10ms",)
    first = [(trace.schedule.src[i], trace.schedule.dst[i]) for i in trace.hits.transfer]
    assert sorted(first) == [(1, 2), (2, 3)]
    assert trace.hits.seconds == pytest.approx(10e-3)


def test_a_rank_that_comes_late_to_what_has_not_begun_is_no_fault():
    two = build("switch:ranks=3,bandwidth=1GBps,latency=1us")
    late_root, late_leaf = (
        run(f"straggler:rank={r},late=1ms", machine=two, schedule=ALGORITHMS["broadcast.chain"].schedule(3, segments=1))
        for r in (0, 2)
    )
    assert late_root.time == pytest.approx(1e-3 + 2 * (ALPHA + 4e6 / G))
    assert late_leaf.time == pytest.approx(2 * (ALPHA + 4e6 / G))  # it is there when the data comes
    assert not len(late_leaf.hits.transfer)


def test_a_slower_rank_has_slower_links():
    assert run("straggler:rank=1,slower=4", lockstep=True).time == pytest.approx(plain(beta=4 / G), rel=1e-12)


def test_constant_jitter_is_added_to_every_message():
    trace = run("jitter:mean=5us,distribution=constant")
    assert trace.time == pytest.approx(plain() + 6 * 5e-6, rel=1e-12)
    assert sorted(trace.hits.transfer) == list(range(24))
    assert trace.hits.seconds == pytest.approx(5e-6)


@pytest.mark.parametrize("distribution", ["exponential", "uniform", "normal"])
def test_random_jitter_has_its_mean_and_its_seed(distribution):
    specs = [f"jitter:mean=3us,distribution={distribution},seed={seed}" for seed in (1, 1, 2)]
    machine = build("switch:ranks=64")
    first, again, other = (run(spec, machine=machine, schedule=RING.schedule(64), size=64e6) for spec in specs)
    assert first.time == again.time != other.time
    assert first.hits.seconds.mean() == pytest.approx(3e-6, rel=0.05)
    assert (first.hits.seconds >= 0).all()
    waits = (first.start - first.left)[first.hits.transfer]
    assert waits == pytest.approx(first.hits.seconds + ALPHA, rel=1e-9)


def test_a_link_slow_for_a_while_loses_what_it_could_not_carry():
    trace = run("slow_link:src=GPU0,dst=SW,share=0.25,start=1ms,end=3ms", schedule=BROADCAST)
    # 2 ms at a quarter: 1.5 ms of work are made up for afterwards
    assert trace.time == pytest.approx(ALPHA + 4e-3 + 1.5e-3, rel=1e-12)
    assert trace.hits.transfer.tolist() == [0]
    assert trace.hits.seconds == pytest.approx([2e-3])
    whole = run("slow_link:src=GPU0,dst=SW,share=0.25", schedule=BROADCAST)
    assert whole.time == pytest.approx(ALPHA + 16e-3, rel=1e-12)


def test_only_the_direction_that_is_asked_for_is_slow():
    one = run("slow_link:src=SW,dst=GPU0,both=no,share=0.5", schedule=BROADCAST)
    assert one.time == pytest.approx(ALPHA + 4e-3, rel=1e-12)
    assert run("slow_link:src=SW,dst=GPU0,share=0.5", schedule=BROADCAST).time == pytest.approx(ALPHA + 8e-3)


def test_shares_of_several_faults_multiply():
    both = run(*["slow_link:src=GPU0,dst=SW,share=0.5"] * 2, schedule=BROADCAST)
    assert both.time == pytest.approx(ALPHA + 16e-3, rel=1e-12)
    assert set(both.hits.fault) == {0, 1}


def test_a_link_dead_for_a_while_delays_by_that_long():
    trace = run("dead_link:src=GPU0,dst=SW,start=1ms,end=8ms", schedule=BROADCAST)
    assert trace.time == pytest.approx(ALPHA + 4e-3 + 7e-3, rel=1e-12)


def test_a_link_dead_for_good_stalls_and_says_what_and_where():
    with pytest.raises(StalledError, match=r"rank 0 -> rank 1 cannot move; dead links: GPU0 -> SW"):
        run("dead_link:src=GPU0,dst=SW,start=1ms", schedule=BROADCAST)


def test_a_dead_link_stalls_beside_background_traffic_too():
    with pytest.raises(StalledError, match="dead links: GPU0 -> SW"):
        run("dead_link:src=GPU0,dst=SW,start=1ms", "background:src=GPU2,dst=GPU3,size=1KiB", schedule=BROADCAST)


def roundabout():
    """Two GPUs, a cable of 1 GB/s between them and a way round through a switch of half that."""
    devices = Device("GPU0", "GPU"), Device("GPU1", "GPU"), Device("SW", "PCI")
    links = both_ways("GPU0", "GPU1", 1 * G, 1e-6, "NVL")
    links += both_ways("GPU0", "SW", 0.5 * G, 1e-6, "PCI") + both_ways("SW", "GPU1", 0.5 * G, 1e-6, "PCI")
    return Topology("roundabout", devices, links)


def test_what_is_under_way_takes_the_rest_another_way():
    trace = run("dead_link:src=GPU0,dst=GPU1,start=1.001ms,reroute=yes", machine=roundabout(), schedule=BROADCAST)
    # 1 MB has come in the first ms after the latency, 3 MB go at half the speed
    assert trace.time == pytest.approx(1e-6 + 1e-3 + 6e-3, rel=1e-12)
    assert [trace.topology.links[i].dst for i in trace.route_of(0)] == ["SW", "GPU1"]


def test_what_begins_later_goes_another_way_from_the_start():
    chain = ALGORITHMS["broadcast.linear"].schedule(2)
    trace = run("dead_link:src=GPU0,dst=GPU1,reroute=yes", machine=roundabout(), schedule=chain)
    assert trace.time == pytest.approx(2e-6 + 8e-3, rel=1e-12)
    back = run("dead_link:src=GPU0,dst=GPU1,start=1us,end=2.001ms,reroute=yes", machine=roundabout(), schedule=chain)
    # nothing at first, 1 MB round the corner in 2 ms, then the cable again
    assert back.time == pytest.approx(2.001e-3 + 3e-3, rel=1e-9)


def test_no_other_way_is_told():
    with pytest.raises(UnreachableError, match="nothing leads from GPU0"):
        run("dead_link:src=GPU0,dst=SW,reroute=yes", schedule=BROADCAST)


def test_a_lost_nic_takes_its_links_along_and_others_take_over():
    machine = build("nodes:nodes=2,gpus=2,nics=2,nvlink=100GBps,nic=1GBps")
    swap = ALGORITHMS["alltoall.linear"].schedule(4)
    healthy = run(machine=machine, schedule=swap, size=16e6)
    with pytest.raises(StalledError, match=r"H0\.NIC0"):
        run("lost_nic:nic=H0.NIC0", machine=machine, schedule=swap, size=16e6)
    lost = run("lost_nic:nic=H0.NIC0,reroute=yes", machine=machine, schedule=swap, size=16e6)
    # every rank sends two blocks of 4 MB to the other node: 8 MB per NIC, or 16 MB through the one that is left
    assert healthy.time == pytest.approx(5e-6 + 8e-3, rel=1e-9)
    assert lost.time == pytest.approx(5e-6 + 16e-3, rel=1e-3)


def test_half_duplex_lets_two_directions_share_one_bandwidth():
    pair = build("mesh:ranks=2,bandwidth=1GBps,latency=1us")
    swap = ALGORITHMS["alltoall.pairwise"].schedule(2)
    assert run(machine=pair, schedule=swap, size=2e6).time == pytest.approx(1e-6 + 1e-3, rel=1e-12)
    shared = run("half_duplex:src=GPU0,dst=GPU1", machine=pair, schedule=swap, size=2e6)
    assert shared.time == pytest.approx(1e-6 + 2e-3, rel=1e-12)
    assert len(shared.topology.links) == 1


def test_half_duplex_leaves_the_other_links_where_they_are():
    halved = run("half_duplex:src=GPU1,dst=SW", schedule=ALGORITHMS["alltoall.linear"].schedule(4))
    # rank 1 sends and receives three blocks of 1 MB over what is now one link
    assert halved.time == pytest.approx(ALPHA + 6e-3, rel=1e-12)
    assert len(halved.topology.links) == 7


def test_background_traffic_takes_its_fair_share():
    shared = run("background:src=GPU0,dst=GPU2,size=100MB", schedule=BROADCAST)
    assert shared.time == pytest.approx(ALPHA + 8e-3, rel=1e-9)
    three = run("background:src=GPU0,dst=GPU2,size=100MB,streams=3", schedule=BROADCAST)
    assert three.time == pytest.approx(ALPHA + 16e-3, rel=1e-9)
    assert shared.hits.transfer.tolist() == [0]
    elsewhere = run("background:src=GPU2,dst=GPU3,size=100MB", schedule=BROADCAST)
    assert elsewhere.time == pytest.approx(ALPHA + 4e-3, rel=1e-12)
    assert not len(elsewhere.hits.transfer)


def test_background_traffic_ends_when_it_is_told_to():
    trace = run("background:src=GPU0,dst=GPU2,size=1MB,end=1ms", schedule=BROADCAST)
    # one message of 1 MB, sharing: 2 ms for it, then alone
    assert trace.time == pytest.approx(ALPHA + 4e-3 + 1e-3, rel=1e-9)


def test_faults_of_all_kinds_at_once_keep_the_result_right():
    machine = build("nodes:nodes=2,gpus=4,nics=2")
    specs = (
        "straggler:rank=1,late=100us,slower=2",
        "jitter:mean=1us,seed=3",
        "slow_link:src=H0.NIC0,dst=SPINE,share=0.3,start=50us,end=1ms",
        "lost_nic:nic=H1.NIC1,start=200us,reroute=yes",
        "half_duplex:src=H1.GPU0,dst=H1.SW",
        "background:src=H0.GPU3,dst=H1.GPU3,size=64KiB",
    )
    trace = run(*specs, machine=machine, schedule=RING.schedule(8), size=8e6, history=True)
    assert trace.verdict.verdict == "ok"
    assert trace.time > run(machine=machine, schedule=RING.schedule(8), size=8e6).time
    assert set(trace.hits.fault) >= {0, 1, 2}
    again = from_json(trace.to_json())
    assert again.faults == trace.faults == specs
    assert all((a == b).all() for a, b in zip(again.hits, trace.hits, strict=True))


@given(
    st.sampled_from(["allreduce.ring", "alltoall.linear", "broadcast.binomial", "allgather.recursive_doubling"]),
    st.lists(
        st.one_of(
            st.tuples(st.just("straggler"), st.integers(0, 3), st.integers(0, 900)).map(
                lambda x: f"straggler:rank={x[1]},late={x[2]}us"
            ),
            st.tuples(st.integers(0, 3), st.integers(1, 99), st.integers(0, 900)).map(
                lambda x: f"slow_link:src=GPU{x[0]},dst=SW,share={x[1] / 100},start={x[2]}us"
            ),
            st.tuples(st.integers(0, 3), st.integers(0, 500), st.integers(1, 900)).map(
                lambda x: f"dead_link:src=GPU{x[0]},dst=SW,start={x[1]}us,end={x[1] + x[2]}us"
            ),
            st.integers(0, 99).map(lambda seed: f"jitter:mean=2us,seed={seed}"),
        ),
        max_size=4,
    ),
)
def test_fault_never_makes_a_run_wrong_and_bytes_are_bytes(name, specs):
    schedule = ALGORITHMS[name].schedule(4)
    trace = run(*specs, schedule=schedule, history=True)
    assert trace.verdict.verdict == "ok"
    assert np.isfinite(trace.end).all()
    for i in range(schedule.transfers):
        times, rates = trace.rates(i)
        if len(times):
            until = np.append(times[1:], trace.arrived[i])
            assert ((until - times) * rates).sum() == pytest.approx(trace.bytes[i], rel=1e-6)


@each_row(
    "spec, says",
    [
        ("stragler:rank=1", "no fault is called 'stragler': choose from"),
        ("straggler:late=1ms", "straggler needs rank: write straggler:rank="),
        ("straggler:rank=9", "ranks 0..3, not 9"),
        ("straggler:rank=1,slower=0.5", "slower=0.5 is not between 1"),
        ("straggler:rank=1,slower=nan", "not a finite number"),
        ("jitter:mean=-1us", "negative"),
        ("jitter:distribution=cauchy", "choose from exponential"),
        ("slow_link:src=GPU0,dst=SW,share=0", "not between 0 and 1"),
        ("slow_link:src=GPU0,dst=GPU1", "no link GPU0 -> GPU1"),
        ("slow_link:src=GPU0,dst=SV", "no device called 'SV'"),
        ("dead_link:src=GPU0,dst=SW,start=2ms,end=1ms", "ends at 0.001 s, not after its start"),
        ("lost_nic:nic=NIC7", "has no NIC: choose another fault"),
        ("background:src=GPU1,dst=GPU1", "crosses no link"),
        ("half_duplex:src=GPU1", "half_duplex needs dst"),
    ],
)
def test_impossible_faults_are_refused(spec, says):
    with pytest.raises(InputError, match=says):
        faults([spec], SWITCH)


def test_too_many_are_refused():
    with pytest.raises(InputError, match="65 faults at once"):
        faults(["jitter"] * 65, SWITCH)


FIRST = (SWITCH, build("nodes:nodes=2,gpus=4,nics=2"), build("dgx1v"))


@pytest.mark.parametrize("kind", FAULTS)
def test_every_kind_is_worth_a_first_look_and_lets_the_run_end(kind):
    known = FAULTS[kind]
    assert known.parameters
    looked = 0
    for machine in FIRST:
        kinds = {device.kind for device in machine.devices}
        points = [p.points_at for p in known.parameters.values() if p.points_at]
        if not all(kinds & {*point.kinds} for point in points if point.what == "device"):
            continue
        trace = run(known.first_look(machine), machine=machine, history=True)
        assert trace.verdict.verdict == "ok"
        again = from_json(trace.to_json())
        assert (again.time, again.faults) == (trace.time, (known.first_look(machine),))
        looked += 1
    assert looked


def test_what_the_machine_has_not_is_refused_by_name():
    with pytest.raises(InputError, match=re.escape("has no NIC: choose another fault")):
        faults([FAULTS["lost_nic"].first_look(SWITCH)], SWITCH)


def test_what_a_click_asks_follows_from_the_parameters():
    with FAULTS.also():

        @fault(offers=[Offer("busy", "src={src},dst={dst},load=0.5"), Offer("sick", "src=GPU0,load=1")])
        def crowded(topology, *, src: Endpoint, dst: Endpoint, load: float = 0.0):
            """Traffic."""
            return Perturbation()

        @fault(offers=[Offer("all", "share={times}")])
        def dim(topology, *, share: float, where: str = "", kind: Literal["a", "b"] = "a"):
            """All of it."""
            return Perturbation()

        @fault
        def plain_values(
            topology, *, n: int, f: float, b: bool, w: Literal["x", "y"], k: Annotated[int, Bounds(3, 9)], t: Time
        ):
            """Nothing that a machine has."""
            return Perturbation()

        busy, sick = FAULTS["crowded"].offers
        assert FAULTS["crowded"].spec(busy) == "crowded:src={src},dst={dst},load=0.5"
        assert FAULTS["crowded"].targets(busy) == ("link",)
        assert FAULTS["crowded"].spec(sick) == "crowded:dst={device},src=GPU0,load=1"
        assert FAULTS["crowded"].targets(sick) == ("GPU", "NIC", "CPU")
        assert FAULTS["dim"].targets(FAULTS["dim"].offers[0]) == ("machine",)
        assert FAULTS["plain_values"].first_look(SWITCH) == "plain_values:n=1,f=1,b=no,w=x,k=3,t=1us"
        assert len(faults(["plain_values:n=1,f=1,b=no,w=x,k=3,t=1us", "dim:share=1"], SWITCH)) == 2
    links = FAULTS["dead_link"]
    assert links.spec(links.offers[0]) == "dead_link:src={src},dst={dst},start={now},reroute=yes"
    assert FAULTS["lost_nic"].targets(FAULTS["lost_nic"].offers[0]) == ("NIC",)


@pytest.mark.parametrize(
    ("first", "arguments", "says"),
    [
        ("speed=2", "", "fault odd: odd has no parameter 'speed': it takes src, dst, rank, share"),
        ("share=much", "", "fault odd: odd: share='much' is not a finite number"),
        ("share", "", "fault odd: odd: 'share' is not key=value"),
        ("", "share=1", "applies to a link and to a device at once: name one of them in its arguments"),
        ("", "rank=0,share={left}", "{left} has no value here: choose from src, dst, rank, device, kind, now"),
        ("", "rank=0", "fault odd: odd needs share"),
        ("", "rank=0,share=1,more=1", "odd has no parameter 'more'"),
    ],
)
def test_what_could_not_be_looked_at_or_asked_is_not_listed(first, arguments, says):
    offers = [Offer("ask", arguments)] if arguments else []
    with FAULTS.also(), pytest.raises(AdditionError, match=re.escape(says)):

        @fault(first=first, offers=offers)
        def odd(topology, *, src: LinkStart, dst: LinkEnd, rank: RankNumber, share: float):
            """Neither here nor there."""


def test_a_world_with_several_groups_knows_the_late_device_in_each():
    cluster = Cluster(SWITCH, perturbations=faults(["straggler:rank=3,late=1ms"], SWITCH))
    pair = ALGORITHMS["broadcast.linear"].schedule(2)
    without, with_it = cluster.start(pair, 1e3, group=[0, 1]), cluster.start(pair, 1e3, group=[2, 3])
    assert cluster.run(without).ended < 1e-4
    assert cluster.run(with_it).ended == pytest.approx(1e-3 + ALPHA + 1e3 / G)
    assert math.isclose(cluster.env.now, cluster.jobs[1].event.value.ended)


def test_links_both_directions_share_stay_so():
    medium = Topology(
        "medium", (Device("GPU0", "GPU"), Device("GPU1", "GPU")), (Link("GPU0", "GPU1", G, 0.0, both=True),)
    )
    assert run("slow_link:src=GPU0,dst=GPU1,share=0.5", machine=medium, schedule=BROADCAST).time == pytest.approx(8e-3)


def test_spells_of_one_fault_count_a_transfer_once():
    def often(controls):
        for turn in range(20):
            yield from controls.wait_until(turn * 5e-6)
            controls.mark([0], turn * 5e-6, turn * 5e-6 + 5e-6)

    trace = simulate(SWITCH, RING.schedule(4), 1 << 18, perturbations=[Perturbation(process=often)])
    over = [i for i in range(trace.schedule.transfers) if 0 in trace.route_of(i) and trace.start[i] < 100e-6]
    assert trace.hits.transfer.tolist() == over
    spans = np.minimum(trace.end[over], 100e-6) - trace.start[over]
    assert trace.hits.seconds == pytest.approx(spans)
