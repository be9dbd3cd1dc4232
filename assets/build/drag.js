// Blocks under a finger or a pointer: a press that moves is a drag, and ends on the rank it is let go over.

const FAR = 6; // CSS pixels

export class Drag {
  #from = null;
  #ghost = null;

  // `begin(cell)` says whether it can be taken; `drop(cell, card, place)` is called where it is let go over a rank.
  constructor(root, { begin, over, drop }) {
    this.root = root;
    this.begin = begin;
    this.over = over;
    this.drop = drop;
    this.dragged = false;
    root.addEventListener("pointerdown", (event) => this.#press(event));
    root.addEventListener("pointermove", (event) => this.#move(event));
    root.addEventListener("pointerup", (event) => this.#release(event));
    root.addEventListener("pointercancel", () => {
      this.dragged = false; // no click comes after it
      this.#end();
    });
  }

  #press(event) {
    const cell = event.target.closest?.(".rb-cell.rb-full");
    this.dragged = false;
    if (!cell || event.button > 0) return;
    this.#from = { cell, x: event.clientX, y: event.clientY, id: event.pointerId };
  }

  #move(event) {
    const from = this.#from;
    if (!from || event.pointerId !== from.id) return;
    if (!this.#ghost) {
      if (Math.hypot(event.clientX - from.x, event.clientY - from.y) < FAR) return;
      if (!this.begin(from.cell)) return;
      this.root.setPointerCapture(from.id);
      this.dragged = true;
      this.#ghost = from.cell.cloneNode(true);
      this.#ghost.removeAttribute("data-key");
      this.#ghost.classList.add("rb-ghost");
      this.root.append(this.#ghost);
    }
    const home = this.root.getBoundingClientRect();
    this.#ghost.style.transform = `translate(${event.clientX - home.x - 20}px, ${event.clientY - home.y - 20}px)`;
    this.over(this.#under(event).card);
  }

  #under({ clientX, clientY }) {
    const at = this.root.getRootNode().elementsFromPoint(clientX, clientY);
    const place = at.find((element) => element.matches?.(".rb-cell:not(.rb-ghost)"));
    return { place, card: at.find((element) => element.matches?.(".rb-card")) };
  }

  #release(event) {
    const { cell } = this.#from ?? {};
    const going = Boolean(this.#ghost);
    this.#end();
    if (!going) return;
    setTimeout(() => (this.dragged = false)); // the click that ends a drag comes before
    const { card, place } = this.#under(event);
    if (card) this.drop(cell, card, place);
  }

  #end() {
    this.#ghost?.remove();
    this.#ghost = null;
    this.#from = null;
    this.over(null);
  }
}
