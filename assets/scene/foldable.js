// A machine whose idle devices are folded into marks, until one is pressed; and folded again by a press on nothing.

export class Foldable {
  #folded;
  #now;
  #whole;

  constructor(folded, whole) {
    [this.#folded, this.#whole, this.#now] = [folded, whole, folded];
  }

  get camera() {
    return this.#now.camera;
  }

  get timeline() {
    return this.#now.timeline;
  }

  // What stands where now, and all that may stand anywhere.
  get scene() {
    return this.#now.scene;
  }

  get scenes() {
    return [this.#folded.scene, this.#whole.scene];
  }

  layout(surface, room) {
    this.#now.layout(surface, room);
  }

  paint(t, state) {
    this.#now.paint(t, state);
  }

  places(t) {
    return this.#now.places(t);
  }

  ranks() {
    return this.#now.ranks();
  }

  pick(x, y) {
    return this.#now.pick(x, y);
  }

  tells(room) {
    return this.#now.tells(room);
  }

  tileOf(device) {
    return this.#now.tileOf(device);
  }

  // Open or close the mark at a point. Returns whether the layout changes, or the box of a tile that may be opened.
  press(x, y) {
    const tile = this.#now.press(x, y);
    if (tile) return tile;
    const isOpen = this.#now === this.#whole;
    if (isOpen ? this.pick(x, y) : !this.#now.isMark(x, y)) return false;
    this.#now = isOpen ? this.#folded : this.#whole;
    return true;
  }
}
