// The keys of a talk: on to the next place where playing stops or the next scene, back, and to a scene by its number.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Clock } from "../../assets/player/clock.js";
import { backward, lineAt, numbered, onward, passed, stopsBehind } from "../../assets/talk/plan.js";

const scene = { time: 10, stops: [2, 5, 10], start: { t: 1 }, lines: [{ at: 2, text: "b" }] };
const at = (t, playing = false) => ({ t, playing });

test("onward plays to each breakpoint and to the end, skips there while it plays, then leads to the next scene", () => {
  assert.deepEqual(onward(scene, at(1)), { play: true });
  assert.deepEqual(onward(scene, at(1.5, true)), { seek: 2 });
  assert.deepEqual(onward(scene, at(2)), { play: true });
  assert.deepEqual(onward(scene, at(2, true)), { seek: 5 });
  assert.deepEqual(onward(scene, at(5 + 1e-12, true)), { seek: 10 });
  assert.deepEqual(onward(scene, at(10)), { by: 1 });
  assert.deepEqual(onward({ ...scene, time: 0, stops: [] }, at(0)), { by: 1 });
});

test("back leads to where playing stopped, to where the scene begins, then to the scene before", () => {
  assert.deepEqual(backward(scene, at(10)), { seek: 5 });
  assert.deepEqual(backward(scene, at(3, true)), { seek: 2 });
  assert.deepEqual(backward(scene, at(2)), { seek: 1 });
  assert.deepEqual(backward(scene, at(1)), { by: -1 });
  assert.deepEqual(backward({ ...scene, start: { t: 99 } }, at(10)), { by: -1 });
});

test("words are on the stage from their instant on, and breakpoints are behind from theirs", () => {
  assert.equal(lineAt(scene, 1.9), "");
  assert.equal(lineAt(scene, 2 - 1e-12), "b");
  assert.equal(lineAt(scene, 10), "b");
  assert.deepEqual(
    [1, 2, 10].map((t) => stopsBehind(scene, t)),
    [0, 1, 3],
  );
});

test("a number leads to a scene that there is", () => {
  assert.deepEqual(
    ["1", "3", "4", "0", "", "x", "1e0", "0001"].map((digits) => numbered(digits, 3)),
    [0, 2, null, null, null, null, null, null],
  );
});

test("a clock of minutes and seconds", () => {
  assert.deepEqual([0, 59_999, 61_000, 3_661_000, -5].map(passed), ["00:00", "00:59", "01:01", "1:01:01", "00:00"]);
});

test("playing stops at every breakpoint, as often as it comes there", () => {
  const clock = new Clock();
  clock.follow([{ time: 8, half: 1e-9, bounds: [0, 4, 8] }]);
  const [first, second] = [2, 4];
  clock.stops = [first, second];
  const rest = () => {
    while (!clock.pass(0.05));
    return clock.t;
  };
  assert.equal(rest(), first);
  assert.equal(rest(), second);
  assert.equal(rest(), clock.time);
  clock.seek(first / 2);
  assert.equal(rest(), first);
  clock.loop = [0, first / 2];
  assert.equal(clock.pass(1e-9), false);
});
