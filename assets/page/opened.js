// Tells the page once that the place it stands in has come into sight: what folds away there is made only then.

const watchers = new WeakMap();

export default function mount({ parentElement, setTriggerValue }) {
  if (!watchers.has(parentElement)) {
    const watcher = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      watcher.disconnect();
      setTriggerValue("seen", true);
    });
    watcher.observe(parentElement.host ?? parentElement);
    watchers.set(parentElement, watcher);
  }
  return () => {
    watchers.get(parentElement)?.disconnect();
    watchers.delete(parentElement);
  };
}
