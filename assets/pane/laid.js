// Where panes stand on the page, all at once: what is asked of a page between two changes has it laid out for the answer.

import { isFull } from "../player/fullscreen.js";

// Give panes the room there is for a view, with the `controls` below; `span` seconds are all there is to see where time
// runs, and `window` what is in sight of it; `told` knows how high sentences are.
export function lay(panes, { parent, controls, told, view, span, window }) {
  const below = controls.offsetHeight;
  const room = { below, told: told.highest(panes.map((pane) => pane.spoken)) };
  for (const pane of panes) pane.seat(view, room);
  for (const pane of panes) pane.measure({ several: panes.length > 1, below, full: isFull(parent) });
  for (const pane of panes) pane.layout({ span, window });
}
