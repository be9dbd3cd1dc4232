// A chart of time under the pointer: a click is an instant, a drag with Shift a stretch to be played over and over.

const LEAST = 0.005; // of what is in sight: less is no stretch

// `chart()` is what the canvas shows, or null; `seek(t)`, `brush(range)`, `hover(event, focus)` and `pin(link)`, for a
// click on a row's name, are told.
export function brushing(canvas, { chart, seek, brush, hover, pin }) {
  let from = null;
  let isSeeking = false;
  const at = (event) => chart().t(event.offsetX);
  canvas.addEventListener("pointerdown", (event) => {
    if (!chart()) return;
    const link = chart().nameAt(event.offsetX, event.offsetY);
    if (link >= 0) {
      pin(link);
      return;
    }
    from = event.shiftKey ? at(event) : null;
    isSeeking = !event.shiftKey && !(chart().isRuler(event.offsetY) && !chart().camera.isHome);
    if (isSeeking) seek(at(event));
    else if (from !== null) brush(null);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!chart()) return;
    if (!event.buttons) hover(event, chart().pick(event.offsetX, event.offsetY));
    else if (isSeeking) seek(at(event));
    else if (from !== null) {
      const range = [from, at(event)].toSorted((a, b) => a - b);
      brush(range[1] - range[0] > chart().camera.window.span * LEAST ? range : null);
    }
  });
  canvas.addEventListener("pointerup", () => {
    [from, isSeeking] = [null, false];
  });
  canvas.addEventListener("pointerleave", () => hover(null, null));
}
