// Where panes stand on the page, all at once: what is asked of a page between two changes has it laid out for the answer.

import { isFull } from "../player/fullscreen.js";

// Tell style sheets, of which all below an element are looked through for what that changes.
function say({ style }, name, length) {
  if (style.getPropertyValue(name) !== length) style.setProperty(name, length);
}

// Give panes the room there is for a view, with the `controls` below; `span` seconds are all there is to see where time
// runs, and `window` what is in sight of it.
export function lay(panes, { parent, controls, view, span, window }) {
  const below = controls.offsetHeight;
  const told = Math.max(...panes.map((pane) => pane.told));
  say(parent, "--rs-below", `${below}px`);
  say(parent, "--rs-told", `${told}px`);
  for (const pane of panes) pane.seat(view);
  for (const pane of panes) pane.measure({ several: panes.length > 1, below, full: isFull(parent) });
  for (const pane of panes) pane.layout({ span, window });
}
