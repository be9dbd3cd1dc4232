// The key "/" opens what is found by it, unless somebody is typing.

const TYPED = "input, textarea, select, [contenteditable=true]";
const listeners = new WeakMap();

function isTyping(event) {
  const place = event.composedPath()[0];
  return place instanceof Element && Boolean(place.closest(TYPED));
}

export default function mount({ data, parentElement }) {
  if (!listeners.has(parentElement)) {
    const stop = new AbortController();
    const pressed = (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
      event.preventDefault();
      document.querySelector(`[class*="st-key-${data.opens}"] button[aria-expanded="false"]`)?.click();
    };
    document.addEventListener("keydown", pressed, { signal: stop.signal });
    listeners.set(parentElement, stop);
  }
  return () => {
    listeners.get(parentElement)?.abort();
    listeners.delete(parentElement);
  };
}
