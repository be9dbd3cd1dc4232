// A page answers what if as Python does, to the bit.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { answered } from "../../assets/answer/answered.js";
import { changesOf } from "../../assets/answer/change.js";
import { factsOf } from "../../assets/answer/facts.js";
import { Kernel } from "../../assets/kernel/kernel.js";
import { decode } from "../../assets/trace/decode.js";
import { derived } from "../../assets/whatif/derived.js";
import { Runner } from "../../assets/whatif/whatif.js";
import { NeedsPythonError, Plan, isKnown } from "../../assets/whatif/words.js";

const FOLDER = process.env.RINGSIDE_WHATIFS;
const HERE = new URL("../../assets/kernel/", import.meta.url);
const read = (name) => readFileSync(new URL(name, HERE));
const kernel = await Kernel.open(read("kernel.wasm"), JSON.parse(read("kernel.json")));
const SETS = ["leaves", "brings", "single"]; // numbers of sets, which may be numbered otherwise
const OTHERS = new Set([...SETS, "sets"]);
const LINES = /^(unfolded_)?line_/; // a picture keeps what is folded in it, whatever a link carries then
const load = (file) => JSON.parse(readFileSync(join(FOLDER, file), "utf8"));
const bytesOf = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength);

function same(got, want, what) {
  assert.equal(got.constructor, want.constructor, what);
  assert.equal(Buffer.compare(bytesOf(got), bytesOf(want)), 0, what);
}

const spelled = ({ sets, ...columns }, name) =>
  Array.from(columns[name], (set) => (sets.length ? `${sets[2 * set]},${sets[2 * set + 1]}` : set));

const shown = (parts) =>
  // instants are written otherwise in Python
  parts.map((spans) => spans.map(([words, shows]) => [words, shows.startsWith("t:") ? Number(shows.slice(2)) : shows]));

const BASES = await Promise.all(
  readdirSync(FOLDER).map(async (file) => {
    const { payload, whatifs, texts } = load(file);
    return { file, whatifs, texts, base: await decode(payload.tl) };
  }),
);

for (const { file, base, whatifs, texts } of BASES) {
  const runner = new Runner(kernel, base);
  const before = factsOf(base, runner.raw([]));
  for (const { specs, answers } of whatifs)
    for (const [language, { headline, reason, remedy }] of Object.entries(answers))
      test(`${file}, in words, ${language}: ${specs.join("; ")}`, () => {
        const [text, { faults, meta }] = [texts[language], base];
        const changes = changesOf([], specs, { faults, size: meta.size, text });
        const timeOf = (spec) => runner.raw([...specs, spec]).run.time;
        const got = answered(before, factsOf(base, runner.raw(specs)), changes, text, timeOf);
        assert.deepEqual(shown([got.headline, got.reason]), shown([headline, reason]));
        assert.deepEqual(got.later ? got.later() : [], remedy);
      });
  for (const { specs, raw, time, payload: packed } of whatifs)
    test(`${file}: ${specs.join("; ")}`, async () => {
      const { plan, run } = runner.raw(specs);
      assert.equal(run.time, time);
      for (const name of ["start", "end", "left"]) same(run[name], Float64Array.from(raw[name]), name);
      same(run.cause, Int32Array.from(raw.cause), "cause");
      const [got, want] = [derived(base, plan, run), await decode(packed.tl)];
      const isPlacedAlike = String(want.devices.hidden) === String(base.devices.hidden);
      for (const [name, column] of Object.entries(want.c))
        if (!OTHERS.has(name) && (isPlacedAlike || !LINES.test(name))) same(got.columns[name], column, name);
      for (const name of SETS) assert.deepEqual(spelled(got.columns, name), spelled(want.c, name), name);
      const { caption: _, ...steps } = want.steps; // sentences stay those of the run that was packed
      for (const [name, value] of Object.entries(steps)) assert.deepEqual(got.header.steps[name], value, name);
      for (const name of ["meta", "links", "faults", "why"])
        assert.deepEqual(got.header[name], want.header[name], name);
    });
}

test("what needs Python is left to it", () => {
  const [{ base }] = BASES;
  const [src, dst] = [base.links.src[0], base.links.dst[0]].map((device) => base.devices.name[device]);
  const link = `src=${src},dst=${dst}`;
  for (const spec of [
    "jitter",
    "swap_ranks:rank=0,other=1",
    `dead_link:${link},reroute=yes`,
    `slow_link:${link},share=0.5,both=no`,
    `set_link:${link},bandwidth=3parsecs`,
    "size:bytes=1.5",
  ])
    assert.throws(() => new Plan(base, [spec]), NeedsPythonError, spec);
  assert.throws(() => new Runner(kernel, base).run([`dead_link:${link}`]), NeedsPythonError, "it never ends");
  assert.deepEqual(["jitter", "slow_link:src=a", "size:bytes=1"].map(isKnown), [false, true, true]);
});

test("what is dragged once more takes the place of what it was dragged to", () => {
  const { base } = BASES.find(({ file }) => file === "ring.json");
  const [late, later] = [10, 20].map((time) => `straggler:rank=1,late=${time}us`);
  const twice = new Plan(base, [late, later]);
  assert.deepEqual([twice.faults, twice.isFurther], [[later], true]);
  assert.equal(new Plan(base, [late, "straggler:rank=2,late=1us", later]).faults.length, 3);
  const wide = "set_link:src=GPU0,dst=SW,bandwidth=8GBps";
  assert.ok(new Plan(base, [wide, wide.replace("8", "4")]).isFurther);
});
