// A talk as a page of its own, with all lessons folded away below it.

import { make } from "../player/elements.js";
import mountLessons from "./lesson.js";
import mountTalk from "./talk.js";

export default function mount({ data, parentElement }) {
  const { lessons, ...talk } = data;
  mountTalk({ data: talk, parentElement: make("div", "", parentElement) });
  if (!lessons) return;
  const fold = make("details", "rs-lesson-fold", parentElement);
  make("summary", "", fold).textContent = lessons.text["learn.lessons"];
  const all = { v: talk.v, ...lessons, text: { ...talk.text, ...lessons.text } };
  fold.addEventListener("toggle", () => mountLessons({ data: all, parentElement: make("div", "", fold) }), {
    once: true,
  });
}
