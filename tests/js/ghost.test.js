// The old run in the picture of the new one stands where its own trace says.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Kernel } from "../../assets/kernel/kernel.js";
import { Surface } from "../../assets/paint/surface.js";
import { Ghost, sharesPicture, sharesSchedule, toOneScale } from "../../assets/runs/ghost.js";
import { Preview } from "../../assets/runs/preview.js";
import { register, registered } from "../../assets/player/registry.js";
import machine from "../../assets/views/machine.js";
import matrix from "../../assets/views/matrix.js";
import time from "../../assets/views/time.js";
import { Runner } from "../../assets/whatif/whatif.js";
import { COLOURS, Canvas } from "./canvas.js";
import { run } from "./runs.js";

for (const [name, view] of Object.entries({ machine, matrix, time })) register(name, view);
const read = (name) => readFileSync(new URL(`../../assets/kernel/${name}`, import.meta.url));
const kernel = await Kernel.open(read("kernel.wasm"), JSON.parse(read("kernel.json")));
const HALF = "set_link:src=SW,dst=GPU3,bandwidth=12.5GBps";

function opened(name, timeline) {
  const canvas = new Canvas(1, 1);
  const picture = registered()
    .find((view) => view.name === name)
    .open(timeline);
  picture.layout(new Surface(canvas, COLOURS), { width: 800, most: 560, span: timeline.time });
  return { canvas, picture };
}

// A run, and the same one with half of a link.
async function two(name = "ring") {
  const { timeline: old } = await run(name);
  return { old, now: new Runner(kernel, old).run([HALF]).timeline };
}

const numbers = (drawn) => drawn.map(({ i }) => i);

for (const name of ["machine", "time"])
  test(`old blocks are those of the old trace, where its own picture has them: ${name}`, async () => {
    const { old, now } = await two();
    toOneScale([now, old]);
    const [{ picture }, own] = [opened(name, now), opened(name, old)];
    const ghost = new Ghost(old);
    for (const share of [0.01, 0.3, 0.62, 0.99]) {
      const t = share * old.time;
      picture.paint(t, {});
      own.picture.layout(new Surface(own.canvas, COLOURS), { width: 800, most: 560, span: now.time });
      own.picture.paint(t, {});
      const drawn = ghost.standing(picture, name, t);
      assert.deepEqual(numbers(drawn), old.moving(t));
      const places = own.picture.places(t);
      for (const { i, x, y } of drawn) {
        assert.ok(Math.abs(x - places.get(i).x) < 1e-6, `${share} ${i}`);
        assert.ok(Math.abs(y - places.get(i).y) < 1e-6);
      }
    }
    assert.notDeepEqual(old.moving(0.62 * old.time), now.moving(0.62 * old.time));
    assert.deepEqual(ghost.standing(picture, name, 1.01 * old.time), [], "it is over");
  });

test("where no ways are shown there are no old blocks", async () => {
  const { old, now } = await two();
  const { canvas, picture } = opened("matrix", now);
  new Ghost(old).veil(picture, "matrix", old.time / 2, COLOURS)(canvas.getContext());
  assert.deepEqual(new Ghost(old).standing(picture, "matrix", old.time / 2), []);
});

test("a veil paints old blocks as outlines, and the outline of a link that was wider", async () => {
  const { old, now } = await two();
  toOneScale([now, old]);
  const { canvas, picture } = opened("machine", now);
  const t = old.time / 2;
  picture.paint(t, {});
  const { context } = canvas;
  context.calls = [];
  new Ghost(old).veil(picture, "machine", t, COLOURS)(context);
  const painted = (name) => context.calls.filter((call) => call.name === name);
  assert.deepEqual(painted("setLineDash")[0].args, [[4, 3]]);
  assert.equal(painted("fill").length, old.moving(t).length);
  assert.ok(painted("fill").every(({ fillStyle }) => fillStyle === COLOURS.paper));
  const lines = painted("stroke").filter(({ args: [points] }) => points.length === 2);
  assert.ok(lines.length >= 4, "two edges of both directions");
});

test("runs share a picture where machines are alike, and a ghost where their messages are", async () => {
  const { old, now } = await two();
  const [{ timeline: other }, { timeline: switched }] = [await run("contention"), await run("in_switch")];
  assert.ok(sharesPicture([now, old]) && sharesSchedule([now, old]));
  assert.ok(!sharesPicture([old, other]));
  assert.ok(sharesPicture([old, switched]) && !sharesSchedule([old, switched]));
});

test("while one drags the run itself is the ghost, whatever it is dragged to, and comes back unchanged", async () => {
  const { old } = await two();
  const runner = new Runner(kernel, old);
  const { timeline } = await run("ring");
  const whatIf = { preview: (spec) => runner.run([spec]).timeline };
  const pane = {
    timeline,
    get old() {
      return preview.ghost?.timeline ?? null;
    },
  };
  const host = { first: () => pane, whatIf, say() {}, stretch() {}, draw() {} };
  const preview = new Preview(pane, host);
  for (const rate of [20, 12.5, 6]) {
    const { before, after } = preview.show(HALF.replace("12.5", rate));
    assert.equal(before, old.time);
    assert.ok(after > before);
    assert.equal(timeline.time, after);
    assert.deepEqual(preview.ghost.timeline.end, old.end);
  }
  preview.show("");
  assert.deepEqual([timeline.time, preview.ghost], [old.time, null]);
  assert.deepEqual(timeline.end, old.end);
});
