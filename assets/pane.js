// One run as a person sees it: its sentence, its pictures, and a card about what was chosen in them.

import { LoadChart } from "./chart.js";
import { make } from "./controls.js";
import { explain, linkName, seconds } from "./explain.js";
import { ramp, theme } from "./paint.js";
import { Slots } from "./slots.js";
import { Stage, machine, shape } from "./stage.js";
import { Matrix, SpaceTime } from "./views.js";
import { decode } from "./timeline.js";

const CHOICES = 512;

export class Pane {
  constructor(player, parent) {
    this.player = player;
    this.t = 0;
    this.root = make("div", "rs-player", parent, { "data-ringside": "player", tabindex: "0", role: "group" });
    this.root.ringside = {
      blocks: () => this.timeline?.blocks(this.t).map(({ dx, dy, ...block }) => block) ?? [],
      slots: (rank) => this.timeline?.slots(rank, this.t) ?? [],
      seek: (t) => player.seek(t),
    };
    this.title = make("h3", "rs-title", this.root);
    this.captionLine = make("p", "rs-caption", this.root);
    this.main = make("div", "rs-main", this.root);
    const left = make("div", "rs-left", this.main);
    this.canvas = make("canvas", "rs-stage", left, { role: "img" });
    this.legend = make("div", "rs-legend", left);
    this.card = make("div", "rs-card", left);
    this.tip = make("div", "rs-tip", this.main, { role: "status" });
    this.side = make("div", "rs-side", this.main);
    this.slotsTitle = make("h4", "", this.side);
    this.slotsCanvas = make("canvas", "rs-slots", this.side, { role: "img" });
    this.chartTitle = make("h4", "", this.root);
    this.chartCanvas = make("canvas", "rs-chart", this.root, { role: "img" });
    this._listen();
  }

  _listen() {
    const seek = (event) => { this.player.pause(); this.player.seek(this.chart.t(event.offsetX)); };
    this.chartCanvas.addEventListener("pointerdown", seek);
    this.chartCanvas.addEventListener("pointermove", (event) => { if (event.buttons) seek(event); });
    for (const [canvas, picture] of [[this.canvas, () => this.picture], [this.slotsCanvas, () => this.slots]]) {
      const under = (event) => this.timeline && picture().pick(event.offsetX, event.offsetY);
      canvas.addEventListener("pointermove", (event) => this._hover(event, under(event)));
      canvas.addEventListener("pointerleave", () => this._hover(null, null));
      canvas.addEventListener("pointerdown", (event) => { this._hover(event, under(event)); this.pin(under(event)); });
    }
  }

  async load(run, text) {
    this.text = text;
    this._label();
    this.title.textContent = run.title ?? "";
    this.root.classList.toggle("rs-titled", Boolean(run.title));
    if (run.id === this.id) return true;
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const timeline = await decode(run.tl);
    if (turn !== this.turn) return false;
    this.id = run.id;
    this.timeline = timeline;
    const drawn = shape(timeline);
    this.pictures = { machine: new Stage(timeline, machine(timeline)) };
    if (timeline.meta.full) {
      if (drawn) this.pictures.shape = new Stage(timeline, drawn);
      this.pictures.matrix = new Matrix(timeline);
      this.pictures.time = new SpaceTime(timeline);
    }
    this.slots = new Slots(timeline);
    this.chart = new LoadChart(timeline);
    this.pin(null);
    this._choices();
    this._note(run.note);
    return true;
  }

  _note(note) {
    this.root.querySelector(".rs-note")?.remove();
    if (!note) return;
    const line = make("p", "rs-note", this.root);
    line.textContent = note;
    this.captionLine.after(line);
  }

  _label() {
    const say = (name) => this.text[`player.${name}`];
    this.root.setAttribute("aria-label", this.text["page.title"]);
    this.slotsTitle.textContent = say("slots");
    this.chartTitle.textContent = say("timeline");
    this.chartCanvas.setAttribute("aria-label", say("timeline"));
    this.legend.replaceChildren();
    const scale = make("span", "rs-ramp", this.legend);
    scale.style.background = ramp();
    scale.before(`${say("load")}: ${say("idle")} `);
    scale.after(` ${say("full_load")}`);
    const look = make("label", "rs-look", this.legend);
    look.textContent = `${say("look")} `;
    this.lookAt = make("select", "rs-pick", look);
    this.lookAt.addEventListener("change", () => this.pin(this.lookAt.value ? JSON.parse(this.lookAt.value) : null));
    if (this.player.fork) make("span", "rs-hint", this.legend).textContent = say("hint");
    if (this.timeline) this._choices();
  }

  // Ranks and links by name: what the pointer can choose, the keyboard can too.
  _choices() {
    const { devices, links } = this.timeline;
    const ranks = devices.rank.map((rank, d) => [rank, d]).filter(([rank]) => rank >= 0).sort((a, b) => a[0] - b[0]);
    const choices = ranks.map(([rank, d]) => [`${this.timeline.rankName(rank)} · ${devices.name[d]}`, { kind: "device", index: d }]);
    links.src.forEach((_, k) => choices.push([linkName(this.timeline, k), { kind: "link", index: k }]));
    this.lookAt.replaceChildren();
    make("option", "", this.lookAt, { value: "" }).textContent = "–";
    for (const [name, focus] of choices.slice(0, CHOICES)) {
      make("option", "", this.lookAt, { value: JSON.stringify(focus) }).textContent = name;
    }
  }

  get picture() {
    return this.pictures[this.player.view] ?? this.pictures.machine;
  }

