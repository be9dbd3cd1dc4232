// Files that the page sends are saved once for their numbers, however often they are sent.

import assert from "node:assert/strict";
import { test } from "node:test";
import mount from "../../assets/share/save.js";

const files = (...numbers) => {
  const about = numbers.map((number) => ({ number, name: `é${number}.png`, media: "image/png", size: 3 }));
  return new TextEncoder().encode(`${JSON.stringify(about)}\n${numbers.map((number) => `${number}\nB`).join("")}`);
};

test("a file is saved once, and the page hears of all that it has sent each time", async ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const links = [];
  globalThis.document = { createElement: () => ({ click: () => {} }) };
  const { createElement } = globalThis.document;
  globalThis.document.createElement = (name) => links[links.push(createElement(name)) - 1];
  const blobs = [];
  URL.createObjectURL = (blob) => `blob:${blobs.push(blob)}`;
  const heard = [];
  for (const data of [new Uint8Array(), files("a"), files("a"), files("a", "b")])
    mount({ data, setTriggerValue: (name, numbers) => heard.push([name, numbers]) });
  assert.deepEqual(
    links.map(({ download, href }) => [download, href]),
    [
      ["éa.png", "blob:1"],
      ["éb.png", "blob:2"],
    ],
  );
  assert.equal(blobs[0].type, "image/png");
  assert.equal(await blobs[0].text(), "a\nB");
  assert.equal(await blobs[1].text(), "b\nB");
  assert.deepEqual(heard, [
    ["saved", ["a"]],
    ["saved", ["a"]],
    ["saved", ["a", "b"]],
  ]);
});
