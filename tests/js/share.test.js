// Code that shows an address elsewhere: a frame, and a cell of a notebook.

import assert from "node:assert/strict";
import { test } from "node:test";
import { cellOf, frameOf, stepsOf } from "../../assets/share/share.js";

const HREF = "https://x.org/?machine=switch%3Aranks%3D3&t=0.001&embed=true&page=learn#part";

test("a frame shows the picture alone and fits its place", () => {
  const code = frameOf(HREF, 'a "title"');
  assert.match(code, /src="https:\/\/x.org\/\?machine=switch%3Aranks%3D3&amp;t=0.001&amp;embed=true&amp;page=learn"/);
  assert.match(code, /title="a &quot;title&quot;"/);
  assert.match(code, /width:100%/);
});

test("a cell names the run and its instant", () => {
  const cell = 'from ringside.notebook import show\n\nshow("?machine=switch%3Aranks%3D3&t=0.001")';
  assert.equal(cellOf(HREF), cell);
});

test("a link to the steps has the run, and nothing of an instant", () => {
  const href = "https://x.org/?machine=switch%3Aranks%3D3&t=0.001&values=small&view=shape#part";
  assert.equal(
    stepsOf(href),
    "https://x.org/?machine=switch%3Aranks%3D3&values=small&view=shape&page=steps&embed=true",
  );
});
