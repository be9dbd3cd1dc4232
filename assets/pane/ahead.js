// Runs that come ahead of the page's answer while a slider moves: they are shown until the page has drawn itself anew.
// Those that the page itself sends ahead of all the rest are shown like any others, and it is told when they have been
// seen for a while.

const REST = 300; // ms
const players = new WeakMap();

class Ahead {
  #page = null;
  #resting = 0;
  #runs = null;
  #stop = new AbortController();

  constructor() {
    document.addEventListener("ringside-ahead", (event) => this.#arrive(event.detail), { signal: this.#stop.signal });
  }

  #arrive(detail) {
    if (this.#page?.turn === undefined || this.#page.runs.length !== detail.runs.length) return;
    detail.taken = true;
    this.#runs = detail.runs;
    this.show(this.#ahead);
  }

  // What the page sent last, with other runs, of which its address knows nothing.
  get #ahead() {
    return { ...this.#page, runs: this.#runs, start: { ...this.#page.start, is_ahead: true } };
  }

  // What to show of what the page sends. Until its `turn` is another one it only repeats itself, or has gone ahead with
  // what `rested` tells it to draw all of.
  take(data, rested) {
    clearTimeout(this.#resting);
    if (data.start?.is_ahead) this.#resting = setTimeout(rested, REST);
    if (this.#page?.turn !== data.turn) this.#runs = null;
    this.#page = data;
    return this.#runs ? this.#ahead : data;
  }

  close() {
    clearTimeout(this.#resting);
    this.#stop.abort();
  }
}

// A player that shows such runs, too: `mount` is as Streamlit calls it.
export function withAhead(mount) {
  return (options) => {
    const { parentElement, data } = options;
    const ahead = players.get(parentElement) ?? new Ahead();
    players.set(parentElement, ahead);
    ahead.show = (other) => mount({ ...options, data: other });
    const close = mount({ ...options, data: ahead.take(data, () => options.setTriggerValue("rested", true)) });
    return () => {
      ahead.close();
      players.delete(parentElement);
      close();
    };
  };
}
