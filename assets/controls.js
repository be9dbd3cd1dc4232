// Buttons and fields that move through time, made once and wired to a player.

export const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4, 10];
export const VIEWS = ["machine", "shape", "matrix", "time"];
const ICONS = {
  first: "M5 4v16M20 4 9 12l11 8z", back: "M8 4v16M19 4 11 12l8 8z", play: "M6 3.5 20 12 6 20.5z",
  pause: "M7 4v16M17 4v16", forward: "M16 4v16M5 4l8 8-8 8z", last: "M19 4v16M4 4l11 8-11 8z",
  full: "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5", critical: "M3 18 9 12l4 3 8-9",
};

export function make(tag, className, parent, attributes = {}) {
  const element = document.createElement(tag);
  element.className = className;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  parent.append(element);
  return element;
}

export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

export function build(player) {
  player.controls = document.createElement("div");
  player.controls.className = "rs-controls";
  buildTransport(player, make("div", "rs-bar", player.controls));
  player.scrub = make("input", "rs-scrub", player.controls, { type: "range", min: "0", max: "1000000", step: "1" });
  player.scrub.addEventListener("input", () => { player.pause(true); player.seek((player.scrub.value / 1e6) * player.time, true); });
  player.scrub.addEventListener("change", () => player.tell());
  buildViews(player, make("div", "rs-bar rs-views", player.controls));
  player.help = make("p", "rs-keys", player.controls, { hidden: "" });
}

function buildTransport(player, bar) {
  player.buttons = {};
  for (const [name, act] of [
    ["first", () => player.seek(0)], ["back", () => player.stepBy(-1)], ["play", () => player.toggle()],
    ["forward", () => player.stepBy(1)], ["last", () => player.seek(player.time)],
  ]) {
    const button = make("button", `rs-button rs-${name}`, bar, { type: "button" });
    button.append(icon(name));
    button.addEventListener("click", () => { if (name !== "play") player.pause(); act(); });
    player.buttons[name] = button;
  }
  const jump = make("label", "rs-jump", bar);
  player.stepWord = make("span", "", jump);
  player.stepBox = make("input", "rs-step", jump, { type: "number", min: "0", inputmode: "numeric" });
  player.stepBox.addEventListener("change", () => { player.pause(); player.jump(Number(player.stepBox.value)); });
  player.stepOf = make("span", "", jump);
  player.clock = make("span", "rs-clock", bar);
  const right = make("div", "rs-right", bar);
  player.pace = make("button", "rs-button rs-pace", right, { type: "button" });
  player.pace.addEventListener("click", () => player.setEven(!player.even));
  player.speedBox = make("select", "rs-speed", right);
  for (const speed of SPEEDS) make("option", "", player.speedBox, { value: String(speed) }).textContent = `${speed}×`;
  player.speedBox.addEventListener("change", () => player.setSpeed(Number(player.speedBox.value)));
  player.helpButton = make("button", "rs-button rs-help", right, { type: "button", "aria-expanded": "false" });
  player.helpButton.textContent = "?";
  player.helpButton.addEventListener("click", () => player.toggleHelp());
  player.buttons.full = make("button", "rs-button rs-full", right, { type: "button" });
  player.buttons.full.append(icon("full"));
  player.buttons.full.addEventListener("click", () => player.fullScreen());
}

function buildViews(player, bar) {
  player.viewGroup = make("div", "rs-tabs", bar, { role: "group" });
  player.viewButtons = {};
  for (const view of VIEWS) {
    const button = make("button", "rs-tab", player.viewGroup, { type: "button" });
    button.addEventListener("click", () => player.setView(view));
    player.viewButtons[view] = button;
  }
  player.litButton = make("button", "rs-tab rs-lit", bar, { type: "button", "aria-pressed": "false" });
  player.litButton.addEventListener("click", () => player.setLit(!player.lit));
}
