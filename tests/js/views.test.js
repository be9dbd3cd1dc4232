// Every view paints every run at any instant, and tells what stands under the pointer.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { paintIcon } from "../../assets/paint/icons.js";
import { LEAST } from "../../assets/paint/labels.js";
import { Surface } from "../../assets/paint/surface.js";
import { labelOf, register, registered } from "../../assets/player/registry.js";
import { pointAlong } from "../../assets/trace/walk.js";
import { COLOURS, Canvas } from "./canvas.js";
import { NAMES, run } from "./runs.js";

const FOLDER = new URL("../../assets/views/", import.meta.url);
const ROOM = { width: 800, most: 560, span: 0.01 };

for (const file of readdirSync(FOLDER)) {
  // one after the other: the order must not matter, but the list has to be whole before the tests are made
  // oxlint-disable-next-line no-await-in-loop
  register(file.replace(/\.js$/, ""), (await import(new URL(file, FOLDER))).default);
}

// A view's picture of a run, laid out, and what it has painted at an instant.
function opened(name, timeline, span = timeline.time, width = ROOM.width) {
  const canvas = new Canvas(1, 1);
  const picture = registered()
    .find((view) => view.name === name)
    .open(timeline);
  picture.layout(new Surface(canvas, COLOURS), { ...ROOM, width, span });
  const { context } = canvas;
  return {
    canvas,
    picture,
    paint(t, state = {}) {
      context.calls = [];
      picture.paint(t, { focus: null, lit: null, ...state });
      return context.calls;
    },
  };
}

const numbers = (calls) => calls.flatMap(({ args }) => args.flat(3)).filter((value) => typeof value === "number");

const open = () => null;

const LISTED = registered();

test("views stand in their order, those without one last, each under its label where no text says it better", () => {
  register("zoo", { label: "A zoo", open, refuses: () => "" });
  register("ants", { open, refuses: () => "" });
  const ours = ["machine", "shape", "matrix", "time", "ants", "zoo"];
  const views = registered().filter(({ name }) => ours.includes(name));
  assert.deepEqual(
    views.map(({ name }) => name),
    ours,
  );
  const [ants, zoo] = views.slice(-2);
  assert.deepEqual(
    [labelOf(ants, {}), labelOf(zoo, {}), labelOf(zoo, { "player.view.zoo": "动物园" })],
    ["ants", "A zoo", "动物园"],
  );
  assert.throws(() => register("hole", { label: "no picture" }), /the view hole has no function open/);
});

for (const name of NAMES) {
  for (const { name: view, refuses } of LISTED) {
    test(`${view} paints ${name} at any instant, every number finite`, async () => {
      const { timeline, instants } = await run(name);
      if (refuses(timeline)) {
        assert.match(refuses(timeline), /^player\.\w+$/);
        return;
      }
      const { canvas, paint } = opened(view, timeline);
      assert.ok(canvas.height >= 20 && canvas.width === 800);
      for (const { t } of instants) {
        const calls = paint(t, { lit: timeline.critical(), focus: { kind: "block", index: 0 } });
        assert.ok(calls.length > 1);
        assert.ok(numbers(calls).every(Number.isFinite));
      }
    });
  }
}

for (const view of ["machine", "shape", "matrix"]) {
  test(`${view} paints a block for every message that is under way, and finds it again`, async () => {
    const { timeline } = await run("ring");
    const { paint, picture } = opened(view, timeline);
    const t = timeline.time * 0.3;
    const painted = paint(t).filter(({ name, fillStyle }) => name === "fill" && COLOURS.blocks.includes(fillStyle));
    assert.equal(painted.length, timeline.moving(t).length);
    const chosen = painted.map(({ args: [[[left, top], [right, bottom]]] }) =>
      picture.pick((left + right) / 2, (top + bottom) / 2),
    );
    assert.deepEqual(
      chosen.map(({ kind, index }) => [kind, index]),
      timeline.moving(t).map((i) => ["block", i]),
    );
  });
}

