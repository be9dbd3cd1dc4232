// Words of an answer lead to what shows them: a click brings that into sight and marks it, or asks the page for it.

const WORDS = '[class*="st-key-answer_"] a[href*="#shows="]';
const MARKED = 1600; // ms
const MOST = 200; // parts of a picture that are marked
const listeners = new WeakMap();

const targetOf = (word) => decodeURIComponent(word.getAttribute("href").split("#shows=")[1]);

function mark(element) {
  const line = getComputedStyle(document.documentElement).getPropertyValue("--st-text-color") || "currentColor";
  const frames = [
    { outline: `3px solid ${line}` },
    { outline: `3px solid ${line}`, offset: 0.7 },
    { outline: "3px solid transparent" },
  ];
  element.animate(frames, MARKED);
}

// `places` are selectors of what shows a target, by target; others are asked with `ask`.
function show(target, { places }, ask) {
  if (!(target in places)) {
    ask({ target, when: Date.now() });
    return;
  }
  const parts = [...document.querySelectorAll(places[target])].filter((part) => part.checkVisibility()).slice(0, MOST);
  parts[0]?.scrollIntoView({ block: "nearest" });
  for (const part of parts) mark(part);
}

export default function mount({ data, parentElement, setTriggerValue }) {
  listeners.get(parentElement)?.abort();
  const stop = new AbortController();
  listeners.set(parentElement, stop);
  const click = (event) => {
    const word = event.target.closest?.(WORDS);
    if (!word?.closest(`.st-key-answer_${data.name}, .st-key-answer_${data.name}_helped`)) return;
    event.preventDefault();
    event.stopPropagation();
    show(targetOf(word), data, (asked) => setTriggerValue("asked", asked));
  };
  document.addEventListener("click", click, { capture: true, signal: stop.signal });
  return () => stop.abort();
}
