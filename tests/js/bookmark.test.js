// A place as words of a link and back, and what is nothing in the runs it is read for.

import assert from "node:assert/strict";
import { test } from "node:test";
import { read, written } from "../../assets/player/bookmark.js";
import { register, registered } from "../../assets/player/registry.js";
import { run } from "./runs.js";

const [{ timeline: RING }, { timeline: FAULT }] = [await run("ring"), await run("fault")];
for (const name of ["machine", "shape"]) {
  if (!registered().some((view) => view.name === name)) register(name, { open: () => null, refuses: () => "" });
}

const PLACE = {
  t: 0.00123456789,
  view: "shape",
  cameras: [null, [2.5, 3.125, -0.75]],
  window: [0.001, 0.0025],
  chosen: [
    { kind: "place", rank: 2, index: 5 },
    { kind: "link", index: 3 },
  ],
  brush: [0.0011, 0.0012],
};

test("a place is read as it was written", () => {
  const timelines = [RING, FAULT];
  const words = written(PLACE, timelines, "machine");
  assert.deepEqual(words, {
    t: "0.00123456789",
    view: "shape",
    camera: "*2.5_3.125_-0.75",
    window: "0.001_0.0025",
    chosen: "place_2_5*link_3",
    brush: "0.0011_0.0012",
  });
  const { refused, ...place } = read(words, timelines);
  assert.deepEqual(refused, []);
  const { t, view, ...others } = PLACE;
  assert.deepEqual({ t, view, ...place }, { t, view, ...others });
});

test("everything that can be chosen has a word, and a rank has its own", () => {
  const device = RING.devices.rank.indexOf(3);
  for (const [focus, word] of [
    [{ kind: "device", index: device }, "rank_3"],
    [{ kind: "device", index: RING.devices.rank.indexOf(-1) }, `device_${RING.devices.rank.indexOf(-1)}`],
    [{ kind: "block", index: 7 }, "block_7"],
    [{ kind: "pair", index: 1 }, "pair_1"],
  ]) {
    const place = { ...PLACE, cameras: [null], chosen: [focus], window: null, brush: null };
    assert.equal(written(place, [RING], "").chosen, word);
    assert.deepEqual(read({ chosen: word }, [RING]).chosen, [focus]);
  }
});

test("what is as usual is left out", () => {
  const nowhere = { t: 0, view: "shape", cameras: [null, null], window: null, chosen: [null, null], brush: null };
  assert.deepEqual(written(nowhere, [RING, RING], "shape"), {});
});

const DAMAGED = {
  camera: ["1", "0.5_1_1", "2_x_1", "2_1_1_1", "1e9_1_1", "2_NaN_1", "2_0x1_1", "2_1_1*2_1_1", "Infinity_0_0", "2__1"],
  window: ["1_0", "-1_1", "0", "a_b", "99_100", "0_1_2", "1e-3_1e-3", "_"],
  brush: ["1_0", "0.002_", "later"],
  chosen: [
    ..."rank_8 rank_-1 rank_1.5 link_99999 block_1e3 device_ place_1 place_1_99 place_9_0 card_1 constructor_1".split(
      " ",
    ),
    ..."rank pair_99 link_3_4 __proto___1 *link_0".split(" "),
  ],
  view: ["nosuch", "<b>"],
};

test("what is nothing in these runs is left out and told", () => {
  for (const [name, words] of Object.entries(DAMAGED)) {
    for (const word of words) {
      const place = read({ [name]: word }, [RING]);
      assert.deepEqual(place.refused, [`${name}=${word}`], word);
      assert.deepEqual([place.cameras, place.chosen, place.window, place.brush], [[], [], null, null], word);
    }
  }
});