test("the machine finds devices and links under the pointer, and nothing in a corner", async () => {
  const { timeline } = await run("ring");
  const { paint, picture } = opened("machine", timeline);
  paint(0);
  const kinds = new Map();
  for (let x = 0; x < 800; x += 4) {
    for (let y = 0; y < 560; y += 4) {
      const focus = picture.pick(x, y);
      if (focus) kinds.set(focus.kind, (kinds.get(focus.kind) ?? new Set()).add(focus.index));
    }
  }
  assert.equal(kinds.get("device").size, timeline.devices.name.length);
  assert.ok(kinds.get("link").size >= timeline.links.src.length * 0.9);
  assert.equal(picture.pick(1, 1), null);
});

const laid = (context) => context.calls.filter(({ name }) => name === "drawImage").map(({ args }) => args[0].context);

test("loads are painted again only when one has changed", async () => {
  const { timeline } = await run("ring");
  const { canvas, paint, picture } = opened("machine", timeline);
  paint(timeline.time * 0.3);
  assert.deepEqual(laid(canvas.context), [], "what is new is painted at once");
  assert.ok(canvas.context.calls.some(({ name }) => name === "stroke"));
  paint(timeline.time * 0.31);
  const layers = laid(canvas.context);
  const [, flow] = layers;
  assert.equal(layers.length, 3, "what stays is laid at once");
  const strokes = flow.calls.filter(({ name }) => name === "stroke").length;
  assert.ok(strokes > 0);
  for (const share of [0.311, 0.312]) picture.paint(timeline.time * share, { focus: null, lit: null });
  assert.equal(flow.calls.filter(({ name }) => name === "stroke").length, strokes);
  const [still, again, ...more] = laid(canvas.context).slice(3);
  assert.equal(still, again);
  assert.deepEqual(more, []);
  assert.deepEqual(laid(still), layers, "what stands still is laid on one sheet once");
});

test("a link with a fault bears a sign with what is left of it, while it lasts", async () => {
  const { timeline } = await run("fault");
  const { paint } = opened("machine", timeline);
  const [{ begin, end, link }] = timeline.spells;
  const signs = (t) => paint(t).filter(({ name, args }) => name === "fillText" && args[0] === "50%").length;
  assert.equal(signs(begin / 2), 0);
  assert.equal(signs((begin + end) / 2), timeline.spells.length);
  assert.ok(pointAlong({ points: timeline.lines[link], along: [0, 1] }, 0.36).x > 0);
});

test("signs cover neither each other nor a device, as narrow as a picture may be", async () => {
  for (const name of ["slow", "fault"]) {
    const { timeline } = await run(name); // oxlint-disable-line no-await-in-loop
    const [{ begin, end }] = timeline.spells;
    for (const width of [800, 362, 220]) {
      const { paint, picture } = opened("machine", timeline, timeline.time, width);
      const signs = paint((begin + Math.min(end, timeline.time)) / 2).filter(({ args }) => args[0] === "50%");
      assert.equal(signs.length, timeline.spells.length);
      const boxes = signs.map(({ args: [, x, y] }) => [x - 14, y - 9.5, x + 14, y + 8.5]);
      const [wide, high] = timeline.kinds.GPU.map((length) => (length * picture.camera.scale) / 2);
      const devices = [...picture.ranks().values()].map(({ x, y }) => [x - wide, y - high, x + wide, y + high]);
      for (const [k, one] of boxes.entries())
        for (const other of [...boxes.slice(k + 1), ...devices])
          assert.ok(one[0] >= other[2] || other[0] >= one[2] || one[1] >= other[3] || other[1] >= one[3]);
    }
  }
});

const INSTANTS = Array.from({ length: 20 }, (_, k) => (k + 0.5) / 20);
const meets = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

// Names as [word, box], as the canvas of these tests measures them: all that are seen when all is painted, which are those
// that nothing was painted over after them.
function covered(calls, words) {
  const names = calls.flatMap(({ name, args: [word, x, y], font }, k) => {
    if (name !== "fillText" || !words.has(word)) return [];
    const [half, high] = [3 * word.length, Number.parseFloat(font.split(" ")[1]) / 2];
    return [{ word, k, box: [x - half, y - high, x + half, y + high] }];
  });
  const last = new Map(names.map((one) => [`${one.word} ${one.box}`, one]));
  const blocks = calls.flatMap(({ name, args: [points], fillStyle }, k) =>
    name === "fill" && COLOURS.blocks.includes(fillStyle) ? [{ k, box: [...points[0], ...points[1]] }] : [],
  );
  return [...last.values()].filter(({ k, box }) => blocks.some((block) => block.k > k && meets(block.box, box)));
}

