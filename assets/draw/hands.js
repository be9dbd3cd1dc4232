// A pointer or a finger on the picture: a press that moves drags a device or a host, or draws a link from a device.

const FAR = 6; // CSS pixels

export class Hands {
  #from = null;

  // `drag(list, id, start, now)` is called while something is moved, `drop` where it is let go, `end` after either.
  constructor(scene, { drag, drop, end }) {
    Object.assign(this, { scene, drag, drop, end, dragged: false });
    const { plane } = scene;
    plane.addEventListener("pointerdown", (event) => this.#press(event));
    plane.addEventListener("pointermove", (event) => this.#move(event));
    plane.addEventListener("pointerup", (event) => this.#release(event));
    plane.addEventListener("pointercancel", () => this.#stop());
  }

  #press(event) {
    const part = event.target.closest?.("button");
    this.dragged = false;
    if (!part || event.button > 0) return;
    const { list, id } = part.dataset;
    this.#from = { list, id: Number(id), client: event, pointer: event.pointerId, start: this.scene.at(event) };
  }

  #move(event) {
    const from = this.#from;
    if (!from || event.pointerId !== from.pointer) return;
    if (!this.dragged) {
      const { client } = from;
      if (Math.hypot(event.clientX - client.clientX, event.clientY - client.clientY) < FAR) return;
      this.dragged = true;
      this.scene.plane.setPointerCapture(from.pointer);
    }
    this.drag(from.list, from.id, from.start, this.scene.at(event));
  }

  #release(event) {
    const from = this.#from;
    this.#from = null;
    if (!from || !this.dragged) return;
    setTimeout(() => (this.dragged = false)); // the click that ends a drag comes before
    const under = this.scene.plane.getRootNode().elementsFromPoint(event.clientX, event.clientY);
    const device = under.find(
      (element) => element.dataset?.list === "devices" && Number(element.dataset.id) !== from.id,
    );
    this.drop(from.list, from.id, Number(device?.dataset.id ?? 0));
    this.end();
  }

  #stop() {
    this.#from = null;
    this.dragged = false;
    this.end();
  }
}
