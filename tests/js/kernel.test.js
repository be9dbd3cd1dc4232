// The kernel compiled ahead of time gives what Python recorded, to the bit.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Kernel } from "../../assets/kernel/kernel.js";

const FOLDER = process.env.RINGSIDE_ARENAS;
const HERE = new URL("../../assets/kernel/", import.meta.url);
const read = (name) => readFileSync(new URL(name, HERE));
const KINDS = {
  float64: Float64Array,
  int64: BigInt64Array,
  int32: Int32Array,
  uint32: Uint32Array,
  uint8: Uint8Array,
};
const PLENTY = 1n << 50n;
const NAMES = readdirSync(FOLDER).map((file) => file.replace(/\.json$/, ""));

function unpack(named) {
  const entries = Object.entries(named).map(([path, [kind, shape, base64]]) => {
    const bytes = Uint8Array.from(Buffer.from(base64, "base64"));
    return [path, [shape, new KINDS[kind](bytes.buffer)]];
  });
  return Object.fromEntries(entries);
}

const bytesOf = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength);

const open = () => Kernel.open(read("kernel.wasm"), JSON.parse(read("kernel.json")));

// Advance to a moment, with more room for history where it runs short; why it stopped.
function advance(kernel, horizon) {
  const { ALLOWANCE, PAUSED } = kernel.constants.kernel;
  for (;;) {
    kernel.view("count")[ALLOWANCE] = PLENTY;
    const why = kernel.advance(horizon);
    if (why !== PAUSED) return why;
    const room = kernel.view("net.history_transfer").length;
    kernel.resize("net.history_transfer", 2 * room);
    kernel.resize("net.history", [2 * room, 2]);
  }
}

// What changes at one instant changes before the kernel goes on.
function replay(kernel, { before, changes }) {
  kernel.place(unpack(before));
  let reached = 0;
  for (const [link, time, bandwidth] of changes) {
    if (time > reached && advance(kernel, time) === kernel.constants.kernel.DONE) return;
    reached = time;
    kernel.view("net.capacity")[link] = bandwidth;
    kernel.touch(link, time);
  }
  assert.equal(advance(kernel, Infinity), kernel.constants.kernel.DONE);
}

test("there are runs of every kind", () => assert.ok(NAMES.length >= 12));

for (const name of NAMES) {
  const run = JSON.parse(readFileSync(join(FOLDER, `${name}.json`), "utf8"));
  test(`${name}: every time and every rate is the recorded one`, async () => {
    const kernel = await open();
    for (const again of [false, true]) {
      replay(kernel, run);
      assert.equal(Number(kernel.view("count")[kernel.constants.kernel.WAVES]), run.waves);
      for (const [path, [, expected]] of Object.entries(unpack(run.after))) {
        const given = kernel.view(path).subarray(0, expected.length);
        assert.ok(bytesOf(given).equals(bytesOf(expected)), `${path}${again ? " of the second run" : ""}`);
      }
    }
  });
}

for (const name of NAMES) {
  const { plain, leads, before } = JSON.parse(readFileSync(join(FOLDER, `${name}.json`), "utf8"));
  if (plain)
    test(`${name}: leads are the recorded ones`, async () => {
      const kernel = await open();
      const { overhead, latency } = unpack(leads);
      const arrays = unpack(before);
      const given = kernel.leads({
        overhead: overhead[1],
        latency: latency[1],
        routeStart: arrays["net.route_start"][1],
        routeLinks: arrays["net.route_links"][1],
      });
      assert.ok(bytesOf(given).equals(bytesOf(arrays.lead[1])));
    });
}

test("arrays that do not fit are refused", async () => {
  const kernel = await open();
  assert.throws(() => kernel.place({ "net.state": [3, 0] }), { message: "net.state has 2 axes, not 1" });
  const links = new Float64Array(2);
  assert.throws(() => kernel.place({ "net.capacity": [3, links] }), { message: "net.capacity has 3 entries, not 2" });
});
