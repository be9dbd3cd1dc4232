import assert from "node:assert/strict";
import { test } from "node:test";
import { asked, between, dragOf, dragsOn, isDragged, isMore, offersOn, quoted } from "../../assets/hands/offers.js";
import { run } from "./runs.js";

const OFFERS = [
  { on: ["link"], spec: "dead_link:src={src},dst={dst},reroute=yes,start={now}" },
  { on: ["link"], spec: "set_link:src={src},dst={dst},bandwidth={bandwidth}" },
  { on: ["rank"], spec: "straggler:rank={rank},late={time*0.25}" },
  { on: ["NIC"], spec: "lost_nic:nic={device},end={time}" },
  { on: ["machine"], spec: "jitter" },
];
const device = (index) => ({ kind: "device", index });
const [DEAD, SLOW, LATE, LOST, JITTER] = OFFERS;

test("what is offered follows from what was chosen, and what is dragged stands first", async () => {
  const { timeline } = await run("contention");
  const { devices } = timeline;
  const on = (focus) => offersOn(OFFERS, timeline, focus);
  assert.deepEqual(on({ kind: "link", index: 0 }), [SLOW, DEAD, JITTER]);
  assert.deepEqual(on(device(devices.rank.indexOf(3))), [LATE, JITTER]);
  assert.deepEqual(on(device(devices.kind.indexOf("NIC"))), [LOST, JITTER]);
  assert.deepEqual(on({ kind: "place", rank: 1, index: 0 }), [JITTER]);
  assert.deepEqual(OFFERS.map(isDragged), [false, true, false, false, false]);
  assert.deepEqual([SLOW, { spec: "size:bytes={bytes}" }].map(isMore), [false, true]);
});

test("a question names the place, the instant and what was dragged", async () => {
  const { timeline } = await run("contention");
  const { devices, links, time } = timeline;
  const link = { kind: "link", index: 2 };
  const ends = `src=${devices.name[links.src[2]]},dst=${devices.name[links.dst[2]]}`;
  assert.equal(asked(DEAD, timeline, link, 1.23456789e-3), `dead_link:${ends},reroute=yes,start=1234.57us`);
  assert.equal(asked(SLOW, timeline, link, 0, { bandwidth: "8GBps" }), `set_link:${ends},bandwidth=8GBps`);
  assert.equal(asked(DEAD, timeline, link, time), `dead_link:${ends},reroute=yes`, "what is over has no instant");
  const rank = device(devices.rank.indexOf(3));
  const quarter = Number((time * 0.25e6).toPrecision(2));
  assert.equal(asked(LATE, timeline, rank, 1e-3), `straggler:rank=3,late=${quarter}us`);
  const nic = devices.kind.indexOf("NIC");
  const whole = Number((time * 1e6).toPrecision(2));
  assert.equal(asked(LOST, timeline, device(nic), 0), `lost_nic:nic=${devices.name[nic]},end=${whole}us`);
  assert.equal(asked(JITTER, timeline, link, 0), "jitter");
});

test("a link is dragged from what it has, by what the old run's has", async () => {
  const { timeline } = await run("ring");
  const bandwidth = timeline.links.bandwidth.slice();
  const about = { timeline: { ...timeline, links: { ...timeline.links, bandwidth } }, old: timeline };
  const drag = () => dragOf(SLOW, { ...about, focus: { kind: "link", index: 0 } });
  assert.deepEqual([drag().least, drag().start, drag().most], [-20, 0, 10]);
  bandwidth[0] /= 2;
  assert.deepEqual([drag().start, drag().usual], [-10, 0]);
  assert.deepEqual([drag().word(-10), drag().shown(0)], ["12.5GBps", "25 GB/s"]);
  bandwidth[0] /= 100;
  assert.equal(drag().start, -20);
});

test("a rank is dragged on from where its fault has it", async () => {
  const { timeline } = await run("ring");
  const faults = ["straggler:rank=3,late=1000us", "straggler:rank=3,slower=2"];
  const about = { timeline: { ...timeline, faults }, old: timeline, focus: device(timeline.devices.rank.indexOf(3)) };
  const start = (key) => dragOf({ spec: `x:y={${key}}` }, about).start;
  assert.deepEqual([start("late"), start("slower")], [Math.round(0.1 / timeline.time), 10]);
});

