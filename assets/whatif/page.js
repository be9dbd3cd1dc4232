// The player as pages have it: what a hand asks is shown at once, by the page itself where it can, else by the server. Runs
// that come ahead of the page's answer are shown until the page has drawn itself again, which hears of what was asked once
// the hand has rested. A slider of the page is followed in the same way.

import { answered } from "../answer/answered.js";
import { changesOf } from "../answer/change.js";
import { lasting } from "../player/lasting.js";
import mount from "../player/player.js";
import { decode } from "../trace/decode.js";
import { kernel } from "./loaded.js";
import { Runner } from "./whatif.js";
import { NeedsPythonError, isKnown } from "./words.js";

const REST = 300; // ms
const REMEDY = "remedy"; // asked of a plan, as in `ui.server.future`
const MOST = 3; // runs beside one, as in `ops.plan.notation`
const REMOVED = "cut_cable:";
const UNDO = "undo"; // as in `ui.controls.fork`

// The runs of what the page would show of a plan with what is asked, with their answer; null where it has to say more itself.
async function futureOf(question, asked = "") {
  const came = await told(question, asked);
  return came && Object.assign(came.runs, { answer: came.answer });
}

async function told({ plan, language, to }, asked) {
  const body = JSON.stringify({ plan, language, asked });
  const headers = { "content-type": "application/json" };
  try {
    const answer = await fetch(new URL(to, document.baseURI), { method: "POST", headers, body });
    return answer.ok ? await answer.json() : null;
  } catch {
    return null; // no connection: the page tells
  }
}

// The size that a plan has where it differs from another in that alone, or "".
function otherSize(plan, other) {
  const names = Object.keys({ ...plan, ...other }).filter((name) => plan[name] !== other?.[name]);
  return names.join() === "size" ? plan.size : "";
}

const idsOf = ({ turn, runs }) => [turn, ...runs.map(({ id }) => id)].join();

class Ahead {
  #asked = []; // what-ifs of the reader that the page has not received yet
  #isFollowing = false;
  #keep = false;
  #next = null; // where a slider stands
  #page = null;
  #past = []; // what was shown before each what-if, where that came from here
  #questioned = null; // the answer whose remedy has been asked for
  #ready = null; // the run of the page that can be run again here, and what does so
  #resting = 0;
  #runs = null;
  #sent = []; // and what it has been told, but not answered
  #stop = new AbortController();
  #turn = 0;

