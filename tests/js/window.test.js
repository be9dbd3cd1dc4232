// One stretch of time for all pictures that time runs across: nearer, aside and back, and what they show of it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Surface } from "../../assets/paint/surface.js";
import { averages } from "../../assets/trace/averages.js";
import { LoadChart } from "../../assets/time/chart.js";
import { ORDERS, placesOf, rowsOf } from "../../assets/time/rows.js";
import { TimeAxis, TimeWindow } from "../../assets/time/window.js";
import time from "../../assets/views/time.js";
import { COLOURS, Canvas } from "./canvas.js";
import { NAMES, run } from "./runs.js";

const near = (a, b) => assert.ok(Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(b)), `${a}, not ${b}`);

const mean = (values, from, to) => values.slice(from, to).reduce((sum, value) => sum + value, 0) / (to - from);

function opened(total) {
  const window = new TimeWindow();
  window.follow(total);
  return window;
}

test("a window shows all at first, keeps the instant under the pointer, and never leaves the run", () => {
  const window = opened(4e-3);
  const axis = new TimeAxis(window, 100, 900);
  assert.ok(window.isHome);
  const t = axis.t(300);
  window.zoom(t, 5);
  near(axis.x(t), 300);
  near(window.span, 0.8e-3);
  window.shift(1);
  near(window.to, 4e-3);
  window.shift(-1);
  assert.equal(window.from, 0);
  window.reach(3e-3);
  assert.ok(window.from < 3e-3 && 3e-3 < window.to);
  const { turn } = window;
  window.reach(3e-3);
  assert.equal(window.turn, turn, "what is in sight moves nothing");
  window.zoom(0, 1e-9);
  assert.ok(window.isHome && window.turn > turn);
  window.zoom(1e-3, 1e12);
  assert.ok(window.span > 0 && window.from >= 0);
  window.follow(4e-3);
  assert.ok(!window.isHome, "the same run again is looked at as before");
  window.follow(5e-3);
  assert.ok(window.isHome);
});

test("the camera of an axis drags time along with the pointer", () => {
  const window = opened(1);
  const axis = new TimeAxis(window, 0, 100);
  window.zoom(0.5, 2);
  const t = axis.t(30);
  axis.camera.pan(20, 0);
  near(axis.x(t), 50);
  axis.camera.home();
  assert.ok(axis.camera.isHome);
  assert.deepEqual(axis.seen(-1, 2), [0, 100]);
  assert.equal(axis.seen(2, 3), null);
});

test("chart and messages follow one window, and show nothing beside it", async () => {
  const { timeline } = await run("ring");
  const window = opened(timeline.time);
  const surfaces = [new Canvas(1, 1), new Canvas(1, 1)];
  const chart = new LoadChart(timeline);
  const picture = time.open(timeline);
  const room = { width: 900, most: 500, span: timeline.time, window };
  chart.layout(new Surface(surfaces[0], COLOURS), room);
  picture.layout(new Surface(surfaces[1], COLOURS), room);
  const t = timeline.time * 0.3;
  picture.camera.zoomAt(picture.x(t), 0, 8);
  chart.paint(t);
  picture.paint(t, { focus: null, lit: null });
  near(chart.t(chart.x(t)), t);
  near(chart.x(window.from), 128);
  near(picture.x(window.to), 888);
  const playheads = () => surfaces[0].context.calls.filter(({ name }) => name === "fillRect").length;
  const before = playheads();
  chart.paint(timeline.time);
  assert.equal(playheads(), before, "an instant that is out of sight has no mark");
  near(chart.pick(chart.x(t), 60).t, t);
});

test("the nearer one comes the finer are the cells, and they add up to what the whole chart shows", async () => {
  const all = await Promise.all(NAMES.map(run));
  for (const { timeline } of all.filter((one) => one.timeline.meta.full && one.timeline.count < 9000)) {
    const { bins } = timeline.meta;
    const links = [...timeline.links.src.keys()];
    const whole = { from: 0, to: timeline.time, count: bins };
    const shares = averages(timeline, links, whole);
    assert.ok(shares.every((share, k) => Math.abs(share - timeline.c.load[k] / 255) < 1 / 128));
    const part = { from: timeline.time * 0.25, to: timeline.time * 0.5, count: bins };
    const fine = averages(timeline, links, part);
    for (const [j] of links.entries())
      near(mean(fine, j * bins, (j + 1) * bins), mean(shares, j * bins + bins / 4, j * bins + bins / 2));
  }
  const { timeline } = await run("ring");
  const chart = new LoadChart(timeline);
  const window = opened(timeline.time);
  chart.layout(new Surface(new Canvas(1, 1), COLOURS), { width: 900, span: timeline.time, window });
  chart.paint(0);
  near(chart.cell, timeline.time / timeline.meta.bins);
  window.zoom(timeline.time / 2, 8);
  chart.paint(0);
  near(chart.cell, timeline.time / timeline.meta.bins / 8);
});

test("messages over time stand in the order that is chosen for links", async () => {
  const { timeline } = await run("ring");
  const picture = time.open(timeline);
  const rows = (order) => {
    picture.layout(new Surface(new Canvas(1, 1), COLOURS), { width: 900, most: 500, span: timeline.time, order });
    return [...picture.ranks()].toSorted((a, b) => a[1].y - b[1].y).map(([rank]) => rank);
  };
  const all = Array.from({ length: timeline.meta.ranks }, (_, rank) => rank);
  for (const order of Object.keys(ORDERS)) {
    const places = rows(order);
    assert.deepEqual(places, placesOf(timeline, order).slice(0, all.length));
    assert.deepEqual(
      places.toSorted((a, b) => a - b),
      all,
    );
  }
  assert.deepEqual(rows("rank"), all);
  timeline.places.device.reverse();
  assert.deepEqual(rows("machine"), all.toReversed());
  timeline.places.device.reverse();
});

test("rows stand in the order that is chosen, pinned ones first, and a name tells its link", async () => {
  const { timeline } = await run("ring");
  const used = rowsOf(timeline, "machine", []);
  const name = (k) => `${timeline.devices.name[timeline.links.src[k]]} ${timeline.devices.name[timeline.links.dst[k]]}`;
  for (const order of Object.keys(ORDERS))
    assert.deepEqual(
      rowsOf(timeline, order, []).toSorted((a, b) => a - b),
      used.toSorted((a, b) => a - b),
    );
  const names = rowsOf(timeline, "name", []).map(name);
  assert.deepEqual(
    names,
    names.toSorted((a, b) => a.localeCompare(b, undefined, { numeric: true })),
  );
  const ranks = rowsOf(timeline, "rank", []).map((k) =>
    Math.max(timeline.devices.rank[timeline.links.src[k]], timeline.devices.rank[timeline.links.dst[k]]),
  );
  assert.deepEqual(
    ranks,
    ranks.toSorted((a, b) => a - b),
  );
  const pinned = [used.at(-1), used.at(3)];
  assert.deepEqual(rowsOf(timeline, "busy", pinned).slice(0, 2), pinned);
  const chart = new LoadChart(timeline);
  chart.arrange("busy", pinned);
  chart.layout(new Surface(new Canvas(1, 1), COLOURS), { width: 900, span: timeline.time });
  chart.paint(0);
  assert.deepEqual(
    [40, 53].map((y) => chart.nameAt(30, y)),
    pinned,
  );
  assert.equal(chart.nameAt(200, 40), -1);
  assert.equal(chart.nameAt(30, 5), -1);
});