test("what dragging a device onto another asks follows from what both are", async () => {
  const { timeline } = await run("fault");
  const { devices } = timeline;
  const [SWAP, MOVE, CABLE] = [
    { on: ["rank"], to: ["rank"], spec: "swap_ranks:rank={from},other={to}" },
    { on: ["GPU", "NIC"], to: ["PCI", "CPU"], spec: "move_device:device={from},to={to}" },
    { on: ["GPU", "NIC", "PCI"], to: ["GPU", "NIC", "PCI"], spec: "add_cable:src={from},dst={to}" },
  ];
  const view = { timeline, offers: [...OFFERS, SWAP, MOVE, CABLE] };
  const [one, other] = [1, 3].map((rank) => device(devices.rank.indexOf(rank)));
  const [nic, pci, cpu] = ["NIC", "PCI", "CPU"].map((kind) => device(devices.kind.indexOf(kind)));
  assert.deepEqual(dragsOn(view, one), [SWAP, MOVE, CABLE]);
  assert.deepEqual(dragsOn(view, one, other), [SWAP, CABLE]);
  assert.deepEqual(dragsOn(view, nic, pci), [MOVE, CABLE]);
  assert.deepEqual(dragsOn(view, nic, cpu), [MOVE]);
  assert.deepEqual(dragsOn(view, cpu), []);
  assert.deepEqual([dragsOn(view, one, one), dragsOn(view, null)], [[], []]);
  assert.deepEqual(offersOn(view.offers, timeline, one), [LATE, JITTER], "nothing of it is asked with a click");
  assert.equal(between(SWAP, timeline, one, other), "swap_ranks:rank=1,other=3");
  const names = [nic, pci].map(({ index }) => devices.name[index]);
  assert.equal(between(MOVE, timeline, nic, pci), `move_device:device=${names[0]},to=${names[1]}`);
});

test("a name is quoted in what is asked as it is in what Python writes", () => {
  const names = ["GPU0", "GPU0,1", "a;b", "a + b", "50%", "%2C", "$&", "{to}", " a=b|c&d "];
  const said = ["GPU0", "GPU0%2C1", "a%3Bb", "a %2B b", "50%", "%252C", "$%26", "{to}", "%20a%3Db%7Cc%26d%20"];
  assert.deepEqual(names.map(quoted), said);
  const devices = { name: names, rank: names.map((_, rank) => rank) };
  const cable = { on: ["NIC"], to: ["NIC"], spec: "add_cable:src={from},dst={to}" };
  const spec = between(cable, { devices }, device(7), device(6));
  assert.equal(spec, "add_cable:src={to},dst=$%26");
});

test("what is dragged is told where a slider stands", async () => {
  const { timeline } = await run("ring");
  const { links, meta, time } = timeline;
  const link = { kind: "link", index: 0 };
  const drag = (key) => dragOf({ spec: `x:y={${key}}` }, { timeline, old: null, focus: link });
  const at = (key, place) => [drag(key).word(place), drag(key).shown(place)];
  assert.deepEqual(at("bandwidth", -10), ["12.5GBps", "12.5 GB/s"]);
  assert.deepEqual(at("times", 10), [2, `${(2 * links.bandwidth[0]) / 1e9} GB/s`]);
  assert.deepEqual(at("latency", -10), [`${(links.latency[0] / 2) * 1e6}us`, "500 ns"]);
  assert.deepEqual(at("late", 50)[0], `${Number(((time / 2) * 1e6).toPrecision(3))}us`);
  assert.deepEqual(at("slower", 20), [4, "4×"]);
  assert.deepEqual([at("bytes", 0), at("bytes", 10)[0]], [[meta.size, "64 MiB"], 134_000_000]);
  for (const key of ["bandwidth", "times", "latency", "late", "slower", "bytes"])
    assert.ok(drag(key).least <= drag(key).start && drag(key).start <= drag(key).most, key);
});
