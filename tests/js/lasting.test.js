// What stands in a place of the page, in every order in which Streamlit may call a script there.

import assert from "node:assert/strict";
import { test } from "node:test";
import { lasting } from "../../assets/player/lasting.js";

const UPDATES = 3;

// A place of the page with a mounted script; things that stand there are `alive`.
class Scene {
  constructor() {
    this.alive = [];
    this.root = { isConnected: true, querySelector: () => null };
    const made = () => {
      const thing = { data: null, close: () => this.alive.splice(this.alive.indexOf(thing), 1) };
      this.alive.push(thing);
      return thing;
    };
    this.mount = lasting(made, (thing, { data }) => (thing.data = data));
    this.rendered = -1;
    this.ends = [];
    this.last = null;
  }

  // New data comes, and the script is imported for it.
  render(k) {
    this.rendered = k;
  }

  // The script is there: it is called, and what ends the call is kept, or called where newer data has come.
  imported(k) {
    this.ends[k] = this.mount({ data: k, parentElement: this.root });
    if (this.rendered === k) this.last = this.ends[k];
  }

  overtaken(k) {
    this.ends[k]();
  }
}

// Every order of the events of some updates: the rest of an order, after those events that have come.
function* orders(came = []) {
  const next = [];
  const count = (name) => came.filter(([each]) => each === name).length;
  const [rendered, imported] = [count("render"), count("imported")];
  if (rendered < UPDATES) next.push(["render", rendered]);
  if (imported < rendered) next.push(["imported", imported]);
  const late = came.filter(([name, k], at) => name === "imported" && came.slice(0, at).some((e) => e[1] > k));
  const ended = count("overtaken");
  if (ended < late.length) next.push(["overtaken", late[ended][1]]);
  if (!next.length) yield came;
  for (const event of next) yield* orders([...came, event]);
}

test("One thing stands in a place, with the newest data, until the place has gone", () => {
  const all = [...orders()];
  assert.ok(all.length > 5);
  assert.ok(all.some((order) => order.at(-1)[0] === "overtaken"));
  for (const order of all) {
    const scene = new Scene();
    for (const [name, k] of order) {
      scene[name](k);
      assert.ok(scene.alive.length <= 1, JSON.stringify(order));
    }
    assert.deepEqual(
      scene.alive.map(({ data }) => data),
      [UPDATES - 1],
      JSON.stringify(order),
    );
    scene.root.isConnected = false;
    scene.last();
    assert.deepEqual(scene.alive, []);
  }
});

test("What is old is made again", () => {
  const closed = [];
  const mount = lasting(
    (root, { data }) => ({ data, close: () => closed.push(data) }),
    () => {},
    (thing, { data }) => thing.data !== data,
  );
  const parentElement = { isConnected: true, querySelector: () => null };
  for (const data of ["a", "a", "b"]) mount({ data, parentElement });
  assert.deepEqual(closed, ["a"]);
});
