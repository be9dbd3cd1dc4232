// The player and files show one run alike: what Python's film says at an instant, the timeline says too.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Sent } from "../../assets/trace/sent.js";
import { Sets } from "../../assets/trace/sets.js";
import shape from "../../assets/views/shape.js";
import { NAMES, run } from "./runs.js";

const close = (a, b, what, apart = 1e-5) =>
  assert.ok(Math.abs(a - b) <= apart * Math.max(1, Math.abs(b)), `${what}: ${a}, not ${b}`);

test("sets of ranks are counted, and spelled in few words", () => {
  const sets = new Sets(new Uint32Array([0b100111, 0, 0x80000000, 3, 0xffffffff, 0xffffffff]));
  const told = [0, 1, 2].map((set) => [sets.of(set).count, sets.of(set).ranks]);
  assert.deepEqual(told, [
    [4, "0-2, 5"],
    [3, "31-33"],
    [64, "0-63"],
  ]);
  for (const set of [-1, 3]) assert.deepEqual({ ...sets.of(set) }, { count: 0, ranks: "" });
});

test("what an arrival makes of a number is shown until the next step, what becomes of a mean at the end", async () => {
  const { timeline } = await run("numbers");
  const { values } = timeline;
  const first = timeline.bounds[1];
  assert.match(values.happened(0, first).sum, /^\d+\+\d+=\d+/u);
  assert.equal(values.happened(0, 0), null);
  assert.match(values.happened(7, timeline.time).sum, /^\d+÷8=[\d.]+$/u);
  const halfway = timeline.bounds[timeline.bounds.length - 2]; // blocks are copied there
  assert.equal(values.happened(0, halfway), null);
});

test("there are runs of every kind", () => assert.ok(NAMES.length >= 6));

for (const name of NAMES.filter((other) => other !== "large")) {
  test(`${name}: step, sentence, blocks, loads and contents are the film's`, async () => {
    const { timeline, instants } = await run(name);
    assert.ok(instants.length > 8);
    for (const { t, step, caption, blocks, shares, faulty, held, names, exact } of instants) {
      assert.equal(timeline.step(t), step, `step at ${t}`);
      assert.equal(timeline.caption(t), caption);
      const moving = timeline.blocks(t);
      assert.deepEqual(
        moving.map(({ transfer, block }) => [transfer, block, timeline.names.message(transfer)]),
        blocks.map(({ transfer, block, label }) => [transfer, block, label]),
      );
      moving.forEach(({ x, y }, k) => {
        close(x, blocks[k].x, `x of ${k} at ${t}`, 2e-3);
        close(y, blocks[k].y, `y of ${k} at ${t}`, 2e-3);
      });
      if (!exact)
        timeline.shares(t).forEach((share, link) => close(share, shares[link], `share of ${link} at ${t}`, 1e-4));
      assert.deepEqual(
        timeline.faulty(t).map(({ link }) => link),
        faulty,
      );
      const there = timeline.held(t);
      const written = names.map((_, place) => (there.block[place] < 0 ? "" : timeline.names.place(place, there)));
      assert.deepEqual(written, names, `names at ${t}`);
      held.forEach((slots, rank) => {
        const now = timeline.slots(rank, t).map(({ number = -1, count }) => [number, count]);
        assert.deepEqual(now, slots, `rank ${rank} at ${t}`);
      });
    }
  });

  test(`${name}: what is kept from one instant to the next is what would be worked out anew`, async () => {
    const { timeline } = await run(name);
    const there = Array.from({ length: 41 }, (_, k) => (timeline.time * k) / 40);
    const sent = timeline.meta.full ? new Sent(timeline) : null;
    for (const t of [...there, ...there.toReversed(), ...there.filter((_, k) => k % 9 === 0)]) {
      const room = timeline.capacities(t);
      const shares = Array.from(timeline.loads(t), (rate, k) => (room[k] > 0 ? rate / room[k] : 0));
      assert.deepEqual(Array.from(timeline.shares(t)), shares, `shares at ${t}`);
      if (sent) assert.deepEqual(sent.at(t), new Sent(timeline).at(t), `sent at ${t}`);
    }
  });

  test(`${name}: an instant looks the same from both sides`, async () => {
    const { timeline, instants } = await run(name);
    const look = ({ t }) => JSON.stringify([timeline.blocks(t), timeline.slots(0, t), Array.from(timeline.loads(t))]);
    const upwards = instants.map(look);
    assert.deepEqual(instants.toReversed().map(look).toReversed(), upwards);
  });

  test(`${name}: the critical path is a chain of causes that ends with the run`, async () => {
    const { timeline } = await run(name);
    const path = [...timeline.critical()];
    for (let k = 1; k < path.length; k += 1) assert.equal(timeline.cause(path[k - 1]), path[k]);
    assert.equal(timeline.cause(path.at(-1)), -1);
    assert.ok(timeline.over(timeline.end[path[0]]) || timeline.meta.stalled);
  });

  test(`${name}: the parts of its time add up to it, and light messages of the critical path`, async () => {
    const { timeline } = await run(name);
    const { parts, messages } = timeline.why;
    assert.equal(
      parts.reduce((sum, [, time]) => sum + time, 0),
      timeline.time,
    );
    for (const [part, time] of parts) {
      const lit = timeline.spentOn(part);
      assert.equal(lit.size > 0, time > 0, part);
      for (const i of lit) assert.ok(timeline.critical().has(i));
    }
    assert.ok(messages > 0 && messages <= timeline.critical().size);
  });

  test(`${name}: going from arrival to arrival visits every instant at which one is`, async () => {
    const { timeline } = await run(name);
    const inside = (t) => t > timeline.half && t < timeline.time - timeline.half;
    const ends = [...new Set(Array.from(timeline.end).filter(inside))].toSorted((a, b) => a - b);
    const visited = [];
    for (let t = timeline.event(0, 1); inside(t); t = timeline.event(t, 1)) visited.push(t);
    assert.deepEqual(visited, ends);
    for (const [k, t] of ends.slice(1).entries()) assert.equal(timeline.event(t, -1), ends[k]);
  });
}

