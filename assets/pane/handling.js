// Nearer, farther and aside with wheel, fingers and pointer, on a picture that has a camera.

const NEAR = 0.0022; // of zoom per pixel of the wheel
const DOUBLE = 2;
const DRAGGED = 5; // pixels before a press is a drag

// The wheel: up and down nearer and farther, sideways aside.
function roll(canvas, { camera, isFocused, zoom, moved }) {
  const aside = (event) => {
    if (camera().isHome) return;
    event.preventDefault();
    camera().pan(-event.deltaX, 0);
    moved();
  };
  const nearer = (event) => {
    if (camera().isHome && event.deltaY > 0 && !event.ctrlKey) return; // there is no farther: the page goes on
    event.preventDefault();
    zoom(event, Math.exp(-event.deltaY * (event.deltaMode === 1 ? 16 : 1) * NEAR));
  };
  const wheel = (event) => {
    if (!camera() || !(event.ctrlKey || isFocused())) return;
    if (!event.ctrlKey && Math.abs(event.deltaX) > Math.abs(event.deltaY)) aside(event);
    else nearer(event);
  };
  canvas.addEventListener("wheel", wheel, { passive: false });
}

// `picture()` is what the canvas shows, `isFocused()` whether plain wheels are meant for it, `moved()` draws it again;
// `drags(event)` says whether a press may drag it aside.
export function handle(canvas, { picture, isFocused, moved, drags = () => true }) {
  const fingers = new Map();
  let from = null;
  const camera = () => picture()?.camera ?? null;
  const zoom = (event, factor) => {
    camera().zoomAt(event.offsetX, event.offsetY, factor);
    canvas.style.touchAction = camera().isHome ? "pan-y" : "none";
    moved();
  };
  canvas.style.touchAction = "pan-y";
  roll(canvas, { camera, isFocused, zoom, moved });
  canvas.addEventListener("dblclick", (event) => {
    if (camera()) zoom(event, event.shiftKey ? 1 / DOUBLE : DOUBLE);
  });
  canvas.addEventListener("pointerdown", (event) => {
    if (!drags(event) && event.pointerType !== "touch") return;
    fingers.set(event.pointerId, [event.offsetX, event.offsetY]);
    from = fingers.size === 1 ? [event.offsetX, event.offsetY] : null;
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before || !camera()) return;
    const now = [event.offsetX, event.offsetY];
    const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
    fingers.set(event.pointerId, now);
    if (other) {
      const apart = ([x, y]) => Math.hypot(x - other[0], y - other[1]);
      camera().zoomAt((now[0] + other[0]) / 2, (now[1] + other[1]) / 2, apart(now) / Math.max(1, apart(before)));
      moved();
    } else if (
      !camera().isHome &&
      drags(event) &&
      (!from || Math.hypot(now[0] - from[0], now[1] - from[1]) > DRAGGED)
    ) {
      from = null;
      camera().pan(now[0] - before[0], now[1] - before[1]);
      moved();
    }
  });
  for (const end of ["pointerup", "pointercancel", "pointerleave"])
    canvas.addEventListener(end, (event) => fingers.delete(event.pointerId));
}
