// The picture of a document: hosts as frames, devices as buttons, links as lines below them.

import { become } from "../build/become.js";
import { make } from "../player/elements.js";
import { fill } from "../trace/words.js";
import { HEIGHT, WIDTH, corner, find, frame, shortName, widthOf } from "./document.js";

const SVG = "http://www.w3.org/2000/svg";
const MARGIN = 24;

function shape(tag, parent, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  parent.append(element);
  return element;
}

const pixels = (box) => Object.entries(box).map(([key, value]) => `${key}:${value}px`);
const middle = ({ x, y }, device) => ({ x: x + widthOf(device) / 2, y: y + HEIGHT / 2 });

export class Scene {
  constructor(parent, text) {
    this.text = text;
    this.box = make("div", "rd-box", parent, { role: "group", tabindex: 0, "aria-label": text["draw.sheet"] });
    this.sheet = make("div", "rd-sheet", this.box);
    this.plane = make("div", "rd-plane", this.sheet);
    this.scale = 1;
    this.chosen = null; // a scale that somebody has set
  }

  // How far the document reaches.
  #extent(drawn) {
    const boxes = drawn.hosts.map((host) => frame(drawn, host));
    for (const device of drawn.devices) boxes.push({ ...corner(drawn, device), width: WIDTH, height: HEIGHT });
    const width = Math.max(240, ...boxes.map((box) => box.x + box.width)) + 2 * MARGIN;
    return { width, height: Math.max(240, ...boxes.map((box) => box.y + box.height)) + 2 * MARGIN };
  }

  // The scale at which all is in sight, unless devices would be too small to be hit.
  #fitting({ width, height }) {
    const [across, down] = [this.box.clientWidth, this.box.clientHeight];
    const least = across < 640 ? 0.72 : 0.55;
    return Math.min(1, Math.max(least, Math.min((across - 4) / width, (down - 4) / height)));
  }

  zoom(factor) {
    this.chosen = factor ? Math.min(2, Math.max(0.3, this.scale * factor)) : null;
  }

  // Where a pointer is in the drawing.
  at({ clientX, clientY }) {
    const home = this.plane.getBoundingClientRect();
    return { x: (clientX - home.x) / this.scale - MARGIN, y: (clientY - home.y) / this.scale - MARGIN };
  }

  draw(drawn, view) {
    const extent = this.#extent(drawn);
    if (!view.held) this.scale = this.chosen ?? this.#fitting(extent);
    this.sheet.style.cssText = pixels({
      width: Math.floor(extent.width * this.scale),
      height: Math.floor(extent.height * this.scale),
    }).join(";");
    const plane = this.plane.cloneNode(false);
    plane.style.transform = `scale(${this.scale})`;
    for (const host of drawn.hosts) this.#host(plane, drawn, host, view);
    this.#links(plane, drawn, extent, view);
    for (const device of drawn.devices) this.#device(plane, drawn, device, view);
    become(this.plane, plane);
  }

  #host(parent, drawn, host, view) {
    const { x, y, width, height } = frame(drawn, host);
    const element = make("div", "rd-host", parent, { "data-key": `frame${host.id}` });
    element.style.cssText = pixels({ left: x + MARGIN, top: y + MARGIN, width, height }).join(";");
    const head = make("button", "rd-head", element, {
      type: "button",
      "data-key": `hosts${host.id}`,
      "data-list": "hosts",
      "data-id": host.id,
      "aria-pressed": view.is("hosts", host.id),
    });
    head.textContent = `${this.text["draw.kind.host"]} ${host.name}`;
  }

  #device(parent, drawn, device, view) {
    const { x, y } = corner(drawn, device);
    const button = make("button", `rd-device rd-${device.kind}`, parent, {
      type: "button",
      "data-key": `devices${device.id}`,
      "data-list": "devices",
      "data-id": device.id,
      "data-name": device.name,
      "aria-pressed": view.is("devices", device.id),
      "aria-label": this.#spoken(drawn, device),
    });
    button.style.cssText = pixels({ left: x + MARGIN, top: y + MARGIN, width: widthOf(device), height: HEIGHT }).join(
      ";",
    );
    button.classList.toggle("rd-wrong", view.wrong.has(device.id));
    button.classList.toggle("rd-source", view.source === device.id);
    button.textContent = shortName(drawn, device);
  }

  #spoken(drawn, device) {
    const count = drawn.links.filter((link) => link.from === device.id || link.to === device.id).length;
    return fill(this.text["draw.spoken"], {
      kind: this.text[`draw.kind.${device.kind}`],
      name: device.name || "?",
      count,
    });
  }

  #links(parent, drawn, { width, height }, view) {
    const svg = shape("svg", parent, { class: "rd-links", width, height, "aria-hidden": "true" });
    const middles = new Map(drawn.devices.map((device) => [device.id, middle(corner(drawn, device), device)]));
    for (const link of drawn.links) {
      const [a, b] = [middles.get(link.from), middles.get(link.to)];
      const { kind } = find(drawn.classes, link.class);
      const ends = { x1: a.x + MARGIN, y1: a.y + MARGIN, x2: b.x + MARGIN, y2: b.y + MARGIN };
      const marked = view.is("links", link.id) ? " rd-marked" : "";
      shape("line", svg, { ...ends, class: "rd-hit", "data-list": "links", "data-id": link.id });
      shape("line", svg, { ...ends, class: `rd-wire rd-line-${kind}${marked}` });
    }
    if (view.rubber) {
      const from = middles.get(view.source);
      const { x, y } = view.rubber;
      const ends = { x1: from.x + MARGIN, y1: from.y + MARGIN, x2: x + MARGIN, y2: y + MARGIN };
      shape("line", svg, { ...ends, class: "rd-wire rd-rubber" });
    }
  }

  // Have a device in sight.
  show(key) {
    this.plane.querySelector(`[data-key="${key}"]`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}
