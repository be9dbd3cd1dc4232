import assert from "node:assert/strict";
import { test } from "node:test";
import { Clock } from "../../assets/player/clock.js";

// A run of so many steps that end at `bounds`, with arrivals at `ends` and a phase from step `half` on.
function fake(bounds, { ends = bounds.slice(1), phases = [[0, "one"]] } = {}) {
  const time = bounds.at(-1);
  const half = time / 1e6;
  const step = (t) => bounds.findIndex((bound) => bound >= t - half);
  const event = (t, by) =>
    by > 0 ? (ends.find((end) => end > t + half) ?? time) : (ends.findLast((end) => end < t - half) ?? 0);
  return { bounds, time, half, step, event, steps: { phases }, meta: { steps: bounds.length - 1 } };
}

function following(...timelines) {
  const clock = new Clock();
  clock.follow(timelines);
  return clock;
}

test("positions count steps, with a fraction, and lead back to their instant", () => {
  const clock = following(fake([0, 1, 3, 7]));
  for (const [t, position, step] of [
    [0, 0, 0],
    [0.5, 0.5, 1],
    [1, 1, 1],
    [2, 1.5, 2],
    [5, 2.5, 3],
    [7, 3, 3],
  ]) {
    clock.seek(t);
    assert.equal(clock.position, position);
    assert.equal(clock.step, step);
    assert.equal(clock.instant(position), t);
  }
});

test("no instant before the beginning, after the end, or that is no number", () => {
  const clock = following(fake([0, 1, 2]));
  for (const [t, now] of [
    [-1, 0],
    [9, 2],
    [Number.NaN, 0],
    [Infinity, 0],
    [1.5, 1.5],
  ]) {
    clock.seek(t);
    assert.equal(clock.t, now);
  }
});

test("steps forwards and back meet every bound once", () => {
  const clock = following(fake([0, 1, 3, 7]));
  const upwards = [0, 1, 2, 3].map(() => {
    clock.seek(clock.stepFrom(1));
    return clock.t;
  });
  assert.deepEqual(upwards, [1, 3, 7, 7]);
  const downwards = [0, 1, 2, 3].map(() => {
    clock.seek(clock.stepFrom(-1));
    return clock.t;
  });
  assert.deepEqual(downwards, [3, 1, 0, 0]);
  clock.seek(2);
  assert.deepEqual([clock.stepFrom(1), clock.stepFrom(-1)], [3, 1]);
});

test("steps that take no time are passed over", () => {
  const clock = following(fake([0, 1, 1, 1, 2]));
  clock.seek(1);
  assert.equal(clock.stepFrom(1), 2);
  clock.seek(2);
  assert.equal(clock.stepFrom(-1), 1);
});

test("a step is jumped to by its number, whatever is typed", () => {
  const clock = following(fake([0, 1, 3, 7]));
  assert.deepEqual(
    [2, 2.4, -5, 99, Number.NaN].map((step) => clock.endOf(step)),
    [3, 3, 0, 7, 0],
  );
});

test("phases and arrivals lead on and back", () => {
  const phases = [
    [0, "reduce-scatter"],
    [2, "allgather"],
  ];
  const clock = following(fake([0, 1, 2, 3, 4], { ends: [0.5, 2.5, 4], phases }));
  clock.seek(0.7);
  assert.deepEqual([clock.phaseFrom(1), clock.phaseFrom(-1)], [2, 0]);
  assert.deepEqual([clock.eventFrom(1), clock.eventFrom(-1)], [2.5, 0.5]);
  clock.seek(3.5);
  assert.deepEqual([clock.phaseFrom(1), clock.phaseFrom(-1)], [4, 2]);
});

test("several runs share one clock: it ends with the last, and every step of any is a step", () => {
  const clock = following(fake([0, 2, 4]), fake([0, 1, 2, 3]));
  assert.equal(clock.time, 4);
  assert.deepEqual(clock.bounds, [0, 1, 2, 3, 4]);
  clock.seek(2.5);
  assert.deepEqual([clock.eventFrom(1), clock.eventFrom(-1)], [3, 2]);
});

test("time passes true to scale, and steps alike where that is chosen", () => {
  const clock = following(fake([0, 1, 9, 10]));
  assert.equal(clock.pass(clock.length / 2), false);
  assert.ok(Math.abs(clock.t - 5) < 1e-12);
  clock.seek(0);
  clock.even = true;
  clock.pass(clock.length / 2);
  assert.ok(Math.abs(clock.position - 1.5) < 1e-12);
  assert.ok(Math.abs(clock.t - 5) < 1e-12);
  clock.speed = 2;
  assert.equal(clock.paceAt(2), (10 / clock.length) * 2);
});

test("playing ends at the end, or where it was asked to, exactly", () => {
  const clock = following(fake([0, 1, 2]));
  clock.until = 0.5;
  assert.equal(clock.pass(1000), true);
  assert.deepEqual([clock.t, clock.until], [0.5, null]);
  assert.equal(clock.pass(1000), true);
  assert.equal(clock.t, 2);
  assert.ok(clock.over);
});

test("the calm rest at a step and go on to the next", () => {
  const clock = following(fake([0, 1, 2, 3, 4]));
  const rest = clock.length / 4;
  assert.equal(clock.pass(rest * 0.6, true), false);
  assert.equal(clock.t, 0);
  clock.pass(rest * 0.6, true);
  assert.equal(clock.t, 1);
});

test("other runs that are shorter leave the clock within them", () => {
  const clock = following(fake([0, 5, 10]));
  clock.seek(9);
  clock.follow([fake([0, 1, 4])]);
  assert.equal(clock.t, 4);
});

test("a stretch is played over and over, from wherever one stands", () => {
  const clock = following(fake([0, 1, 2, 3, 4]));
  clock.loop = [1, 3];
  clock.pass(clock.length / 8); // half a second of four
  assert.equal(clock.t, 1);
  for (let k = 0; k < 20; k += 1) {
    assert.equal(clock.pass(clock.length / 8), false);
    assert.ok(clock.t >= 1 && clock.t < 3);
  }
  clock.loop = null;
  assert.equal(clock.pass(1000), true);
  assert.equal(clock.t, 4);
});
