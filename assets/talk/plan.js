// Where the keys of a talk lead: to the next place where playing stops, to the next scene, and back.

const NEAR = 1e-9; // of a run, within which two instants are the same

const halfOf = ({ time }) => NEAR * time;

// The instants of a scene at which playing stops: its breakpoints and its end.
const marksOf = ({ stops, time }) => [...stops.filter((t) => t > 0 && t < time), time];

// What the key for onward does at an instant: `play` on, `seek` what is being played to, or go `by` so many scenes.
export function onward(scene, { t, playing }) {
  const ahead = marksOf(scene).find((mark) => mark > t + halfOf(scene));
  if (ahead === undefined) return { by: 1 };
  return playing ? { seek: ahead } : { play: true };
}

// What the key back does: the last place where playing stopped, where the scene begins, or the scene before.
export function backward(scene, { t }) {
  const begin = Math.min(scene.start.t, scene.time);
  const before = [begin, ...marksOf(scene)].filter((mark) => mark < t - halfOf(scene) && mark >= begin);
  return before.length ? { seek: Math.max(...before) } : { by: -1 };
}

// The words on the stage at an instant; none where none are.
export function lineAt({ lines, time }, t) {
  return lines.findLast(({ at }) => at <= t + NEAR * time)?.text ?? "";
}

// How many of a scene's breakpoints are behind.
export function stopsBehind(scene, t) {
  return scene.stops.filter((stop) => stop <= t + halfOf(scene)).length;
}

// A scene's number in digits that were typed one after the other; null for one that is not there.
export function numbered(digits, count) {
  const number = Number(digits);
  return /^\d{1,3}$/.test(digits) && number >= 1 && number <= count ? number - 1 : null;
}

// Hours, minutes and seconds that have passed.
export function passed(milliseconds) {
  const whole = Math.max(0, Math.floor(milliseconds / 1000));
  const parts = [Math.floor(whole / 60) % 60, whole % 60].map((part) => String(part).padStart(2, "0"));
  return [...(whole >= 3600 ? [Math.floor(whole / 3600)] : []), ...parts].join(":");
}
