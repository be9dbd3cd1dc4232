import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { LoadChart } from "../../assets/time/chart.js";
import { blockColour, blockNumber, inkOn } from "../../assets/paint/ink.js";
import { RED, bottlenecks, loadColour, loadLevel, waitedFor } from "../../assets/paint/load.js";
import { Slots } from "../../assets/paint/slots.js";
import { Surface } from "../../assets/paint/surface.js";
import { Counters } from "../../assets/pane/counters.js";
import { explain } from "../../assets/pane/explain.js";
import { COLOURS, Canvas } from "./canvas.js";
import { NAMES, run } from "./runs.js";

const HALF = { width: 300 };
const NO_WORDS = new Proxy({}, { get: () => "" });

function laid(picture, room) {
  const canvas = new Canvas(1, 1);
  picture.layout(new Surface(canvas, COLOURS), room);
  return canvas.context;
}

// Pixels of the sheet as numbers, after a picture has been painted.
function pixels(context) {
  const sheet = context.calls.findLast(({ name }) => name === "drawImage").args[0];
  return sheet.context.calls.findLast(({ name }) => name === "putImageData").args[0];
}

for (const name of NAMES.filter((other) => other !== "large")) {
  test(`${name}: cells set again where something landed are those of a picture made anew`, async () => {
    const { timeline, instants } = await run(name);
    const kept = new Slots(timeline);
    const context = laid(kept, HALF);
    for (const { t } of [...instants, ...instants.toReversed()]) {
      kept.paint(t);
      const fresh = new Slots(timeline);
      const other = laid(fresh, HALF);
      fresh.paint(t);
      assert.deepEqual(pixels(context).data, pixels(other).data, `at ${t}`);
    }
  });
}

test("a place holds more of its block's colour the more has been added", async () => {
  const { timeline } = await run("ring");
  const slots = new Slots(timeline);
  const context = laid(slots, HALF);
  const share = (t) => {
    slots.paint(t);
    const { data, width } = pixels(context);
    const colour = blockColour(0, COLOURS);
    const [red, green, blue] = [1, 3, 5].map((k) => Number.parseInt(colour.slice(k, k + 2), 16));
    let full = 0;
    for (let p = 0; p < data.length; p += 4) {
      const inFirst = (p / 4) % width < slots.cell - 1;
      if (inFirst && data[p] === red && data[p + 1] === green && data[p + 2] === blue) full += 1;
    }
    return full;
  };
  const shares = [0, 0.25, 0.5, 1].map((part) => share(timeline.time * part));
  assert.deepEqual(
    shares,
    shares.toSorted((a, b) => a - b),
  );
  assert.ok(shares[3] > 4 * shares[0]);
});

test("the place under the pointer is the one that is drawn there", async () => {
  const { timeline } = await run("ring");
  const slots = new Slots(timeline);
  laid(slots, HALF);
  assert.deepEqual(slots.pick(...slots.middle(3, 5)), { kind: "place", rank: 3, index: 5 });
  assert.equal(slots.pick(2, 2), null);
  assert.equal(slots.pick(40, 9999), null);
});

test("all blocks are named in their cells, or none where the longest name has no room", async () => {
  const { timeline } = await run("ring");
  timeline.blockNames = ["3", "4", "5", "6", "7", "8", "9", "10"]; // two digits are 12 pixels wide here
  const named = (width) => {
    const slots = new Slots(timeline);
    const context = laid(slots, { width });
    slots.paint(0);
    const sheet = context.calls.findLast(({ name }) => name === "drawImage").args[0];
    return sheet.context.calls.filter(({ name }) => name === "fillText").length;
  };
  assert.ok(named(26 + 8 * 16) > 0);
  assert.equal(named(26 + 8 * 12), 0);
});

test("every rank's counter has its number beside it, or every so many where there is no room for more", async () => {
  const { timeline } = await run("ring");
  for (const ranks of [timeline.meta.ranks, 40]) {
    timeline.meta.ranks = ranks;
    const counters = new Counters(timeline);
    const context = laid(counters, HALF);
    counters.paint(timeline.time, NO_WORDS);
    const numbers = context.calls.filter(({ name, args }) => name === "fillText" && /^\d+$/.test(args[0]));
    const tops = numbers.map(({ args }) => args[2]);
    assert.ok(numbers.length > 3);
    assert.ok(tops.every((y, k) => !k || y - tops[k - 1] >= 12));
  }
});

