// A few signs of Markdown as elements: **strong**, *slanted* and `code`; everything else is as it is written.

import { make } from "../player/elements.js";

const SIGNS = /\*\*(.+?)\*\*|`(.+?)`|\*(.+?)\*/g;
const TAGS = ["strong", "code", "em"];

export function write(element, text) {
  element.replaceChildren();
  let at = 0;
  for (const match of text.matchAll(SIGNS)) {
    element.append(text.slice(at, match.index));
    const k = match.slice(1).findIndex((part) => part !== undefined);
    make(TAGS[k], "", element).textContent = match[k + 1];
    at = match.index + match[0].length;
  }
  element.append(text.slice(at));
}
