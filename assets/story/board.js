// Few ranks as large cards with the numbers they hold and the bytes they have sent, their cables, and numbers on their way.

import { blockColour, faint, inkOn, quiet } from "../paint/ink.js";
import { RED, bottlenecks, loadColour, loadLevel, waitedFor } from "../paint/load.js";
import { Sent } from "../trace/sent.js";
import { bytesLike, fill, percent } from "../trace/words.js";
import { pointAlong } from "../trace/walk.js";
import { Plan, meets } from "./plan.js";

const PAD = 8;
const TITLE = 20;
const CELL = 30;
const GOAL = 22;
const BAR = 30;
const WIDE = 150; // pixels of a card from which on rows have words before them
const WORDS = 46;
const CHIP = 26;
const NARROW = { board: 600, chip: 20, across: 2 }; // pixels of a board on which numbers of a message stand in rows
const TINT = 0.26;
const ALONG = [0.5, 0.3, 0.7, 0.15, 0.85]; // places on a cable for what stands at it, the best first

export const CARD_HIGH = TITLE + CELL + GOAL + BAR + 2 * PAD;

export class Board {
  #plan;
  #surface;

  // `sums` are the numbers of every set of contributors, `goal` those that everyone needs, `least` the fewest bytes.
  constructor(timeline, { sums, goal, least }) {
    Object.assign(this, { timeline, sums, goal, least });
    this.sent = new Sent(timeline);
    const { block, given } = timeline.c;
    this.blocks = 1 + Math.max(...block, ...given);
    this.per = goal.length / this.blocks; // numbers in a block
  }

  layout(surface, width, height) {
    surface.resize(width, height);
    this.#surface = surface;
    this.#plan = new Plan(this.timeline, width, height, CARD_HIGH);
  }

  // `shown` says what is drawn: `goal`, `sent` up to `most` bytes, mean `loads` of the instants `busy`, and what `moves`;
  // `text` has the words of it.
  paint(t, shown, text) {
    const surface = this.#surface;
    const { context: g } = surface;
    surface.clear();
    g.textBaseline = "middle";
    this.#paintCables(shown, text);
    for (const device of this.#plan.others) this.#paintDevice(device, text);
    for (const card of this.#plan.cards) this.#paintCard(card, t, shown, text);
    if (shown.moves) for (const i of this.timeline.moving(t)) this.#paintChip(i, t);
  }

  // How full every link is, on average of some instants.
  #loads(instants) {
    const mean = this.timeline.links.src.map(() => 0);
    for (const t of instants)
      for (const [link, share] of this.timeline.shares(t).entries()) mean[link] += share / instants.length;
    return mean;
  }

  // The numbers of a block that a set of contributors adds up to.
  #numbers(block, set) {
    return this.sums[set].slice(block * this.per, (block + 1) * this.per);
  }

  // What a rank holds: by number its value, and how many have contributed; null where it has none.
  holds(rank, t) {
    const { timeline } = this;
    const held = timeline.held(t);
    const numbers = this.goal.map(() => null);
    for (let slot = 0; slot < timeline.meta.slots; slot += 1) {
      const place = rank * timeline.meta.slots + slot;
      const block = held.block[place];
      if (block < 0) continue;
      const { count } = timeline.contributors(held.set[place]);
      for (const [k, value] of this.#numbers(block, held.set[place]).entries()) {
        const number = block * this.per + k;
        if (count > (numbers[number]?.count ?? 0)) numbers[number] = { value, count };
      }
    }
    return numbers;
  }

  // Every rank's numbers and bytes, and cables that are full, in words.
  describe(t, { sent, loads, busy, most }, text) {
    const bytes = this.sent.at(t);
    const { timeline } = this;
    const lines = Array.from({ length: timeline.meta.ranks }, (_, rank) => {
      const numbers = this.holds(rank, t).map((it) => it?.value ?? "–");
      const holds = fill(text["story.say.holds"], { rank, numbers: numbers.join(", ") });
      return sent ? `${holds} ${fill(text["story.say.sent"], { bytes: bytesLike(bytes[rank], most) })}` : holds;
    });
    if (loads)
      for (const { link, share } of this.#plan.loads(this.#loads(busy)))
        lines.push(fill(text["story.say.load"], { link, share: percent(share) }));
    return lines.join(" ");
  }

  #paintCables({ loads, moves, busy }, text) {
    const { context: g, colours } = this.#surface;
    const shares = this.#loads(moves ? busy : []);
    g.lineCap = "round";
    const isWaitedFor = waitedFor(shares, bottlenecks(this.timeline));
    for (const { link, points } of this.#plan.lanes) {
      const level = isWaitedFor(link) ? RED : loadLevel(shares[link]);
      g.strokeStyle = level ? loadColour(level, colours) : faint(colours, 0.2);
      g.lineWidth = level ? 5 : 3;
      g.beginPath();
      g.moveTo(...points[0]);
      g.lineTo(...points[1]);
      g.stroke();
    }
    if (loads) this.#paintShares(shares, text);
  }