test("in a ring every link that is used carries all it can", async () => {
  const { timeline } = await run("ring");
  const t = timeline.time * 0.51;
  const used = new Set(timeline.moving(t).flatMap((i) => Array.from(timeline.linksOf(i))));
  assert.equal(used.size, 16);
  for (const link of used) close(timeline.shares(t)[link], 1, `link ${link}`);
  assert.equal(timeline.sharers([...used][0], t).length, 1);
  assert.equal(timeline.squeeze(timeline.moving(t)[0], t), -1);
});

test("where flows share a link, it is what slows them", async () => {
  const { timeline } = await run("contention");
  const squeezed = timeline.moving(timeline.time / 2).filter((i) => timeline.squeeze(i, timeline.time / 2) >= 0);
  assert.ok(squeezed.length > 0);
  for (const i of squeezed) {
    const link = timeline.squeeze(i, timeline.time / 2);
    assert.ok(timeline.linksOf(i).includes(link));
    assert.ok(timeline.sharers(link, timeline.time / 2).length > 1);
  }
});

test("the next message of a rank is the first that it has not begun", async () => {
  const { timeline } = await run("ring");
  const next = timeline.next(3, 0);
  assert.equal(timeline.c.src[next], 3);
  assert.ok(timeline.left[next] > 0);
  assert.equal(timeline.next(3, timeline.time), -1);
});

test("a run too large for single blocks has loads and steps, and says why views refuse it", async () => {
  const { timeline } = await run("large");
  const t = timeline.time / 2;
  assert.deepEqual(timeline.moving(t), []);
  assert.deepEqual(timeline.blocks(t), []);
  assert.equal(timeline.held(t), null);
  assert.ok(Math.max(...timeline.loads(t)) > 0);
  assert.equal(shape.refuses(timeline), "player.toolarge");
});