  layout() {
    if (!this.timeline || !this.root.clientWidth) return;
    this.colours = theme(this.root);
    const wide = this.picture === this.pictures.matrix;
    this.main.classList.toggle("rs-wide", wide || !this.timeline.meta.full);
    const width = this.canvas.parentElement.clientWidth;
    const most = Math.min(this.player.panes.length > 1 ? 420 : 560, window.innerHeight * 0.62);
    this.picture.resize(this.canvas, width, Math.max(220, most), this.colours, this.player.time);
    this.slots.resize(this.slotsCanvas, this.side.clientWidth || 1, this.colours);
    this.chart.resize(this.chartCanvas, this.root.clientWidth, this.colours, this.player.time);
  }

  draw(t) {
    if (!this.timeline || !this.picture.context) return;
    const { timeline, root } = this;
    this.t = Math.max(0, Math.min(timeline.time, t));
    const caption = timeline.caption(this.t);
    this.picture.paint(this.t, this.focus ?? this.pinned, this.player.lit && timeline.meta.full ? timeline.critical() : null);
    this.chart.paint(this.t);
    if (this.side.clientWidth) this.slots.paint(this.t);
    if (this.captionLine.textContent !== caption) this.captionLine.textContent = caption;
    this.canvas.setAttribute("aria-label", caption);
    this.slotsCanvas.setAttribute("aria-label", `${this.text["player.slots"]}: ${caption}`);
    Object.assign(root.dataset, {
      timeS: String(this.t), step: String(timeline.step(this.t)), steps: String(timeline.meta.steps),
      playing: String(Boolean(this.player.playing)), caption, view: this.player.view,
    });
    this._showTip();
    if (this.cardLines) this._say(this.cardLines, this.pinned);
  }

  _hover(event, focus) {
    if (!this.timeline) return;
    if (event) {
      const box = this.main.getBoundingClientRect();
      this.pointer = [event.clientX - box.left, event.clientY - box.top];
    }
    this.focus = focus;
    this.canvas.style.cursor = focus ? "pointer" : "";
    if (this.player.playing) this._showTip();
    else this.draw(this.t);
  }

  _say(parent, focus) {
    const lines = explain(this.timeline, this.text, this.t, focus);
    if (parent.textContent === lines.join("")) return;
    parent.replaceChildren(...lines.map((line) => Object.assign(document.createElement("div"), { textContent: line })));
  }

  _showTip() {
    this.tip.style.display = this.focus ? "block" : "none";
    if (!this.focus) return;
    this._say(this.tip, this.focus);
    const [x, y] = this.pointer;
    this.tip.style.left = `${Math.max(0, Math.min(x + 14, this.main.clientWidth - this.tip.offsetWidth - 4))}px`;
    this.tip.style.top = `${y + 14}px`;
  }

  // Keep something in view until something else is chosen, with what can be done to it.
  pin(focus) {
    this.pinned = focus;
    this.card.replaceChildren();
    this.card.style.display = focus ? "block" : "none";
    this.cardLines = null;
    if (!focus || !this.timeline) return;
    this.cardLines = make("div", "rs-lines", this.card);
    if (this.player.fork) this._actions(focus);
    const away = make("button", "rs-away", this.card, { type: "button", "aria-label": this.text["player.close"] });
    away.textContent = "×";
    away.addEventListener("click", () => this.pin(null));
    this.draw(this.t);
    this.card.scrollIntoView({ block: "nearest" }); // what was clicked may stand far above it
  }

  _actions(focus) {
    const row = make("div", "rs-actions", this.card);
    const { devices, links, time } = this.timeline;
    const from = () => (this.t > 0 && this.t < time ? `,start=${Number((this.t * 1e6).toPrecision(6))}us` : "");
    const button = (name, spec) => {
      const made = make("button", "rs-button", row, { type: "button" });
      made.textContent = this.text[`player.${name}`];
      made.addEventListener("click", () => this.player.fork(spec()));
    };
    if (focus.kind === "link") {
      const ends = `src=${devices.name[links.src[focus.index]]},dst=${devices.name[links.dst[focus.index]]}`;
      const left = Math.round((100 * this.timeline.capacities(this.t)[focus.index]) / links.bandwidth[focus.index]);
      if (left > 5) this._bandwidth(row, left, (share) => this.player.fork(`slow_link:${ends},share=${share}${from()}`));
      button("half", () => `slow_link:${ends},share=0.5${from()}`);
      button("cut", () => `dead_link:${ends},reroute=yes${from()}`);
    } else if (focus.kind === "device" && devices.rank[focus.index] >= 0) {
      const rank = devices.rank[focus.index];
      button("slow", () => `straggler:rank=${rank},slower=2`);
      button("late", () => `straggler:rank=${rank},late=${Number((time * 2.5e5).toPrecision(2))}us`);
    }
  }

  // A link's bandwidth to be dragged; let go, and the run is done again.
  // Troubles multiply, so what is dragged to is told as a share of what is left.
  _bandwidth(row, left, set) {
    const label = make("label", "rs-drag", row);
    label.textContent = `${this.text["player.bandwidth"]} `;
    const slider = make("input", "", label, { type: "range", min: "5", max: String(left), step: "1", value: String(left) });
    const shown = make("output", "", label);
    const show = () => { shown.textContent = ` ${slider.value} %`; };
    show();
    slider.addEventListener("input", show);
    slider.addEventListener("change", () => { if (Number(slider.value) < left) set(Number((slider.value / left).toPrecision(4))); });
  }

  // How this run ended, beside the others.
  ended(best) {
    const { time } = this.timeline;
    const late = best > 0 ? time / best : 1;
    return late > 1 + 1e-9 ? `${seconds(time)} · ×${Number(late.toPrecision(3))}` : seconds(time);
  }
}