  // How full links are, where there is room.
  #paintShares(shares, text) {
    const { context: g, colours } = this.#surface;
    const taken = [];
    g.font = `700 12px ${colours.font}`;
    for (const { share, at } of this.#plan.loads(shares)) {
      if (!share) continue;
      const isFull = share > 0.995;
      const words = isFull ? [text["story.say.full"], percent(share)] : [percent(share)];
      const pills = words.flatMap((word) => ALONG.map((part) => ({ word, box: this.#room(word, at(part)) })));
      const pill = pills.find(({ box }) => !taken.some((other) => meets(other, box))) ?? pills.at(-1);
      taken.push(pill.box);
      this.#pill(pill, isFull);
    }
  }

  // The box of a word at a place, inside the picture.
  #room(word, [x, y]) {
    const { context: g, width } = this.#surface;
    const half = g.measureText(word).width / 2 + 7;
    return [Math.max(1, Math.min(width - 2 * half - 1, x - half)), y - 10, 2 * half, 20];
  }

  #pill({ word, box: [x, y, w, h] }, isLoud) {
    const { context: g, colours } = this.#surface;
    g.beginPath();
    g.roundRect(x, y, w, h, h / 2);
    g.fillStyle = isLoud ? colours.ink : colours.paper;
    g.fill();
    g.strokeStyle = isLoud ? colours.paper : faint(colours, 0.5);
    g.lineWidth = 1;
    g.stroke();
    g.fillStyle = isLoud ? colours.paper : colours.ink;
    g.textAlign = "center";
    g.fillText(word, x + w / 2, y + h / 2 + 0.5);
  }

  #paintDevice({ name, kind, box: [x, y, w, h] }, text) {
    const { context: g, colours } = this.#surface;
    g.beginPath();
    g.roundRect(x, y, w, h, 6);
    g.fillStyle = colours.panel;
    g.fill();
    g.strokeStyle = faint(colours, 0.35);
    g.lineWidth = 1;
    g.stroke();
    g.fillStyle = quiet(colours);
    g.font = `500 12px ${colours.font}`;
    g.textAlign = "center";
    g.fillText(kind === "NVS" ? text["story.say.switch"] : name, x + w / 2, y + h / 2);
  }

