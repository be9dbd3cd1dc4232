// A step's timeline and a run below it: a click on a collective asks for its messages, and their instant is its hand.

import { lasting } from "../player/lasting.js";

const TIMELINE = '[data-ringside="timeline"]';

class Playhead {
  #data = { calls: {}, chosen: null, window: [0, 0] };
  #send;
  #stop = new AbortController();

  constructor() {
    const listen = (name, act) => document.addEventListener(name, act, { signal: this.#stop.signal });
    listen("click", (event) => this.#ask(event));
    listen("keydown", (event) => event.key === "Enter" && this.#choose(event.target, 0));
    listen("ringside-instant", ({ detail }) => this.#stand(detail.share));
  }

  // `calls` are from when to when by their numbers, in seconds as the `window` of the picture; `send` is told which.
  update(data, send) {
    const isFirst = !this.#send;
    this.#data = data;
    this.#send = send;
    if (isFirst && data.chosen === null) this.#choose(document.activeElement, 0); // clicked before anyone listened
  }

  // A collective of the timeline, and where in it, by its share.
  #ask(event) {
    const area = event.target.closest?.(`${TIMELINE} [data-call]`);
    const [begin, end] = this.#data.calls[area?.dataset.call] ?? [0, 0];
    if (end <= begin) return;
    const { left, width } = area.parentElement.getBoundingClientRect();
    const [from, to] = this.#data.window;
    const at = from + ((event.clientX - left) / width) * (to - from);
    this.#choose(area, Math.max(0, Math.min(1, (at - begin) / (end - begin))));
  }

  #choose(element, share) {
    const area = element?.closest?.(`${TIMELINE} [data-call]`);
    if (!area || !(area.dataset.call in this.#data.calls)) return;
    area.closest(TIMELINE).scrollIntoView({ block: "start" }); // what plays comes below it
    this.#send({ call: Number(area.dataset.call), share, when: Date.now() });
  }

  // The hand at a share of the collective that is shown, in every row of the picture.
  #stand(share) {
    const [begin, end] = this.#data.calls[this.#data.chosen] ?? [0, 0];
    const [from, to] = this.#data.window;
    const at = (begin + share * (end - begin) - from) / (to - from);
    for (const row of document.querySelectorAll(`${TIMELINE} [data-rank]`)) {
      const hand = row.querySelector(".tl-hand") ?? row.appendChild(document.createElement("i"));
      hand.className = "tl-hand";
      hand.style.left = `${at * 100}%`;
      hand.hidden = end <= begin || at < 0 || at > 1;
    }
  }

  close() {
    this.#stop.abort();
    for (const hand of document.querySelectorAll(`${TIMELINE} .tl-hand`)) hand.remove();
  }
}

export default lasting(
  () => new Playhead(),
  (playhead, { data, setStateValue }) => playhead.update(data, (asked) => setStateValue("asked", asked)),
);
