// One sentence for an instant, in words of the reader and then in words of the field.

import { fill, seconds } from "../trace/words.js";

// `plain` is what happens, `exact` the phase and the step; before the first step it is what all this is for.
export function said(timeline, text, t) {
  return worded(timeline, text, timeline.step(t), timeline.caption(t));
}

// The one of a run's sentences that has the most letters.
export function longest(timeline, text) {
  const { opening, closing, caption } = timeline.steps;
  const last = [timeline.meta.steps, timeline.meta.stalled || closing];
  const all = [[0, opening], ...caption.map((sentence, k) => [k + 1, sentence]), last];
  return all
    .map(([step, sentence]) => worded(timeline, text, step, sentence))
    .reduce((a, b) => (b.plain.length > a.plain.length ? b : a));
}

function worded({ meta, steps }, text, step, sentence) {
  if (!step) return { plain: sentence, exact: steps.goal ? fill(text["player.goal"], { goal: steps.goal }) : "" };
  const head = fill(text["caption.head"], { step, steps: meta.steps });
  const rest = sentence.startsWith(head) ? sentence.slice(head.length) : sentence;
  const phase = steps.phases.findLast(([first]) => first < step)?.[1] ?? "";
  const key = phase ? "player.now" : "player.step.of";
  const exact = fill(text[key], { phase, step, steps: meta.steps });
  return { plain: rest.charAt(0).toUpperCase() + rest.slice(1), exact };
}

// An instant and when all has ended, in words.
export const instantOf = ({ time }, text, t) => ({
  now: seconds(t),
  of: fill(text["player.of.time"], { time: seconds(time) }),
});
