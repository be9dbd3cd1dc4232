// Buttons, fields and canvases: made once, wired to a player.

export const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4, 10];
const ICONS = {
  first: "M5 4v16M20 4 9 12l11 8z", back: "M8 4v16M19 4 11 12l8 8z", play: "M6 3.5 20 12 6 20.5z",
  pause: "M7 4v16M17 4v16", forward: "M16 4v16M5 4l8 8-8 8z", last: "M19 4v16M4 4l11 8-11 8z",
  full: "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5",
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

// The player's elements, wired to its actions; kept as fields of the player.
export function build(player) {
  const { root } = player;
  const bar = make("div", "rs-bar", root);
  player.buttons = {};
  for (const [name, act] of [
    ["first", () => player.seek(0)], ["back", () => player.stepBy(-1)], ["play", () => player.toggle()],
    ["forward", () => player.stepBy(1)], ["last", () => player.seek(player.timeline.time)],
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
  player.helpButton = make("button", "rs-button rs-help", right, { type: "button" });
  player.helpButton.textContent = "?";
  player.helpButton.addEventListener("click", () => player.toggleHelp());
  player.buttons.full = make("button", "rs-button rs-full", right, { type: "button" });
  player.buttons.full.append(icon("full"));
  player.buttons.full.addEventListener("click", () => player.fullScreen());
  player.scrub = make("input", "rs-scrub", root, { type: "range", min: "0", max: "1000000", step: "1" });
  player.scrub.addEventListener("input", () => { player.pause(true); player.seek((player.scrub.value / 1e6) * player.timeline.time, true); });
  player.scrub.addEventListener("change", () => player.tell());
  player.captionLine = make("p", "rs-caption", root);
  player.help = make("p", "rs-keys", root, { hidden: "" });
  const main = make("div", "rs-main", root);
  const left = make("div", "rs-left", main);
  player.stageCanvas = make("canvas", "rs-stage", left, { role: "img" });
  player.legend = make("div", "rs-legend", left);
  player.tip = make("div", "rs-tip", main, { role: "status" });
  const side = make("div", "rs-side", main);
  player.slotsTitle = make("h4", "", side);
  player.slotsCanvas = make("canvas", "rs-slots", side, { role: "img" });
  player.chartTitle = make("h4", "", root);
  player.chartCanvas = make("canvas", "rs-chart", root, { role: "img" });
  player.chartCanvas.addEventListener("pointerdown", (event) => player._chartSeek(event));
  player.chartCanvas.addEventListener("pointermove", (event) => { if (event.buttons) player._chartSeek(event); });
  player.stageCanvas.addEventListener("pointermove", (event) => player._hover(event));
  player.stageCanvas.addEventListener("pointerdown", (event) => player._hover(event));
  player.slotsCanvas.addEventListener("pointermove", (event) => player._hoverSlot(event));
  player.slotsCanvas.addEventListener("pointerdown", (event) => player._hoverSlot(event));
  for (const canvas of [player.stageCanvas, player.slotsCanvas]) {
    canvas.addEventListener("pointerleave", () => { player.focus = null; player.draw(); });
  }
  root.addEventListener("keydown", (event) => player._key(event));
}
