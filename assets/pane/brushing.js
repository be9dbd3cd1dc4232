// A chart of time under the pointer: a click is an instant, a drag with Shift a stretch to be played over and over.

const LEAST = 0.005; // of the run: less is no stretch

// `chart()` is what the canvas shows, or null; `seek(t)`, `brush(range)` and `hover(event, focus)` are told.
export function brushing(canvas, { chart, seek, brush, hover }) {
  let from = null;
  const at = (event) => chart().t(event.offsetX);
  canvas.addEventListener("pointerdown", (event) => {
    if (!chart()) return;
    from = event.shiftKey ? at(event) : null;
    if (from === null) seek(at(event));
    else brush(null);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!chart()) return;
    if (!event.buttons) hover(event, chart().pick(event.offsetX, event.offsetY));
    else if (from === null) seek(at(event));
    else {
      const range = [from, at(event)].toSorted((a, b) => a - b);
      brush(range[1] - range[0] > chart().timeline.time * LEAST ? range : null);
    }
  });
  canvas.addEventListener("pointerleave", () => hover(null, null));
}
