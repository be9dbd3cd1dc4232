// What tests of the page learn from its messages: that it is being drawn, and that it is at rest.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

const page = { listeners: [] };
page.WebSocket = class {
  addEventListener = (_, listener) => page.listeners.push(listener);
  send() {}
};
new Function("window", readFileSync(new URL("../browser/wire.js", import.meta.url), "utf8"))(page);
const socket = new page.WebSocket("ws://localhost/_stcore/stream");

// A field that holds bytes, whose length may need several ones.
const holding = (number, bytes) => {
  const length = bytes.length < 128 ? [bytes.length] : [(bytes.length & 127) | 128, bytes.length >>> 7];
  return [(number << 3) | 2, ...length, ...bytes];
};
const receive = (...bytes) => {
  for (const listener of page.listeners) listener({ data: new Uint8Array(bytes.flat()).buffer });
};

test("a page is drawn from one message to another, whatever stands before what tells it", () => {
  for (let last = 0; last < 256; last++) {
    for (const length of [1, 3, 130]) {
      const before = holding(2, [...Array(length - 1).fill(255), last]);
      receive(before, holding(4, [1, 2, 3]));
      assert.ok(page.wire.running, `begun, ${length} bytes and ${last}`);
      receive(before, [6 << 3, 0]);
      assert.ok(!page.wire.running, `finished, ${length} bytes and ${last}`);
    }
  }
});

test("a page has asked to be drawn again until that begins", () => {
  socket.send(new Uint8Array([...holding(3, [9]), ...holding(11, [8, 1])]));
  assert.ok(page.wire.asked);
  receive(holding(4, []));
  assert.ok(!page.wire.asked);
});