for (const name of ["ring", "contention", "doubling", "folded", "tree", "in_switch", "fault", "sockets"]) {
  test(`no block covers a name on the machine of ${name}, as wide as a page or a phone`, async () => {
    const { timeline } = await run(name);
    const words = new Set(timeline.devices.label.flat());
    for (const width of [800, 340])
      for (const share of INSTANTS) {
        const calls = opened("machine", timeline, timeline.time, width).paint(timeline.time * share);
        assert.deepEqual(covered(calls, words), [], `${width} px at ${share}`);
      }
  });

  test(`every device of the machine of ${name} has its name where there is room`, async () => {
    const { timeline } = await run(name);
    const { devices, kinds } = timeline;
    const { paint, picture } = opened("machine", timeline);
    const written = new Set(paint(0).map(({ args: [word] }) => word));
    const isSmall = (d) => kinds[devices.kind[d]][1] * picture.camera.scale < LEAST + 1;
    for (const [d, label] of devices.label.entries())
      if (!devices.hidden.includes(d) && !isSmall(d))
        assert.ok(
          label.some((word) => written.has(word)),
          label[0],
        );
  });
}

test("idle PCIe is one mark, which opens where it is pressed and closes beside all devices", async () => {
  const { timeline } = await run("folded");
  const { paint, picture } = opened("machine", timeline);
  const written = () => new Set(paint(0).map(({ args: [word] }) => word));
  assert.ok([...written()].some((word) => String(word).startsWith("PCIe idle")) && !written().has("NIC 0"));
  const [, , x, y, wide, high] = timeline.devices.boxes.find(([, kind]) => kind === "idle");
  const at = [picture.camera.x(x + wide / 2), picture.camera.y(y + high / 2)];
  assert.equal(picture.press(2, 2), false);
  assert.equal(picture.press(...at), true);
  const canvas = new Canvas(1, 1);
  picture.layout(new Surface(canvas, COLOURS), { ...ROOM, span: timeline.time });
  picture.paint(0, { focus: null, lit: null });
  assert.ok(canvas.context.calls.some(({ args }) => args[0] === "NIC 0" || args[0] === "0"));
  assert.equal(picture.press(1, 1), true);
});

test("a box without room for its name has the sign of its kind", () => {
  const signs = ["CPU", "NET", "NIC", "NVS", "PCI"].map((kind) => {
    const g = new Canvas(100, 100).getContext("2d");
    paintIcon(g, kind, [0, 0, 20, 12], "#000000");
    paintIcon(g, kind, [0, 0, 4, 3], "#000000"); // a mark alone
    return JSON.stringify(g.calls.map(({ args }) => args));
  });
  assert.equal(new Set(signs).size, 4); // switches alike
  assert.ok(signs.every((sign) => sign.includes("[")));
});

test("messages over time end where they have got to, and the clock's hand stands at the instant", async () => {
  const { timeline } = await run("ring");
  const { paint, picture } = opened("time", timeline);
  const t = timeline.time * 0.5;
  const calls = paint(t);
  const [left, , width] = calls.find(({ name, args }) => name === "fillRect" && args[2] === 1.5).args;
  assert.ok(Math.abs(left + width / 2 - picture.x(t)) < 1e-9);
  const moving = calls.filter(({ name, lineWidth }) => name === "stroke" && lineWidth === 2.6);
  const tips = moving.flatMap(({ args: [points] }) => points.filter((_, k) => k % 2));
  assert.equal(tips.length, timeline.moving(t).length);
  for (const [x] of tips) assert.ok(x <= picture.x(t) + 1e-6);
});

test("where time runs, several runs on one clock end where each of them does", async () => {
  const { timeline } = await run("ring");
  const { picture } = opened("time", timeline, timeline.time * 2);
  assert.ok(Math.abs(picture.x(timeline.time) - (34 + (800 - 46) / 2)) < 1e-9);
});
