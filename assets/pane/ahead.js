// Runs that come ahead of the page's answer: those of a slider while it moves, and both futures that a hand asks for.
// They are shown until the page has drawn itself anew, which what a hand asked is told once the hand has rested.

const REST = 300; // ms
const players = new WeakMap();

// The runs of what the page would show of a plan with what is asked, or null where it has to say more itself.
async function futureOf({ plan, language, to }, asked = "") {
  const body = JSON.stringify({ plan, language, asked });
  const headers = { "content-type": "application/json" };
  try {
    const answer = await fetch(new URL(to, document.baseURI), { method: "POST", headers, body });
    return answer.ok ? await answer.json() : null;
  } catch {
    return null; // no connection: the page tells
  }
}

class Ahead {
  #asked = []; // what hands have asked for, of which the page knows nothing yet
  #isFollowing = false;
  #keep = false;
  #next = null; // where a slider stands
  #page = null;
  #resting = 0;
  #runs = null;
  #sent = []; // and what it has been told, but not answered
  #stop = new AbortController();
  #turn = 0;

  constructor() {
    document.addEventListener("ringside-ahead", (event) => this.#arrive(event.detail), { signal: this.#stop.signal });
  }

  #arrive(detail) {
    if (this.#page?.turn === undefined || this.#page.runs.length !== 1) return;
    detail.taken = true;
    this.#next = detail.question;
    if (!this.#isFollowing) this.#follow();
  }

  // One run after the other, and none of the places that a slider has left meanwhile.
  async #follow() {
    const [question, turn] = [this.#next, (this.#turn += 1)];
    [this.#next, this.#isFollowing] = [null, true];
    const runs = await futureOf(question);
    this.#isFollowing = false;
    if (this.#stop.signal.aborted) return;
    if (runs && turn === this.#turn) this.#come(runs, false);
    if (this.#next) this.#follow();
  }

  #come(runs, keep) {
    [this.#runs, this.#keep] = [runs, keep];
    this.show(this.#ahead);
  }

  // What the page sent last, with other runs, of which its address knows nothing.
  get #ahead() {
    const start = { ...this.#page.start, is_ahead: true };
    if (this.#keep) start.keep = true;
    return { ...this.#page, runs: this.#runs, start };
  }

  // What if this happened: both futures are shown as soon as they are there, from the same instant on.
  async ask(spec) {
    clearTimeout(this.#resting);
    this.#asked.push(spec);
    this.#turn += 1;
    const [turn, { future }] = [this.#turn, this.#page];
    const runs = future ? await futureOf(future, [...this.#sent, ...this.#asked].join(";")) : null;
    if (turn !== this.#turn || this.#stop.signal.aborted) return;
    if (runs) this.#come(runs, true);
    this.#resting = setTimeout(() => this.#tell(), runs ? REST : 0);
  }

  #tell() {
    const asked = this.#asked;
    [this.#asked, this.#sent] = [[], [...this.#sent, ...asked]];
    this.tell(asked.join(";"));
  }

  // What to show of what the page sends: until its `turn` is another one it only repeats itself.
  take(data) {
    if (this.#page?.turn !== data.turn) {
      this.#sent = [];
      if (!this.#asked.length) this.#runs = null;
    }
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
    const { parentElement, data, setTriggerValue } = options;
    const root = parentElement.querySelector(".rs-root") ?? parentElement;
    const ahead = players.get(root) ?? new Ahead();
    players.set(root, ahead);
    ahead.tell = (asked) => setTriggerValue("fork", asked);
    const asking = (name, value) => (name === "fork" ? ahead.ask(value) : setTriggerValue(name, value));
    const own = { ...options, setTriggerValue: asking };
    ahead.show = (other) => mount({ ...own, data: other });
    const close = mount({ ...own, data: ahead.take(data) });
    return () => {
      ahead.close();
      players.delete(root);
      close();
    };
  };
}
