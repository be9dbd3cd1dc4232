// The views there are: every file of `assets/views/` is one, under the file's name.
//
// A view has a `label` in English, for where no text `player.view.NAME` says it better; it may have an `order` among the
// others, a `key` that leads to it and back, and be `wide`: then what ranks hold is not shown beside it.
// `refuses(timeline)` says why a run cannot be shown so, as the id of a text or in English; "" where it can be.
// `open(timeline)` gives its picture of a run:
//   `layout(surface, { width, most, least, span })` takes its size, at most `most` pixels high, `span` seconds across;
//   `paint(t, { focus, lit })` paints an instant, with what is looked at and the transfers to be lit;
//   `pick(x, y)` says what is under the pointer: a `kind` that `explain` knows and its `index`, or null.
// A picture may besides have a `camera` to come nearer with, and what it takes for blocks to travel to and from it:
//   `places(t)`, where every transfer under way is on the surface, and `ranks()`, where ranks are: maps to `x` and `y`;
//   `paint` then calls `veil(g)`, where it has been given one, before it paints what flies, and `travel(drawn)` with it.

const views = new Map();

export function register(name, view) {
  for (const part of ["open", "refuses"]) {
    if (typeof view?.[part] !== "function") throw new TypeError(`the view ${name} has no function ${part}`);
  }
  views.set(name, { order: Infinity, key: "", wide: false, label: name, ...view, name });
}

const isBefore = (a, b) => (a.order === b.order ? a.name < b.name : a.order < b.order);

// All of them, in the order of their buttons.
export function registered() {
  return [...views.values()].toSorted((a, b) => (isBefore(a, b) ? -1 : 1));
}

// What a view is called.
export function labelOf(view, text) {
  return text[`player.view.${view.name}`] ?? view.label;
}

// For every view why none of some runs can be shown so, or "".
export function refusals(timelines, text) {
  const why = (view) => {
    const reasons = timelines.map((timeline) => view.refuses(timeline));
    return reasons.includes("") ? "" : (text[reasons[0]] ?? reasons[0]);
  };
  return Object.fromEntries(registered().map((view) => [view.name, why(view)]));
}

// Whether a view can show one of some runs.
export function canShow(name, timelines) {
  const view = registered().find((other) => other.name === name);
  return Boolean(view) && timelines.some((timeline) => !view.refuses(timeline));
}

// The next of the views that can.
export function viewAfter(name, timelines) {
  const names = registered()
    .map((view) => view.name)
    .filter((other) => canShow(other, timelines));
  return names[(names.indexOf(name) + 1) % names.length];
}
