// Lessons on a page without a server: a question before the motion, and the motion as the answer.

import mountPlayer from "../player/player.js";
import { make } from "../player/elements.js";
import { write } from "./prose.js";

let names = 0; // of groups of choices

// Whether an answer is right: one of the options, or a number that may be off by a share.
export function isRight({ answer, within }, said) {
  if (typeof answer === "string") return said === answer;
  return Math.abs(said - answer) <= within * Math.abs(answer) + 1e-9;
}

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.codePointAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return await new Response(stream).text();
}

class Lessons {
  #answered = new Set();
  #settled = new Set();
  #data;
  #lesson = 0;
  #number = 0;
  #parts;
  #turn = 0;

  constructor(parent, data) {
    this.#data = data;
    const { lessons, text } = data;
    const root = make("section", "rs-lessons", parent, { "data-ringside": "lessons" });
    const bar = make("div", "rs-bar rs-lesson-bar", root);
    const which = make("select", "rs-pick", bar, { "aria-label": text["learn.lessons"] });
    for (const [k, { title }] of lessons.entries()) make("option", "", which, { value: String(k) }).textContent = title;
    which.hidden = lessons.length < 2;
    which.addEventListener("change", () => this.#go(Number(which.value), 0));
    const back = make("button", "rs-button", bar, { type: "button" });
    back.textContent = text["learn.back"];
    back.addEventListener("click", () => this.#go(this.#lesson, this.#number - 1));
    const where = make("span", "rs-lesson-where", bar);
    const next = make("button", "rs-button", bar, { type: "button" });
    next.addEventListener("click", () => this.#onward());
    const title = make("h2", "rs-lesson-title", root);
    const page = make("div", "rs-lesson", root);
    const left = make("div", "rs-lesson-left", page);
    const words = make("p", "rs-lesson-words", left);
    const form = make("form", "rs-lesson-form", left);
    const said = make("p", "rs-lesson-said", left, { role: "status" });
    const right = make("div", "rs-lesson-right", page);
    const reads = make("pre", "rs-lesson-reads", right, { tabindex: "0" });
    const lane = make("div", "rs-lesson-timeline", right); // what is in it says itself what it is
    const stage = make("div", "rs-root", right);
    this.#parts = { root, which, back, where, next, title, words, form, said, reads, lane, stage };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#check();
    });
    this.#go(0, 0);
  }

  get #step() {
    return this.#data.lessons[this.#lesson].steps[this.#number];
  }

  get #key() {
    return `${this.#lesson}.${this.#number}`;
  }

  #onward() {
    const { steps } = this.#data.lessons[this.#lesson];
    if (this.#number + 1 < steps.length) this.#go(this.#lesson, this.#number + 1);
    else write(this.#parts.said, this.#data.text["learn.done"]);
  }

  #go(lesson, number) {
    [this.#lesson, this.#number] = [lesson, number];
    this.#turn += 1;
    const { root, which, back, where, next, title, words, said, reads } = this.#parts;
    const { text, lessons } = this.#data;
    const isLast = number + 1 === lessons[lesson].steps.length;
    which.value = String(lesson);
    back.disabled = number === 0;
    where.textContent = this.#step.step;
    next.textContent = text[isLast ? "learn.finish" : "learn.next"];
    title.textContent = lessons[lesson].title;
    title.hidden = lessons.length < 2; // then it is the page's
    write(words, this.#step.words);
    said.textContent = "";
    reads.hidden = !this.#step.reads;
    reads.textContent = this.#step.reads;
    Object.assign(root.dataset, { lesson: lessons[lesson].name, step: String(number + 1), answered: "" });
    this.#ask();
    this.#offer();
    this.#show(this.#answered.has(this.#key));
  }

  #ask() {
    const { form, said } = this.#parts;
    const { ask } = this.#step;
    form.replaceChildren();
    form.hidden = !ask;
    if (!ask) return;
    names += 1;
    const field = make("fieldset", "", form);
    write(make("legend", "", field), ask.question);
    for (const [value, words] of ask.options) {
      const label = make("label", "", field);
      make("input", "", label, { type: "radio", name: `lesson-${names}`, value });
      label.append(` ${words}`);
    }
    if (!ask.options.length) {
      const label = make("label", "", field);
      label.textContent = `${ask.label} `;
      make("input", "rs-step", label, { type: "number", step: "any" });
    }
    make("button", "rs-button", form, { type: "submit" }).textContent = this.#data.text["learn.check"];
    write(said, this.#data.text["learn.first"]);
  }

  // A wrong answer sets the run going, which shows the right one; that is told to who asks for it.
  #check() {
    const { form, root } = this.#parts;
    const { ask } = this.#step;
    const field = form.querySelector("input[type=number], input:checked");
    if (!field || field.value === "") return;
    const right = isRight(ask, field.type === "number" ? Number(field.value) : field.value);
    root.dataset.answered = right ? "right" : "wrong";
    this.#answered.add(this.#key);
    if (right) this.#settled.add(this.#key);
    this.#say(right ? ask.right : ask.hint);
    if (!right) {
      const tell = make("button", "rs-button", this.#parts.said, { type: "button" });
      tell.textContent = this.#data.text["learn.tell"];
      tell.addEventListener("click", () => {
        this.#settled.add(this.#key);
        this.#say(ask.shown);
        this.#offer();
      });
    }
    this.#offer();
    this.#show(true);
  }

  // To go on is what comes next where nothing is asked, or once the answer is known.
  #offer() {
    const { next, form } = this.#parts;
    const isSettled = !this.#step.ask || this.#settled.has(this.#key);
    next.classList.toggle("rs-talk-next", isSettled);
    form.querySelector("button")?.classList.toggle("rs-talk-next", !isSettled);
  }

  #say(words) {
    write(this.#parts.said, words);
    this.#parts.said.append(" ");
  }

  async #show(isAnswered) {
    const { stage, lane } = this.#parts;
    const { runs, start, until, timelines } = this.#step;
    stage.hidden = !runs;
    lane.hidden = !timelines;
    if (timelines) {
      const turn = this.#turn;
      const html = await unpacked(timelines[Number(isAnswered)]);
      if (turn === this.#turn) lane.innerHTML = html;
      return;
    }
    const { v, text, all } = this.#data;
    const played = runs.map(({ id, title }) => Object.assign(Object.create(null), all[id], { title }));
    const place = { usual: "", is_linked: false, keep: false, ...start, number: this.#turn };
    const cmd = isAnswered ? { n: `${this.#key}.${this.#turn}`, from: start.t, play: true, to: until } : undefined;
    mountPlayer({ data: { v, text, runs: played, start: place, cmd }, parentElement: stage });
  }
}

export default function mountLessons({ data, parentElement }) {
  return new Lessons(parentElement, data);
}
