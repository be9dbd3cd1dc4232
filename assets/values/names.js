// Labels of blocks in flight and of places: block names.

export class Names {
  constructor(timeline) {
    this.timeline = timeline;
  }

  // Of a message: of its block, or how many there are.
  message(i) {
    const { c, moveStart } = this.timeline;
    return c.moves[i] > 1 ? `${c.moves[i]}×` : this.timeline.blockName(c.block[moveStart[i]]);
  }

  // Of a place that holds a block.
  place(place, held) {
    return this.timeline.blockName(held.block[place]);
  }

  get longest() {
    const { blockNames, meta } = this.timeline;
    const names = blockNames?.length ? blockNames : [String(meta.slots - 1)];
    return names.reduce((a, b) => (b.length > a.length ? b : a));
  }
}
