// A cell's output in the colours of the notebook around it, whichever program shows it.

const REPAINT_AFTER = 300; // ms: a theme's style sheet comes after the word that names it
const WATCHED = ["class", "style", "data-theme", "data-jp-theme-light", "data-jp-theme-name"];
const CLEAR = /^(|transparent|rgba\(.*,\s*0\))$/; // what is not in a page yet has no colour at all

const above = (element) => element.parentElement ?? element.getRootNode().host ?? null;

// The colour that is seen behind an element.
function paperBehind(element) {
  for (let up = element; up; up = above(up)) {
    const { backgroundColor } = getComputedStyle(up);
    if (!CLEAR.test(backgroundColor)) return backgroundColor;
  }
  return "#ffffff";
}

function isDark(colour) {
  const g = new OffscreenCanvas(1, 1).getContext("2d");
  g.fillStyle = colour;
  g.fillRect(0, 0, 1, 1);
  const [r, green, b] = g.getImageData(0, 0, 1, 1).data;
  return 0.2126 * r + 0.7152 * green + 0.0722 * b < 128;
}

// Dress an element now and whenever the theme changes, which `changed` is told; returns the end of it.
export function dress(element, changed) {
  element.classList.add("rs-notebook");
  element.dataset.lmSuppressShortcuts = "true"; // keys are the player's while it has the focus
  const put = () => {
    for (const name of ["--st-text-color", "--st-background-color"]) element.style.removeProperty(name);
    const paper = paperBehind(above(element) ?? element);
    element.style.setProperty("--st-text-color", isDark(paper) ? "#fafafa" : "#31333f");
    element.style.setProperty("--st-background-color", paper);
    element.style.setProperty("--st-secondary-background-color", isDark(paper) ? "#262730" : "#f0f2f6");
    element.style.colorScheme = isDark(paper) ? "dark" : "light";
  };
  const again = () => {
    put();
    changed();
  };
  let waiting = 0;
  const watch = new MutationObserver(() => {
    clearTimeout(waiting);
    waiting = setTimeout(again, REPAINT_AFTER);
  });
  const arrival = new ResizeObserver(() => {
    if (!element.clientWidth) return;
    arrival.disconnect();
    again();
  });
  arrival.observe(element); // a cell's output is made before it is put into the page
  for (const root of [document.documentElement, document.body]) watch.observe(root, { attributeFilter: WATCHED });
  put();
  return () => {
    clearTimeout(waiting);
    arrival.disconnect();
    watch.disconnect();
  };
}