  #paintCard({ rank, box: [x, y, w, h] }, t, shown, text) {
    const { context: g, colours } = this.#surface;
    g.beginPath();
    g.roundRect(x, y, w, h, 8);
    g.fillStyle = colours.paper;
    g.fill();
    g.strokeStyle = colours.ink;
    g.lineWidth = 1.4;
    g.stroke();
    g.fillStyle = colours.ink;
    g.font = `600 13px ${colours.font}`;
    g.textAlign = "left";
    g.fillText(fill(text["story.say.gpu"], { rank }), x + PAD, y + PAD + TITLE / 2 - 2);
    const gutter = w >= WIDE ? WORDS : 0;
    const row = { x: x + PAD + gutter, w: w - 2 * PAD - gutter, left: gutter ? x + PAD : null };
    this.#paintHeld(this.holds(rank, t), { ...row, y: y + PAD + TITLE }, text);
    if (shown.goal) this.#paintGoal({ ...row, y: y + PAD + TITLE + CELL }, text);
    if (shown.sent) this.#paintSent(rank, t, shown.most, { ...row, y: y + PAD + TITLE + CELL + GOAL }, text);
  }

  #word(words, left, y) {
    if (left === null) return;
    const { context: g, colours } = this.#surface;
    g.fillStyle = quiet(colours);
    g.font = `500 12px ${colours.font}`;
    g.textAlign = "left";
    g.fillText(words, left, y);
  }

  // Cells with numbers: pale with what they are part of, solid once all have contributed.
  #paintHeld(numbers, { x, y, w, left }, text) {
    const { context: g, colours } = this.#surface;
    const { whole } = this.timeline.meta;
    const cell = w / numbers.length;
    this.#word(text["story.say.has"], left, y + CELL / 2);
    numbers.forEach((held, k) => {
      const colour = blockColour(k, colours);
      const isWhole = held?.count >= whole;
      g.beginPath();
      g.roundRect(x + k * cell, y, cell - 2, CELL - 4, 4);
      g.fillStyle = colour;
      g.globalAlpha = isWhole ? 1 : TINT;
      g.fill();
      g.globalAlpha = 1;
      if (!held) return;
      g.fillRect(x + k * cell, y + CELL - 8, ((cell - 2) * held.count) / whole, 4);
      g.fillStyle = isWhole ? inkOn(colour) : colours.ink;
      g.font = `${isWhole ? 700 : 600} ${cell > 24 ? 15 : 12}px ${colours.font}`;
      g.textAlign = "center";
      g.fillText(String(held.value), x + k * cell + (cell - 2) / 2, y + CELL / 2 - 2.5);
    });
  }

  #paintGoal({ x, y, w, left }, text) {
    const { context: g, colours } = this.#surface;
    const cell = w / this.goal.length;
    this.#word(text["story.say.needs"], left, y + GOAL / 2 - 2);
    g.font = `600 12px ${colours.font}`;
    this.goal.forEach((value, k) => {
      g.strokeStyle = blockColour(k, colours);
      g.lineWidth = 1.5;
      g.setLineDash([3, 2]);
      g.beginPath();
      g.roundRect(x + k * cell + 0.75, y + 0.75, cell - 3.5, GOAL - 5.5, 4);
      g.stroke();
      g.setLineDash([]);
      g.fillStyle = colours.ink;
      g.textAlign = "center";
      g.fillText(String(value), x + k * cell + (cell - 2) / 2, y + GOAL / 2 - 2);
    });
  }

  // A bar of what it has sent, and the line of what the one that sends most cannot send less than.
  #paintSent(rank, t, most, { x, y, w, left }, text) {
    const { context: g, colours } = this.#surface;
    const bytes = this.sent.at(t)[rank];
    const at = (value) => x + ((w - 2) * value) / most;
    this.#word(text["story.say.has_sent"], left, y + 6);
    g.fillStyle = faint(colours, 0.1);
    g.fillRect(x, y + 2, w - 2, 9);
    g.fillStyle = colours.accent;
    g.fillRect(x, y + 2, at(bytes) - x, 9);
    g.fillStyle = colours.ink;
    if (this.least) g.fillRect(at(this.least) - 1, y - 1, 2, 15);
    g.font = `600 12px ${colours.font}`;
    g.textAlign = "left";
    g.fillText(bytesLike(bytes, most), x, y + 21);
  }

  // What a message carries, on its way.
  #paintChip(i, t) {
    const { timeline } = this;
    const { context: g, colours, width } = this.#surface;
    const { x, y } = pointAlong(this.#plan.path(timeline.c.route[i]), timeline.progress(i, t));
    const numbers = [];
    for (let m = timeline.moveStart[i]; m < timeline.moveStart[i + 1]; m += 1) {
      const block = timeline.c.block[m];
      for (const [k, value] of this.#numbers(block, timeline.c.brings[m]).entries())
        numbers.push([block * this.per + k, value]);
    }
    const isNarrow = width < NARROW.board;
    const across = isNarrow ? Math.min(NARROW.across, numbers.length) : numbers.length;
    const many = isNarrow ? [NARROW.chip, NARROW.chip] : [CHIP * 0.8, CHIP];
    const [wide, high] = numbers.length > 1 ? many : [CHIP, CHIP];
    const rows = Math.ceil(numbers.length / across);
    const [left, top] = [x - (wide * across) / 2, y - (high * rows) / 2];
    numbers.forEach(([number, value], k) => {
      const [at, above] = [left + (k % across) * wide, top + Math.floor(k / across) * high];
      const colour = blockColour(number, colours);
      g.fillStyle = colour;
      g.fillRect(at, above, wide, high);
      g.fillStyle = inkOn(colour);
      g.font = `700 12px ${colours.font}`;
      g.textAlign = "center";
      g.fillText(String(value), at + wide / 2, above + high / 2 + 0.5);
    });
    g.strokeStyle = colours.ink;
    g.lineWidth = 1.4;
    g.strokeRect(left, top, wide * across, high * rows);
  }
}
