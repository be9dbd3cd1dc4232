// A button that copies the code of a frame with what the page's address names: the stage and nothing around it.

const LOOK = "display:block;width:100%;max-width:1280px;aspect-ratio:16/9;min-height:300px;border:0";
const STYLE = `
.embed { font: 14px/1.5 var(--st-font, sans-serif); color: var(--st-text-color); display: grid; gap: 8px; }
.embed button {
  font: inherit; color: inherit; min-height: 40px; padding: 0 12px; border-radius: 8px; cursor: pointer;
  border: 1px solid color-mix(in srgb, currentColor 30%, transparent); background: var(--st-background-color, Canvas);
}
.embed button:hover { border-color: var(--st-primary-color, currentColor); }
.embed textarea {
  font: 12px/1.4 ui-monospace, monospace; color: inherit; width: 100%; box-sizing: border-box; resize: vertical;
  background: var(--st-secondary-background-color, transparent); padding: 8px; border-radius: 8px;
  border: 1px solid color-mix(in srgb, currentColor 30%, transparent);
}
.embed :is(button, textarea):focus-visible { outline: 2px solid var(--st-primary-color, #0072b2); }
.embed p { margin: 0; font-size: 13px; }
`;

const quoted = (text) => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");

// The code of a frame that fits any width and shows what an address names.
export function codeOf(href, title) {
  const address = new URL(href);
  address.searchParams.set("embed", "true");
  address.hash = "";
  return `<iframe src="${quoted(address.href)}" title="${quoted(title)}" loading="lazy" allow="fullscreen" style="${LOOK}"></iframe>`;
}

// Whether the text is on the clipboard: pages without a secure address may still copy what is selected.
async function copied(field) {
  try {
    await navigator.clipboard.writeText(field.value);
    return true;
  } catch {
    field.select();
    return document.execCommand("copy");
  }
}

export default function mount({ data, parentElement }) {
  const { text } = data;
  const root = document.createElement("div");
  root.className = "embed";
  const style = document.createElement("style");
  style.textContent = STYLE;
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text.copy;
  const field = document.createElement("textarea");
  field.readOnly = true;
  field.rows = 4;
  field.hidden = true;
  field.setAttribute("aria-label", text.code);
  const said = document.createElement("p");
  said.setAttribute("role", "status");
  const help = document.createElement("p");
  help.textContent = text.help;
  button.addEventListener("click", async () => {
    field.value = codeOf(globalThis.location.href, document.title);
    field.hidden = false;
    said.textContent = (await copied(field)) ? text.copied : "";
  });
  root.append(style, button, said, field, help);
  parentElement.replaceChildren(root);
}
