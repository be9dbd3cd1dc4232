// The pictures of a run, one for every view that can show it, each made when it is first asked for.

import { registered } from "../player/registry.js";

const FIRST = "machine"; // every run can be shown on its machine

export class Pictures {
  #made = new Map();
  #timeline;

  constructor(timeline) {
    this.#timeline = timeline;
  }

  // The view that shows it where another one is asked for.
  shown(name) {
    const view = registered().find((one) => one.name === name);
    return view && !view.refuses(this.#timeline) ? name : FIRST;
  }

  of(name) {
    this.view = name; // the one that was asked for last
    const view = registered().find((one) => one.name === this.shown(name));
    if (!this.#made.has(view)) this.#made.set(view, view.open(this.#timeline));
    return this.#made.get(view);
  }
}

// Every block on its way at t, where a picture of the run shows it.
export function blocksOf(timeline, picture, t) {
  const places = picture?.places?.(t);
  const blocks = timeline?.blocks(t) ?? [];
  for (const block of blocks) Object.assign(block, { bundle: null }, places?.get(block.transfer));
  return blocks;
}