test("the chart's time and pixels lead to each other, and it shows the busiest links", async () => {
  const { timeline } = await run("contention");
  const chart = new LoadChart(timeline);
  const context = laid(chart, { width: 700, span: timeline.time });
  for (const part of [0, 0.25, 1])
    assert.ok(Math.abs(chart.t(chart.x(timeline.time * part)) - timeline.time * part) < 1e-12);
  assert.deepEqual([chart.t(-100), chart.t(1e6)], [0, timeline.time]);
  assert.deepEqual(
    chart.rows,
    chart.rows.toSorted((a, b) => a - b),
  );
  assert.ok(chart.rows.every((link) => timeline.links.bytes[link] > 0));
  chart.paint(timeline.time / 2);
  const [left] = context.calls.at(-1).args;
  assert.ok(Math.abs(left + 1 - chart.x(timeline.time / 2)) < 1e-9);
});

test("a link with a fault has a row even when nothing crosses it", async () => {
  const { timeline } = await run("fault");
  const { rows } = new LoadChart(timeline);
  for (const { link } of timeline.spells) assert.ok(rows.includes(link) || timeline.links.bytes[link] === 0);
});

test("colours go round, and links are grey by what they carry", () => {
  assert.deepEqual([0, 8, -1].map(blockNumber), [0, 0, 7]);
  assert.deepEqual([0, 0.001, 0.0011, 0.5, 1, 2].map(loadLevel), [0, 0, 1, 3, 4, 4]);
  assert.deepEqual(
    [1, 4, RED].map((level) => loadColour(level, COLOURS)),
    ["#DCDEE1", "#4F5561", "#CF2A0C"],
  );
  for (let block = 0; block < 8; block += 1) assert.match(inkOn(blockColour(block, COLOURS)), /^#(17191E|FFFFFF)$/);
});

const narrowest = (...loads) =>
  [...bottlenecks({ c: { load: loads }, meta: { bins: 1 }, links: { src: loads } })].map(Boolean);
const reds = (shares, among) => shares.map((_, k) => k).filter(waitedFor(shares, among));

test("a full link is red where it is a bottleneck of the run, and where all in use are alike none is", () => {
  assert.deepEqual(reds([0, 1, 0.4, 1], [1, 1, 0, 0]), [1]);
  assert.deepEqual(reds([0, 1, 1], [0, 1, 1]), []);
  assert.deepEqual(narrowest(250, 100, 255, 100, 0, 90), [true, false, true, false, false, false]);
  assert.deepEqual(narrowest(250, 255, 90, 255, 0, 90), [false, false, false, false, false, false]);
});

// Texts that say their own id and what they are filled with.
const text = new Proxy({}, { get: (_, id) => `${String(id)} {block} {src} {dst} {rate} {capacity} {count} {share}` });

for (const name of NAMES) {
  test(`${name}: everything can be explained at any instant`, async () => {
    const { timeline, instants } = await run(name);
    for (const { t } of instants) {
      const focuses = timeline.devices.name.map((_, index) => ({ kind: "device", index }));
      timeline.links.src.forEach((_, index) => focuses.push({ kind: "link", index }));
      timeline.shape?.src.forEach((_, index) => focuses.push({ kind: "pair", index }));
      for (const index of timeline.moving(t)) focuses.push({ kind: "block", index });
      if (timeline.meta.full) focuses.push({ kind: "place", rank: 1, index: 0 });
      for (const focus of focuses) {
        const lines = explain(timeline, text, t, focus);
        assert.ok(
          lines.length > 0 && lines.every((line) => line && !/undefined|NaN/.test(line)),
          `${focus.kind}: ${lines}`,
        );
      }
    }
  });
}

test("who shares a link is told with what each gets of it", async () => {
  const { timeline } = await run("contention");
  const t = timeline.time / 2;
  const busiest = Array.from(timeline.loads(t)).reduce((best, _, k, loads) => (loads[k] > loads[best] ? k : best), 0);
  const lines = explain(timeline, text, t, { kind: "link", index: busiest });
  assert.ok(lines.filter((line) => line.includes("player.message")).length > 1);
});

test("several who added to a block are ranks, and one is a rank", async () => {
  const { timeline } = await run("ring");
  const english = JSON.parse(readFileSync(new URL("../../assets/text/en.json", import.meta.url), "utf8"));
  const places = Array.from({ length: 8 }, (_, rank) => ({ kind: "place", rank, index: 0 }));
  const told = (t) => places.map((place) => explain(timeline, english, t, place)[0]);
  const sum = "block 0, contributed by ranks 0-7";
  assert.deepEqual(
    told(timeline.time).map((line) => line.endsWith(sum)),
    Array(8).fill(true),
  );
  for (const [rank, line] of told(0).entries()) assert.ok(line.endsWith(`contributed by rank ${rank}`), line);
});
