// Whether pages are light or dark: Streamlit reads the choice of a browser when a page is opened.

const KEY = `stActiveTheme-${globalThis.location.pathname}-v2`;
const LOOK = `
  label { display: flex; align-items: center; justify-content: space-between; font: 14px var(--st-font);
    color: var(--st-text-color) }
  select { height: 40px; border: 0; font: 600 14px var(--st-font); color: inherit;
    background: var(--st-background-color); cursor: pointer }
  select:focus-visible { outline: 2px solid var(--st-primary-color) }`;

function chosen() {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? "System";
  } catch {
    return "System";
  }
}

function choose(name) {
  localStorage.setItem(KEY, JSON.stringify(name));
  globalThis.location.reload();
}

// `data` has a `label`, and in `names` what to call each theme.
export default function mount({ data, parentElement }) {
  parentElement.querySelector("label")?.remove();
  const label = document.createElement("label");
  label.innerHTML = `<style>${LOOK}</style><span></span><select></select>`;
  label.querySelector("span").textContent = data.label;
  const select = label.querySelector("select");
  for (const [name, words] of Object.entries(data.names)) select.add(new Option(words, name));
  select.value = chosen();
  select.addEventListener("change", () => choose(select.value));
  parentElement.append(label);
}
