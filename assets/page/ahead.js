// Hands the player the run that a slider stands for, ahead of the page; and tells the page when the slider rests.

const REST = 300; // ms from the picture of a run
const LATE = 2000; // ms without a picture
const sliders = new WeakMap();

// One place of the slider; `rested` is called once its run is seen and the slider has gone to no other for a while.
class Place {
  #stop = new AbortController();
  #timer = 0;

  constructor(runs, rested) {
    const { signal } = this.#stop;
    const rest = (after) => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(rested, after);
    };
    document.addEventListener("ringside-instant", () => rest(REST), { signal, once: true });
    const detail = { runs, taken: false };
    document.dispatchEvent(new CustomEvent("ringside-ahead", { detail }));
    rest(detail.taken ? LATE : REST);
  }

  close() {
    clearTimeout(this.#timer);
    this.#stop.abort();
  }
}

export default function mount({ data, parentElement, setTriggerValue }) {
  sliders.get(parentElement)?.close();
  const place = data.runs ? new Place(data.runs, () => setTriggerValue("rested", true)) : null;
  sliders.set(parentElement, place);
  return () => place?.close();
}
