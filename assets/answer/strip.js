// The answer above the picture, at a height that is kept for it: a headline, and below it the reason and what would help; above
// it what runs, where no page says it. Words that a click shows in the picture are underlined with dots.

import { make } from "../player/elements.js";

const SIZES = { desk: [28, 24, 20, 17, 15], phone: [20, 18, 16, 15, 14] }; // px, the largest that fits is taken
const LESS = { desk: [16, 15, 14, 13, 12], phone: [16, 15, 14, 13, 12] };
const PHONE = 720; // px
const REST = 150; // ms that an answer stands until what would win a loss back is worked out, where that is left to be done

export class Strip {
  #answer;
  #headline;
  #own; // what is shown while nothing is tried
  #reason;
  #remedy = []; // what is shown of what would win a loss back
  #root;
  #resting = 0;
  #shows;
  #stands = ""; // the words of all else
  #title;
  #width = 0;

  // `shows(what, name)` shows what words are about.
  constructor(parent, shows) {
    this.#shows = shows;
    this.#root = make("div", "rs-said", parent, { "aria-live": "polite" });
    this.#title = make("p", "rs-said-title", this.#root);
    this.#headline = make("h2", "rs-said-headline", this.#root);
    this.#reason = make("p", "rs-said-reason", this.#root);
    this.#root.hidden = true;
  }

  // Say an answer, whose parts are sentences or spans, each a text with what shows it. Without one its place stays empty, and
  // where none is ever said, `undefined`, there is no place.
  show(answer) {
    this.#own = answer;
    if (answer?.title) this.#title.textContent = answer.title;
    this.#title.hidden = !this.#title.textContent;
    this.#say(answer);
  }

  // Say another answer for a while, or the one that is shown.
  preview(answer) {
    this.#say(answer || this.#own);
  }

  #say(answer) {
    if (answer === this.#answer) return;
    this.#answer = answer;
    this.#root.hidden = answer === undefined;
    clearTimeout(this.#resting);
    if (answer?.later) this.#resting = setTimeout(() => this.#complete(answer), REST);
    const long = this.#letters;
    this.#write(answer ?? {});
    if (this.#letters !== long) this.#width = 0; // else what is dragged is measured again and again
    this.fit();
  }

  #write({ headline = [], reason = [], remedy = [], asks = false }) {
    const words = wordsOf([...spansOf(headline), ...spansOf(reason)]);
    // an answer whose remedy is still to come keeps the one that stands below the same words
    if (!asks || words !== this.#stands) this.#remedy = remedy;
    this.#stands = words;
    this.#fill(this.#headline, headline);
    const more = this.#remedy.length ? [gapOf(reason), ...spansOf(this.#remedy)] : [];
    this.#fill(this.#reason, [...spansOf(reason), ...more]);
  }

  // Say what would win a loss back, once it is worked out.
  #complete(answer) {
    const remedy = answer.later();
    answer.later = null;
    this.#answer = null;
    this.#say(Object.assign(answer, { remedy }));
  }

  get #letters() {
    return `${this.#headline.textContent.length},${this.#reason.textContent.length}`;
  }

  #fill(element, words) {
    element.replaceChildren();
    for (const [text, target] of spansOf(words)) {
      if (!target) {
        element.append(text);
        continue;
      }
      const button = make("button", "rs-said-word", element, { type: "button" });
      button.textContent = text;
      button.addEventListener("click", () => this.#shows(...target.split(/:(.*)/s)));
    }
    element.title = element.textContent;
  }

  // Take the largest letters in which all of it has room.
  fit() {
    const width = this.#root.clientWidth;
    if (!width || width === this.#width) return;
    this.#width = width;
    const on = globalThis.innerWidth > PHONE ? "desk" : "phone";
    fitted(this.#headline, SIZES[on]);
    fitted(this.#reason, LESS[on]);
  }
}

// What stands between two sentences: nothing in Chinese.
const gapOf = (words) => [spansOf(words).at(-1)?.[0].endsWith("。") ? "" : " ", ""];

const spansOf = (words) => (typeof words === "string" ? [[words, ""]] : words);

const wordsOf = (spans) => spans.map(([text]) => text).join("");

function fitted(element, sizes) {
  for (const size of sizes) {
    element.style.fontSize = `${size}px`;
    if (element.scrollHeight <= element.clientHeight + 1) return;
  }
}
