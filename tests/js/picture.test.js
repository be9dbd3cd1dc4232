// What the picture is made of: a camera, words that never meet, groups that open as one comes near, counters.

import assert from "node:assert/strict";
import { test } from "node:test";
import { sideOf } from "../../assets/paint/blocks.js";
import { Camera } from "../../assets/scene/camera.js";
import { LoadChart } from "../../assets/time/chart.js";
import { Frames } from "../../assets/scene/frames.js";
import { Groups } from "../../assets/scene/groups.js";
import { LEAST, Labels, lift } from "../../assets/paint/labels.js";
import { Tiles } from "../../assets/scene/tiles.js";
import { Surface } from "../../assets/paint/surface.js";
import { longest, said } from "../../assets/answer/sentence.js";
import { Sent } from "../../assets/trace/sent.js";
import { ticks } from "../../assets/trace/words.js";
import { COLOURS, Canvas } from "./canvas.js";
import { NAMES, run } from "./runs.js";

const NO_WORDS = new Proxy({}, { get: () => "" });

test("a camera shows all at first, keeps what is under the pointer, and never leaves the picture", () => {
  const camera = new Camera([0, 0, 20, 10]);
  camera.fit(800, 400);
  assert.ok(camera.isHome && camera.x(0) >= 0 && camera.x(20) <= 800 && camera.y(10) <= 400);
  const at = [(600 - camera.left) / camera.wide, (100 - camera.top) / camera.high];
  assert.ok(camera.scale === camera.high && camera.scale < camera.wide); // things stand apart where there is room
  camera.zoomAt(600, 100, 3);
  assert.ok(Math.abs(camera.x(at[0]) - 600) < 1e-6 && Math.abs(camera.y(at[1]) - 100) < 1e-6);
  camera.pan(1e6, -1e6);
  assert.ok(camera.x(0) <= 800 && camera.x(0) >= 0 && camera.y(10) >= 0);
  const { turn } = camera;
  camera.zoomAt(0, 0, 1e-6);
  assert.ok(camera.isHome && camera.turn > turn);
});

test("things stand so far apart that they fill two thirds of a stage, whether they are a tower or a strip", () => {
  for (const [width, most] of [
    [1040, 640],
    [360, 420],
  ]) {
    for (const aspect of [0.6, 1, 2, 4]) {
      const camera = new Camera([0, 0, 20 * aspect, 20]);
      const height = Math.max(180, Math.min(camera.height(width), most)); // as high as stages are at least
      camera.fit(width, height);
      const filled = ((camera.x(20 * aspect) - camera.x(0)) * (camera.y(20) - camera.y(0))) / (width * height);
      assert.ok(filled > 2 / 3 && filled <= 1, `${aspect} on ${width}x${height}: ${filled}`);
    }
  }
});

test("words keep clear of each other and of what is taken, and none is smaller than can be read", () => {
  const canvas = new Canvas(400, 200);
  const labels = new Labels(canvas.getContext("2d"), "serif");
  const look = { size: 12, fill: "#000000" };
  labels.take([0, 0, 50, 50]);
  assert.equal(labels.write("taken", 30, 30, look), false);
  assert.equal(labels.write("first", 200, 100, look), true);
  assert.equal(labels.write("second", 210, 104, look), false);
  assert.equal(labels.write("second", 210, 130, look), true);
  assert.equal(labels.write("tiny", 300, 180, { ...look, size: LEAST - 1 }), false);
  assert.equal(labels.fitting(["a long name", "short", "1"], 35, look), "short");
  assert.equal(canvas.context.calls.filter(({ name }) => name === "fillText").length, 2);
});

test("words above what flies are painted once more where something passes them, and others are not", () => {
  const g = new Canvas(400, 200).getContext("2d");
  const labels = new Labels(g, "serif");
  labels.write("bar", 50, 50, { size: 12, fill: "#000000", above: true });
  labels.write("rank", 50, 150, { size: 12, fill: "#000000" });
  assert.deepEqual(labels.passed([[300, 40, 310, 60]]), []);
  const words = labels.passed([
    [45, 40, 55, 60],
    [45, 140, 55, 160],
  ]);
  assert.deepEqual(
    words.map(({ word }) => word),
    ["bar"],
  );
  lift(g, words, "#ffffff");
  const [paper, word] = g.calls.slice(-2);
  assert.deepEqual([paper.name, paper.fillStyle, word.name, word.args[0]], ["fill", "#ffffff", "fillText", "bar"]);
});

