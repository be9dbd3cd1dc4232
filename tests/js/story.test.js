// The story: where one is in it, what stands where on its board, and the numbers that are drawn.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Board } from "../../assets/story/board.js";
import { Plan } from "../../assets/story/plan.js";
import { Reel } from "../../assets/story/reel.js";
import { run } from "./runs.js";

const still = { from: 0, to: 0, seconds: 2 };
const moving = (from, to, seconds) => ({ from, to, seconds });
const reel = () => new Reel([{ stretches: [still] }, { stretches: [moving(0, 3, 4), moving(3, 4, 2)] }]);

test("stretches follow each other, each after its seconds, and the last one rests", () => {
  const one = reel();
  assert.equal(one.pass(1), false);
  assert.deepEqual([one.at, one.t], [0, 0]);
  assert.equal(one.pass(1), false);
  assert.deepEqual([one.at, one.t], [1, 0]);
  assert.equal(one.pass(1.5), false);
  assert.ok(Math.abs(one.t - 1.5) < 1e-9);
  assert.deepEqual(one.busy, [one.t]);
  assert.equal(one.pass(2), false);
  assert.deepEqual([one.at, one.t, one.ends], [1, 3, false]); // and is read for the rest of it
  assert.ok(one.busy.length > 10 && one.busy.every((t) => t > 0 && t < 3));
  assert.equal(one.pass(0.5), false);
  assert.equal(one.pass(2), true);
  one.seek(99);
  assert.deepEqual([one.at, one.t, one.ends], [2, 4, true]);
});

test("the calm go from step to step, and on to the next stretch", () => {
  const one = reel();
  const seen = Array.from({ length: 6 }, () => {
    one.step([0, 1, 2, 3, 4]);
    return [one.at, Math.round(one.t * 1e6) / 1e6];
  });
  assert.deepEqual(seen, [
    [1, 0],
    [1, 1],
    [1, 2],
    [1, 3],
    [2, 3],
    [2, 4],
  ]);
  one.step([0, 1, 2, 3, 4]);
  assert.deepEqual([one.at, one.ends], [2, true]);
});

test("back is where the stretch began, then what the one before came to", () => {
  const one = reel();
  one.go(2, 0.5);
  const seen = Array.from({ length: 5 }, () => {
    one.back();
    return [one.at, one.share];
  });
  assert.deepEqual(seen, [
    [2, 0],
    [1, 1],
    [1, 0],
    [0, 1],
    [0, 0],
  ]);
});

test("every place of the slider is a place of the story, and the same again", () => {
  const one = reel();
  for (let place = 0; place <= 3; place += 0.125) {
    one.seek(place);
    assert.equal(one.place, place);
  }
  one.seek(-1);
  assert.equal(one.place, 0);
});

const near = ([x, y], [left, top, w, h]) => x > left - 9 && x < left + w + 9 && y > top - 9 && y < top + h + 9;
const overlap = ([ax, ay, aw, ah], [bx, by, bw, bh]) => ax < bx + bw && bx < ax + aw && ay < by + bh && by < ay + ah;

for (const [name, width] of [
  ["server", 1080],
  ["server", 358],
  ["sockets", 1080],
  ["sockets", 358],
])
  test(`no card covers another on ${name}, ${width} wide, and messages go from one to the other`, async () => {
    const { timeline } = await run(name);
    const plan = new Plan(timeline, width, 460, 120);
    const boxes = [...plan.cards, ...plan.others].map(({ box }) => box);
    assert.equal(plan.cards.length, timeline.meta.ranks);
    boxes.forEach((box, k) => {
      const [x, y, w, h] = box;
      assert.ok(x >= 0 && y >= 0 && x + w <= width && y + h <= 460);
      for (const other of boxes.slice(k + 1)) assert.ok(!overlap(box, other));
    });
    for (let i = 0; i < timeline.count; i += 1) {
      const { points } = plan.path(timeline.c.route[i]);
      assert.ok(near(points[0], plan.cards[timeline.c.src[i]].box));
      assert.ok(near(points.at(-1), plan.cards[timeline.c.dst[i]].box));
    }
    const cables = plan.loads(timeline.links.src.map((_, link) => link));
    assert.equal(cables.length, plan.lanes.length / 2);
  });

for (const name of ["server", "sockets"])
  test(`what ranks hold adds up to what everyone needs on ${name}`, async () => {
    const { timeline, story } = await run(name);
    const board = new Board(timeline, story);
    const values = (rank, t) => board.holds(rank, t).map((held) => held?.value);
    for (let rank = 0; rank < 4; rank += 1) {
      assert.deepEqual(values(rank, timeline.time), story.goal);
      assert.deepEqual(values(rank, 0), story.own[rank]);
    }
  });
