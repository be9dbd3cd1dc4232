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

// Move every picture's camera; `move` takes it and the middle of its surface.
export function moveCameras(panes, move) {
  const cameras = panes.map(({ picture }) => picture?.camera).filter(Boolean);
  const own = new Map(cameras.map((camera) => [camera.window ?? camera, camera])); // time is moved once for all
  for (const camera of own.values()) move(camera, ...camera.centre);
}