test("a closed group has a bar for each rank, and one for what leaves it and for what enters it", async () => {
  const { timeline } = await run("contention");
  const { devices, links } = timeline;
  const home = devices.name.map((name) => (name.startsWith("H0") ? 0 : name.startsWith("H1") ? 1 : -1));
  const between = links.src.flatMap((src, link) => (home[src] === home[links.dst[link]] ? [] : [link]));
  const end = (d) => (home[d] < 0 ? d : home.length + home[d]);
  const bundles = between.map((link) => ({ a: end(links.src[link]), b: end(links.dst[link]), links: [link] }));
  const scene = { devices, waitedFor: () => () => false };
  const room = [100, 50, 160, 60];
  const tiles = new Tiles(timeline, scene, { in: home, bundles }, new Map([[0, room]]));
  const g = new Canvas(400, 200).getContext("2d");
  tiles.paint(g, timeline.time / 2, COLOURS);
  const first = g.calls.length;
  tiles.paint(g, timeline.time / 2, COLOURS);
  const painted = g.calls.slice(first);
  const bars = painted.filter(({ name, fillStyle }) => name === "fillRect" && fillStyle === COLOURS.load[2]);
  assert.ok(bars.length >= 4); // ranks of a host
  for (const {
    args: [x, y, w, h],
  } of painted.filter(({ name }) => name === "fillRect"))
    assert.ok(x >= 100 && x + w <= 260 && y >= 50 && y + h <= 110);
  const words = painted.filter(({ name }) => name === "fillText").map(({ args }) => args[0]);
  assert.deepEqual([words[0], words[2]], ["↑", "↓"]);
  assert.ok(words[1].endsWith("%") && words[1] !== "0%");
});

test("broad groups that are closed look alike: names of one size, with room for ranks beside all of them or none", () => {
  const boxes = ["host 9", "host 10"].map((name, k) => [name, "host", 0, 10 * k, 18, 8, "below"]);
  const tiles = (wide, high) => {
    const groups = new Groups({ x: [2, 12, 2, 12], y: [2, 2, 12, 12], rank: [0, 1, 2, 3], boxes });
    const camera = {
      wide: wide / 18,
      high: high / 8,
      scale: high / 8,
      x: (x) => (x * wide) / 18,
      y: (y) => (y * high) / 8,
    };
    const frames = new Frames(boxes, groups, camera);
    const g = new Canvas(400, 200).getContext("2d");
    frames.paintTitles(g, { closed: groups.closed(1) }, new Labels(g, "serif"), COLOURS);
    const names = g.calls.filter(({ name, args }) => name === "fillText" && args[0].startsWith("host"));
    return {
      fonts: names.map(({ font }) => font),
      at: names.map(({ args }) => args[1]),
      rooms: [...frames.rooms.values()],
    };
  };
  for (const [wide, isBeside] of [
    [92, true],
    [84, false],
  ]) {
    const { fonts, at, rooms } = tiles(wide, 48);
    assert.equal(new Set(fonts).size, 1);
    assert.equal(new Set(at).size, 1);
    assert.deepEqual(
      rooms.map(([left]) => left > 0),
      [isBeside, isBeside],
    );
  }
});

test("groups close where their devices cannot be told apart, the outer before the inner", () => {
  const boxes = [
    ["POD0", "pod", 0, 0, 40, 20],
    ["POD1", "pod", 50, 0, 40, 20],
    ["LEAF0", "group", 1, 1, 18, 18],
    ["LEAF1", "group", 21, 1, 18, 18],
    ["LEAF2", "group", 51, 1, 18, 18],
    ["NUMA 0", "numa", 71, 1, 18, 18],
  ];
  const groups = new Groups({ x: [5, 25, 55, 35], y: [5, 5, 5, 19.5], rank: [0, 1, 2, -1], boxes });
  const names = (scale) => [...groups.closed(scale)].map((k) => groups.boxes[k][0]).toSorted();
  assert.deepEqual(names(1), ["POD0", "POD1"]);
  assert.deepEqual(names(10), ["LEAF0", "LEAF1", "LEAF2"]);
  assert.deepEqual(names(20), []);
  const shown = groups.shownIn(groups.closed(1));
  assert.deepEqual(
    [...shown].map((k) => groups.boxes[k][0]),
    ["POD0", "POD0", "POD1", "POD0"],
  );
  assert.deepEqual(groups.boxes.map(([name], k) => [name, groups.ranks[k]]).toSorted(), [
    ["LEAF0", 1],
    ["LEAF1", 1],
    ["LEAF2", 1],
    ["POD0", 2],
    ["POD1", 1],
  ]);
});

