// A file that the page sends is saved once for its number, however often it is sent.

import assert from "node:assert/strict";
import { test } from "node:test";
import mount from "../../assets/share/save.js";

const file = (number) => new TextEncoder().encode(`{"number":"${number}","name":"é.png","media":"image/png"}\nA\nB`);

test("a file is saved once, and the page hears so each time", async ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const links = [];
  globalThis.document = { createElement: () => ({ click: () => {} }) };
  const { createElement } = globalThis.document;
  globalThis.document.createElement = (name) => links[links.push(createElement(name)) - 1];
  const blobs = [];
  URL.createObjectURL = (blob) => `blob:${blobs.push(blob)}`;
  const heard = [];
  for (const data of [new Uint8Array(), file("a"), file("a"), file("b")])
    mount({ data, setTriggerValue: (name, number) => heard.push([name, number]) });
  assert.deepEqual(
    links.map(({ download, href }) => [download, href]),
    [
      ["é.png", "blob:1"],
      ["é.png", "blob:2"],
    ],
  );
  assert.equal(blobs[0].type, "image/png");
  assert.equal(await blobs[0].text(), "A\nB");
  assert.deepEqual(heard, [
    ["saved", "a"],
    ["saved", "a"],
    ["saved", "b"],
  ]);
});
