// The button that opens and closes the settings, which are Streamlit's own side panel.

import { lasting } from "../player/lasting.js";

const PANEL = '[data-testid="stSidebar"]';
const OPEN = '[data-testid="stExpandSidebarButton"]';
const CLOSE = '[data-testid="stSidebarCollapseButton"] button';
const LOOK = `
  button { display: flex; align-items: center; gap: 8px; height: 32px; padding: 0 12px; border: 0; border-radius: 6px;
    font: 14px var(--st-font); color: var(--st-text-color); background: none; cursor: pointer; white-space: nowrap }
  button:hover, button[aria-expanded="true"] { background: var(--st-secondary-background-color) }
  button:focus-visible { outline: 2px solid var(--st-primary-color) }
  svg { width: 16px; height: 16px; fill: none; stroke: currentColor; stroke-width: 1.75; stroke-linecap: round }
  @media (max-width: 1000px) { span { position: absolute; width: 1px; overflow: hidden; clip-path: inset(50%) } }`;
const ICON =
  '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M3 7h10M19 7h2M3 17h2M11 17h10"/>' +
  '<circle cx="16" cy="7" r="2.5"/><circle cx="8" cy="17" r="2.5"/></svg>';
const isOpen = () => document.querySelector(PANEL)?.dataset.collapsed === "false";

function made(parent) {
  const button = document.createElement("button");
  button.type = "button";
  button.innerHTML = `<style>${LOOK}</style>${ICON}<span></span>`;
  button.addEventListener("click", () => document.querySelector(isOpen() ? CLOSE : OPEN)?.click());
  parent.append(button);
  const show = () => button.setAttribute("aria-expanded", String(isOpen()));
  const watch = new MutationObserver(show);
  watch.observe(document.body, { attributeFilter: ["data-collapsed"], subtree: true });
  show();
  return { button, close: () => watch.disconnect() };
}

export default lasting(made, ({ button }, { data }) => (button.querySelector("span").textContent = data.text));