  constructor() {
    document.addEventListener("ringside-ahead", (event) => this.#arrive(event.detail), { signal: this.#stop.signal });
  }

  // Have the page's first run at hand, to be run again.
  prepare() {
    const [{ id, tl }, other] = this.#page.runs;
    if (this.#ready?.id === id) return this.#ready.there;
    const ready = { id, runner: null };
    this.#ready = ready;
    const old = other?.stays ? decode(other.tl) : null;
    ready.there = Promise.all([kernel(), decode(tl), old]).then(([engine, ...timelines]) => {
      const able = timelines.map((timeline) => timeline && Runner.canRun(timeline) && new Runner(engine, timeline));
      [ready.runner, ready.old] = [able[0] || null, old ? able[1] : able[0]];
      return ready.runner;
    });
    return ready.there;
  }

  // What may be asked here: without a page that has a server, what this can work out, and what people look for on a link.
  offers(all, timeline) {
    if (this.tell) return all;
    return Runner.canRun(timeline) ? all.filter(({ spec }) => isKnown(spec) || spec.startsWith(REMOVED)) : [];
  }

  // The page's first run with what was asked, and one question more: its timeline, or null where that needs Python.
  #worked(spec) {
    const specs = [...this.#sent, ...this.#asked, spec];
    return this.#tried((runner) => runner.run(specs));
  }

  #tried(act) {
    const { runner } = this.#ready ?? {};
    try {
      return runner ? act(runner) : null;
    } catch (error) {
      if (!(error instanceof NeedsPythonError || error instanceof RangeError)) throw error; // the latter for memory
      return null;
    }
  }

  preview(spec) {
    return this.#worked(spec)?.timeline ?? null;
  }

  // What is said of the page's run with a question more; null where that needs Python.
  answerTo(spec) {
    const worked = this.#worked(spec);
    return worked && this.#answer(worked, [...this.#sent, ...this.#asked, spec]);
  }

  // What is said of a run that was worked out for some questions, held against what the page's run is held against.
  #answer({ facts }, specs) {
    const [{ runner, old }, { answer, text, runs }] = [this.#ready, this.#page];
    if (!answer || !old || runs.length > 2 || (runs[1] && !runs[1].stays)) return null;
    const changes = changesOf(answer.changes, specs, { ...runner.about, text });
    const timeOf = (spec) => this.#tried(() => runner.raw([...specs, spec]).run.time);
    return changes.length ? answered(old.facts, facts(), changes, text, timeOf) : null;
  }

  // Seconds that the run takes with a question more, or null.
  timeOf(spec) {
    const specs = [...this.#sent, ...this.#asked, spec];
    return this.#tried((runner) => runner.raw(specs).run.time);
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
    const runs = (await this.#resized(question)) ?? (await futureOf(question));
    this.#isFollowing = false;
    if (this.#stop.signal.aborted) return;
    if (runs && turn === this.#turn) this.#come(runs, false);
    if (this.#next) this.#follow();
  }

  // The page's run with another size, where that is all that differs.
  async #resized({ plan }) {
    const size = otherSize(plan, this.#page.future?.plan);
    if (!size) return null;
    await this.prepare();
    const spec = `size:bytes=${size}`;
    const worked = this.#worked(spec);
    return worked && Object.assign([this.#made(worked, size, "")], { answer: this.#answer(worked, [spec]) });
  }

  #made({ timeline }, name, title) {
    const [{ id, note }] = this.#page.runs;
    return { id: `${id};${name}`, note, title, timeline };
  }

  #come(runs, keep) {
    [this.#runs, this.#keep] = [runs, keep];
    this.show(this.#ahead);
  }

  // The data that the page sent last, with the runs that its address does not name.
  get #ahead() {
    const start = { ...this.#page.start, is_ahead: true };
    if (this.#keep) start.keep = true;
    return { ...this.#page, runs: this.#runs, answer: this.#runs.answer ?? null, start };
  }

  // What if this happened: both futures are shown as soon as they are there, from the same instant on. Returns why they are
  // not, where nobody can tell them.
  ask(spec, label = "") {
    clearTimeout(this.#resting);
    const worked = this.#worked(spec);
    if (!worked && !this.tell) return this.#page.text["player.whatif.python"];
    this.#asked.push(spec);
    this.#turn += 1;
    if (worked) this.#show(worked, label);
    else this.#fetch();
    return "";
  }

  // The run that was worked out, beside what would have been; as the page will have them.
  #show(worked, label) {
    const [now, ...others] = this.#runs ?? this.#page.runs;
    const before = { ...now, title: this.#page.text["player.whatif.before"], stays: !others.length };
    const isKept = worked.isFurther || (others.length === 1 && others[0].stays);
    const made = this.#made(worked, [...this.#sent, ...this.#asked].join(";"), label);
    this.#past.push(this.#runs);
    const answer = this.#answer(worked, [...this.#sent, ...this.#asked]);
    this.#come(Object.assign([made, ...(isKept ? others : [...others, before].slice(-MOST))], { answer }), true);
    this.#rest(REST);
  }

  get canUndo() {
    return this.#past.length > 0 || Boolean(this.tell && this.#page.runs[1]?.stays);
  }

  // Take the last what-if back: here, where it came from here, and where the page has heard of it.
  undo() {
    clearTimeout(this.#resting);
    this.#turn += 1;
    const isTold = !this.#asked.pop();
    if (this.#past.length) {
      this.#runs = this.#past.pop();
      this.show(this.#runs ? this.#ahead : { ...this.#page, start: { ...this.#page.start, keep: true } });
    }
    if (isTold) this.#sent.pop();
    if (isTold) this.tell?.(UNDO);
    else if (this.#asked.length) this.#rest(REST);
  }

  async #fetch() {
    const [turn, { future }] = [this.#turn, this.#page];
    const runs = future ? await futureOf(future, [...this.#sent, ...this.#asked].join(";")) : null;
    if (turn !== this.#turn || this.#stop.signal.aborted) return;
    if (runs) this.#come(runs, true);
    this.#rest(runs ? REST : 0);
  }

  #rest(time) {
    if (this.tell) this.#resting = setTimeout(() => this.#tell(), time);
  }

  #tell() {
    const asked = this.#asked;
    [this.#asked, this.#sent] = [[], [...this.#sent, ...asked]];
    this.tell(asked.join(";"));
  }

  // What to show of what the page sends: until its `turn` is another one it only repeats itself.
  take(data) {
    if (this.#page && idsOf(this.#page) !== idsOf(data)) {
      this.#sent = [];
      this.#past = [];
      if (!this.tell) this.#asked = []; // nobody is going to hear of it
      if (!this.#asked.length) this.#runs = null;
    }
    this.#page = data;
    if (data.answer?.asks && data.answer !== this.#questioned) this.#remedy(data);
    return this.#runs ? this.#ahead : data;
  }

  // What would win a loss back takes many runs: it comes later, with all else of the answer.
  async #remedy(data) {
    this.#questioned = data.answer;
    const answer = data.future ? await told(data.future, REMEDY) : null;
    if (!answer || this.#stop.signal.aborted || idsOf(this.#page) !== idsOf(data)) return;
    this.#page.answer = answer;
    if (!this.#runs) this.show(this.#page);
  }

  close() {
    clearTimeout(this.#resting);
    this.#stop.abort();
    this.end();
  }
}

// Called as Streamlit does, and by a page of its own once, without `setTriggerValue`.
export default lasting(
  () => new Ahead(),
  (ahead, options) => {
    const { data, setTriggerValue } = options;
    ahead.tell = setTriggerValue && ((asked) => setTriggerValue("fork", asked));
    ahead.show = (other) => mount({ ...options, data: { ...other, whatIf: ahead } });
    ahead.end = ahead.show(ahead.take(data));
  },
);
