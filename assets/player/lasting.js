// What a mounted script makes for its place on the page: once, and for as long as the place is there.

// A function to be called as Streamlit calls it: for each change of the data. `make(root, options)` makes what `take(thing,
// options)` gives the data to. One that `isOld(thing, options)` is made again.
//
// Streamlit ends a call that newer data has overtaken, also after the newer call: the place stays then, with what it holds.
export function lasting(make, take, isOld = () => false) {
  const things = new WeakMap();
  return (options) => {
    const { parentElement } = options;
    const root = parentElement.querySelector(".rs-root") ?? parentElement;
    if (things.has(root) && isOld(things.get(root), options)) end(things, root);
    if (!things.has(root)) things.set(root, make(root, options));
    take(things.get(root), options);
    return () => root.isConnected || end(things, root);
  };
}

function end(things, root) {
  things.get(root)?.close?.();
  things.delete(root);
}