test("a block's area is its bytes", async () => {
  const { timeline } = await run("ring");
  const whole = sideOf(timeline, 0, 30);
  timeline.largest = timeline.bytes(0) * 4;
  assert.ok(Math.abs(whole ** 2 - 4 * sideOf(timeline, 0, 30) ** 2) < 1e-9);
  timeline.largest = timeline.largestOwn;
});

for (const name of NAMES) {
  test(`the counters of ${name} climb to all that was sent, and the busiest to the bound or beyond`, async () => {
    const { timeline } = await run(name);
    if (!timeline.meta.full) return;
    const sent = new Sent(timeline);
    const expected = new Float64Array(timeline.meta.ranks);
    for (let i = 0; i < timeline.count; i += 1)
      if (timeline.c.src[i] !== timeline.c.dst[i] && timeline.c.src[i] < timeline.meta.ranks)
        expected[timeline.c.src[i]] += timeline.bytes(i);
    const end = sent.at(timeline.time);
    end.forEach((bytes, rank) => assert.ok(Math.abs(bytes - expected[rank]) <= 1e-6 * expected[rank]));
    assert.ok(sent.most >= timeline.meta.least * (1 - 1e-9));
    let before = new Float64Array(timeline.meta.ranks);
    for (const share of [0, 0.2, 0.5, 0.8]) {
      const now = sent.at(timeline.time * share);
      now.forEach((bytes, rank) => assert.ok(bytes >= before[rank] && bytes <= end[rank] * (1 + 1e-9)));
      before = now;
    }
  });
}

test("an instant is told in the reader's words and then in the field's", async () => {
  const { timeline } = await run("ring");
  const text = {
    "caption.head": "step {step} of {steps}: ",
    "player.goal": "Goal: {goal}",
    "player.now": "{phase}, step {step} of {steps}",
    "player.step.of": "step {step} of {steps}",
  };
  assert.equal(said(timeline, text, 0).exact, "Goal: every rank holds the sum of all 8 buffers");
  const { plain, exact } = said(timeline, text, timeline.time * 0.25);
  assert.match(plain, /^Rank 0 sends block \d, the sum of ranks .* to rank 1/);
  assert.match(exact, /^reduce-scatter, step \d of 14$/);
});

for (const name of NAMES) {
  test(`${name}: no sentence is longer than the one that room is kept for`, async () => {
    const { timeline } = await run(name);
    const room = longest(timeline, NO_WORDS).plain;
    const within = timeline.bounds.slice(1).map((end, k) => (end + timeline.bounds[k]) / 2);
    const seen = [...timeline.bounds, ...within].map((t) => said(timeline, NO_WORDS, t).plain.length);
    assert.equal(Math.max(...seen), room.length);
  });
}

test("a ruler has round instants, as many as there is room for", () => {
  assert.deepEqual(
    ticks(0, 499e-6, 10).map(([, word]) => word),
    ["0 µs", "50 µs", "100 µs", "150 µs", "200 µs", "250 µs", "300 µs", "350 µs", "400 µs", "450 µs"],
  );
  for (const span of [1e-9, 3.3e-6, 0.07, 12]) {
    for (const most of [1, 4, 13]) {
      const instants = ticks(0, span, most);
      assert.ok(instants.length <= most + 1 && instants.at(-1)[0] <= span * (1 + 1e-9));
    }
  }
  assert.equal(ticks(0, 0, 5).length, 1);
  assert.deepEqual(
    ticks(249.97e-6, 250.13e-6, 4).map(([, word]) => word),
    ["250.00 µs", "250.05 µs", "250.10 µs"],
  );
});

test("the chart of links has a row for every link that carries most, and says what is under the pointer", async () => {
  const { timeline } = await run("ring");
  const chart = new LoadChart(timeline);
  const canvas = new Canvas(1, 1);
  chart.layout(new Surface(canvas, COLOURS), { width: 900, span: timeline.time });
  chart.paint(timeline.time / 2);
  assert.deepEqual(chart.shown, [16, 16]);
  const links = new Set();
  for (let y = 0; y < canvas.height; y += 1) {
    const focus = chart.pick(500, y);
    if (focus?.kind === "link") links.add(focus.index);
    if (focus?.kind === "block") assert.ok(timeline.critical().has(focus.index));
  }
  assert.equal(links.size, 16);
  assert.equal(chart.pick(20, 100), null);
  assert.ok(Math.abs(chart.t(chart.x(timeline.time * 0.3)) - timeline.time * 0.3) < 1e-12);
});
