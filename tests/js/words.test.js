import assert from "node:assert/strict";
import { test } from "node:test";
import { firstFrom, offLine, pointAlong, walk } from "../../assets/trace/walk.js";
import { TimeScale, bytesText, fill, percent, rateText, seconds, sizesIn } from "../../assets/trace/words.js";

test("numbers are said with the unit that suits them", () => {
  assert.deepEqual([0, 4.991e-4, 0.0021, 3, 120].map(seconds), ["0 ns", "499.1 µs", "2.1 ms", "3 s", "120 s"]);
  assert.deepEqual([1, 1023, 1024, 1536, 2 ** 26].map(bytesText), ["1 B", "1023 B", "1 KiB", "1.5 KiB", "64 MiB"]);
  assert.deepEqual([0, 0.3, 1e9, 2 ** 26 / 3].map(bytesText), ["0 B", "0.3 B", "1 GB", "22.37 MB"], "as fmt_size says");
  assert.deepEqual([25e9, 1.5625e9].map(rateText), ["25 GB/s", "1.56 GB/s"]);
  assert.equal(percent(0.256), "26%");
});

test("sizes of a table have one unit, that of the largest", () => {
  const sizes = [0, 2 ** 19, 2 ** 20 * 1.3, 2 ** 26];
  assert.deepEqual(sizes.map(sizesIn(2 ** 26)), ["0 MiB", "0.5 MiB", "1.3 MiB", "64 MiB"]);
  assert.deepEqual([0, 1000, 2 ** 26 / 3].map(sizesIn(2 ** 26 / 3)), ["0 MB", "0.001 MB", "22.37 MB"]);
  assert.deepEqual([0, 0.3].map(sizesIn(0)), ["0 B", "0.3 B"]);
});

test("placeholders are filled, and what has no value is left out", () => {
  assert.equal(fill("{src} → {dst}{more}", { src: "a", dst: 0 }), "a → 0");
});

test("the first of rising times that is not before one", () => {
  const times = [0, 1, 1, 4];
  const first = (t) => firstFrom(times.length, (k) => times[k], t);
  assert.deepEqual([-1, 0, 0.5, 1, 2, 5].map(first), [0, 0, 1, 1, 3, 4]);
  assert.equal(
    firstFrom(0, () => 0, 1),
    0,
  );
});

test("a point goes along a way at an even speed, and a standing one stays", () => {
  const way = walk([
    [0, 0],
    [3, 0],
    [3, 1],
  ]);
  assert.deepEqual(pointAlong(way, 0.5), { x: 2, y: 0, dx: 1, dy: 0 });
  assert.deepEqual(pointAlong(way, 1), { x: 3, y: 1, dx: 0, dy: 1 });
  const still = walk([
    [2, 2],
    [2, 2],
  ]);
  assert.deepEqual(pointAlong(still, 0.5), { x: 2, y: 2, dx: 0, dy: 0 });
});

test("how far a point is from a stretch, beside it and beyond its ends", () => {
  assert.equal(offLine(1, 2, 0, 0, 4, 0), 2);
  assert.equal(offLine(7, 4, 0, 0, 4, 0), 5);
  assert.equal(offLine(3, 4, 0, 0, 0, 0), 5);
});

test("what a time is made of is said in figures that add up", () => {
  const scale = TimeScale.of(4.991e-4);
  const counts = scale.counts([2.804e-5, 4.7106e-4]);
  assert.deepEqual(
    [...counts, counts[0] + counts[1], -3].map((count) => scale.text(count)),
    ["28.0 µs", "471.1 µs", "499.1 µs", "-0.3 µs"],
  );
  assert.deepEqual(TimeScale.of(3).counts([1.0004, 0.9996, 1 / 3]), [1000, 1000, 333]);
  assert.deepEqual(TimeScale.of(1).counts([1 / 3, 1 / 3, 1 / 3]), [334, 333, 333]);
  assert.equal(TimeScale.of(0).text(0), "0.000 ns");
});
