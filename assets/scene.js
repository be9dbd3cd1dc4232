// Painting: the stage, the slots and the load chart, each from a timeline and an instant. Knows no buttons.


const OKABE_ITO = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#8A8A8A"];
const DARK_INK = new Set(["#E69F00", "#56B4E9", "#F0E442", "#CC79A7"]);
const DEVICE = { GPU: [1.2, 0.95], NVS: [1.5, 0.55], PCI: [1.0, 0.46], CPU: [1.1, 0.6], NIC: [0.9, 0.46], NET: [1.9, 0.6] };
const SIDE = 0.1;
const MANY = 500;
const ROWS = 48;
const WORDS = 24;

export const blockColour = (block) => OKABE_ITO[((block % 8) + 8) % 8];
const inkOn = (colour) => (DARK_INK.has(colour) ? "#111" : "#fff");

function mix(a, b, share) {
  const part = (k) => Math.round(parseInt(a.slice(k, k + 2), 16) * (1 - share) + parseInt(b.slice(k, k + 2), 16) * share);
  return `rgb(${part(1)},${part(3)},${part(5)})`;
}

// Idle, half, full: readable without telling red from green.
export function loadColour(share, idle) {
  if (share <= 0.001) return idle;
  return share < 0.5 ? mix("#9ec9e8", "#E69F00", share * 2) : mix("#E69F00", "#C03A00", share * 2 - 1);
}

export function theme(element) {
  const style = getComputedStyle(element);
  const read = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
  const dark = window.matchMedia?.("(prefers-color-scheme: dark)").matches;
  return {
    ink: read("--st-text-color", dark ? "#fafafa" : "#31333f"),
    paper: read("--st-background-color", dark ? "#0e1117" : "#ffffff"),
    panel: read("--st-secondary-background-color", dark ? "#262730" : "#f0f2f6"),
    accent: read("--st-primary-color", "#0072B2"),
    font: read("--st-font", "system-ui, sans-serif"),
  };
}

// A canvas as large as its box at the screen's own resolution; returns its context in CSS pixels.
export function fit(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

function faint(colours, share) {
  return `color-mix(in srgb, ${colours.ink} ${Math.round(share * 100)}%, ${colours.paper})`;
}

// The way a link is drawn: straight, kept to its right; in an arc where it would run through a row of devices.
function linkPoints(devices, a, b, arcs) {
  const [ax, ay, bx, by] = [devices.x[a], devices.y[a], devices.x[b], devices.y[b]];
  const length = Math.hypot(bx - ax, by - ay) || 1;
  const [nx, ny] = [-(by - ay) / length, (bx - ax) / length];
  if (arcs && Math.abs(ay - by) < 0.3 && length > 1.6) {
    const sag = 0.42 + 0.16 * length + (ax < bx ? 0 : SIDE * 1.6);
    return Array.from({ length: 13 }, (_, k) => {
      const u = k / 12;
      return [ax + (bx - ax) * u, ay + (by - ay) * u + sag * 4 * u * (1 - u) * 0.75];
    });
  }
  return [[ax + nx * SIDE, ay + ny * SIDE], [bx + nx * SIDE, by + ny * SIDE]];
}

export class Stage {
  constructor(timeline) {
    this.timeline = timeline;
    const { devices, links } = timeline;
    this.arcs = devices.boxes.length > 0;
    this.lines = links.src.map((a, k) => linkPoints(devices, a, links.dst[k], this.arcs));
    const widest = Math.max(...links.bandwidth);
    const least = Math.min(...links.bandwidth);
    this.widths = links.bandwidth.map((b) => (widest > least ? 1.2 + (4.2 * Math.log(b / least)) / Math.log(widest / least) : 2.4));
    const xs = [0, devices.width, ...this.lines.flat().map(([x]) => x)];
    const ys = [0, devices.height, ...this.lines.flat().map(([, y]) => y + 0.15)];
    this.origin = [Math.min(...xs), Math.min(...ys)];
    this.size = [Math.max(...xs) - this.origin[0], Math.max(...ys) - this.origin[1]];
    this._bendPaths();
  }

  // Blocks travel along the links as drawn.
  _bendPaths() {
    const { c, paths, devices, links } = this.timeline;
    if (!paths) return;
    paths.forEach((path, route) => {
      const points = [];
      for (let k = c.route_start[route]; k < c.route_start[route + 1]; k += 1) {
        const link = c.route_link[k];
        const from = c.node[c.node_start[route] + (k - c.route_start[route])];
        const way = links.src[link] === from ? this.lines[link] : [...this.lines[link]].reverse();
        points.push(...way);
      }
      if (!points.length) return;
      const along = [0];
      for (let k = 1; k < points.length; k += 1) {
        along.push(along[k - 1] + Math.hypot(points[k][0] - points[k - 1][0], points[k][1] - points[k - 1][1]));
      }
      Object.assign(path, { points, along });
    });
  }

  height(width) {
    const wanted = (width * (this.size[1] + 0.6)) / (this.size[0] + 0.6);
    return Math.max(200, Math.min(wanted, 560, window.innerHeight * 0.62));
  }

  resize(canvas, width, height, colours) {
    this.context = fit(canvas, width, height);
    this.scale = Math.min(width / (this.size[0] + 0.5), height / (this.size[1] + 0.5), 78);
    this.left = (width - this.size[0] * this.scale) / 2 - this.origin[0] * this.scale;
    this.top = (height - this.size[1] * this.scale) / 2 - this.origin[1] * this.scale;
    [this.width, this.high, this.colours] = [width, height, colours];
    this.backdrop = document.createElement("canvas");
    const back = fit(this.backdrop, width, height);
    this._boxes(back);
    this.lines.forEach((_, k) => this._line(back, k, faint(colours, 0.2), this.widths[k]));
  }

  x(units) { return this.left + units * this.scale; }
  y(units) { return this.top + units * this.scale; }

  _boxes(g) {
    const { boxes } = this.timeline.devices;
    for (const [label, kind, x, y, width, height] of boxes) {
      g.beginPath();
      g.roundRect(this.x(x), this.y(y), width * this.scale, height * this.scale, 8);
      g.fillStyle = faint(this.colours, kind === "host" ? 0.025 : 0.05);
      g.fill();
      g.strokeStyle = faint(this.colours, 0.14);
      g.lineWidth = 1;
      g.stroke();
      const size = Math.min(13, this.scale * 0.42);
      if (size < 6) continue;
      g.fillStyle = faint(this.colours, 0.6);
      g.font = `600 ${size}px ${this.colours.font}`;
      g.textAlign = "left";
      g.textBaseline = "top";
      g.fillText(label, this.x(x) + this.scale * 0.3, this.y(y) + this.scale * 0.22);
    }
  }

  _line(g, k, colour, width) {
    g.beginPath();
    this.lines[k].forEach(([x, y], j) => (j ? g.lineTo(this.x(x), this.y(y)) : g.moveTo(this.x(x), this.y(y))));
    g.strokeStyle = colour;
    g.lineWidth = width;
    g.stroke();
  }

  paint(t, focus) {
    const g = this.context;
    g.clearRect(0, 0, this.width, this.high);
    g.drawImage(this.backdrop, 0, 0, this.width, this.high);
    const loads = this.timeline.loads(t);
    g.lineCap = "round";
    loads.forEach((rate, k) => {
      const share = rate / this.timeline.links.bandwidth[k];
      if (share > 0.001) this._line(g, k, loadColour(Math.min(1, share), ""), this.widths[k] + 0.8);
    });
    if (focus?.kind === "link") this._line(g, focus.index, this.colours.accent, this.widths[focus.index] + 3);
    this._devices(g, t);
    this._blocks(g, t, focus);
  }

  _devices(g, t) {
    const { devices, meta } = this.timeline;
    const held = this.timeline.held(t);
    devices.name.forEach((name, d) => {
      const [w, h] = DEVICE[devices.kind[d]].map((side) => side * this.scale);
      const [x, y] = [this.x(devices.x[d]) - w / 2, this.y(devices.y[d]) - h / 2];
      const rank = devices.rank[d];
      g.beginPath();
      g.roundRect(x, y, w, h, Math.min(6, h / 4));
      g.fillStyle = rank >= 0 ? this.colours.paper : this.colours.panel;
      g.fill();
      g.strokeStyle = rank >= 0 ? this.colours.ink : faint(this.colours, 0.35);
      g.lineWidth = rank >= 0 ? 1.4 : 1;
      g.stroke();
      const size = Math.min(13, h * (rank >= 0 ? 0.27 : 0.52), (w * 1.5) / Math.max(6, name.length));
      if (size >= 5) {
        g.fillStyle = rank >= 0 ? this.colours.ink : faint(this.colours, 0.75);
        g.font = `${rank >= 0 ? 600 : 500} ${size}px ${this.colours.font}`;
        g.textAlign = "center";
        g.textBaseline = "middle";
        g.fillText(rank >= 0 ? `rank ${rank}` : name, x + w / 2, rank >= 0 ? y + h * 0.2 : y + h / 2);
      }
      if (rank >= 0 && held && h > 14) this._strip(g, held, rank, x + 3, y + h * 0.64, w - 6, h * 0.3, meta.slots);
    });
  }

  // A rank's slots in small: colour is the block, height is how many contributions are in.
  _strip(g, held, rank, x, y, w, h, slots) {
    const shown = Math.min(slots, Math.floor(w / 2));
    const cell = w / shown;
    for (let s = 0; s < shown; s += 1) {
      const place = rank * slots + s;
      if (held.block[place] < 0) continue;
      const { count } = this.timeline.contributors(held.set[place]);
      const full = this.timeline.meta.ranks;
      g.fillStyle = blockColour(held.block[place]);
      g.globalAlpha = 0.28;
      g.fillRect(x + s * cell, y, Math.max(1, cell - 1), h);
      g.globalAlpha = 1;
      const high = Math.max(1.5, (h * Math.min(count, full)) / full);
      g.fillRect(x + s * cell, y + h - high, Math.max(1, cell - 1), high);
    }
  }

  _blocks(g, t, focus) {
    const blocks = this.timeline.blocks(t);
    const side = Math.max(6, Math.min(24, this.scale * 0.42));
    this.drawn = blocks.map((b) => ({ ...b, px: this.x(b.x), py: this.y(b.y) }));
    const small = blocks.length > MANY;
    for (const b of this.drawn) {
      const colour = blockColour(b.block);
      g.beginPath();
      if (small) g.rect(b.px - 2, b.py - 2, 4, 4);
      else g.roundRect(b.px - side / 2, b.py - side / 2, side, side, side / 5);
      g.fillStyle = colour;
      g.fill();
      if (small) continue;
      g.lineWidth = focus?.kind === "block" && focus.index === b.transfer ? 3 : 1.2;
      g.strokeStyle = this.colours.ink;
      g.stroke();
      const label = b.count > 1 ? `${b.count}×` : this.timeline.blockName(b.block);
      const size = Math.min(side * 0.62, (side * 1.5) / label.length);
      if (size < 6) continue;
      g.fillStyle = inkOn(colour);
      g.font = `700 ${size}px ${this.colours.font}`;
      g.textAlign = "center";
      g.textBaseline = "middle";
      g.fillText(label, b.px, b.py + size * 0.06);
    }
  }

  // What is under the pointer: a block, a device or a link.
  pick(px, py) {
    for (const b of [...(this.drawn ?? [])].reverse()) {
      if (Math.hypot(b.px - px, b.py - py) < Math.max(9, this.scale * 0.25)) return { kind: "block", index: b.transfer };
    }
    const { devices } = this.timeline;
    for (let d = 0; d < devices.name.length; d += 1) {
      const [w, h] = DEVICE[devices.kind[d]];
      if (Math.abs(px - this.x(devices.x[d])) < (w * this.scale) / 2 && Math.abs(py - this.y(devices.y[d])) < (h * this.scale) / 2) {
        return { kind: "device", index: d };
      }
    }
    let best = null;
    let near = 7;
    this.lines.forEach((points, k) => {
      for (let j = 1; j < points.length; j += 1) {
        const [ax, ay, bx, by] = [this.x(points[j - 1][0]), this.y(points[j - 1][1]), this.x(points[j][0]), this.y(points[j][1])];
        const span = (bx - ax) ** 2 + (by - ay) ** 2 || 1;
        const u = Math.max(0, Math.min(1, ((px - ax) * (bx - ax) + (py - ay) * (by - ay)) / span));
        const off = Math.hypot(px - ax - u * (bx - ax), py - ay - u * (by - ay));
        if (off < near) [best, near] = [{ kind: "link", index: k }, off];
      }
    });
    return best;
  }
}

// The grid of ranks and slots for a width: how wide the rank numbers, how large a cell.
export function slotGrid({ ranks, slots }, width) {
  const gutter = 26;
  const cell = Math.max(1, Math.min(34, (width - gutter) / slots));
  return { gutter, cell, row: Math.max(1, Math.min(26, Math.max(cell, 12), 420 / ranks)) };
}

// Rank by slot: colour is the block, fill its contributions, the number its name.
export function paintSlots(canvas, timeline, t, width, colours) {
  const { ranks, slots } = timeline.meta;
  const held = timeline.held(t);
  const { gutter, cell, row } = slotGrid(timeline.meta, width);
  const g = fit(canvas, width, ranks * row + 2);
  g.clearRect(0, 0, width, ranks * row + 2);
  if (!held) return;
  g.textBaseline = "middle";
  for (let r = 0; r < ranks; r += 1) {
    if (row >= 9) {
      g.fillStyle = faint(colours, 0.7);
      g.font = `600 ${Math.min(12, row * 0.6)}px ${colours.font}`;
      g.textAlign = "right";
      g.fillText(String(r), gutter - 6, (r + 0.5) * row);
    }
    for (let s = 0; s < slots; s += 1) {
      const place = r * slots + s;
      const [x, y] = [gutter + s * cell, r * row];
      const gap = cell > 4 ? 1 : 0;
      const block = held.block[place];
      if (block < 0) {
        if (gap) {
          g.fillStyle = faint(colours, 0.05);
          g.fillRect(x, y, cell - gap, row - gap);
        }
        continue;
      }
      const { count } = timeline.contributors(held.set[place]);
      const colour = blockColour(block);
      const share = Math.min(1, count / ranks);
      g.fillStyle = colour;
      g.globalAlpha = 0.22;
      g.fillRect(x, y, cell - gap, row - gap);
      g.globalAlpha = 1;
      g.fillRect(x, y + (row - gap) * (1 - share), cell - gap, (row - gap) * share);
      const label = timeline.blockName(block);
      const size = Math.min(12, row * 0.55, (cell * 1.5) / label.length);
      if (size < 6.5) continue;
      g.fillStyle = share > 0.6 ? inkOn(colour) : colours.ink;
      g.font = `600 ${size}px ${colours.font}`;
      g.textAlign = "center";
      g.fillText(label, x + (cell - gap) / 2, y + (row - gap) / 2);
    }
  }
}

// Links over time, the busiest first when there are too many; returns where time runs, for seeking.
export class LoadChart {
  constructor(timeline) {
    this.timeline = timeline;
    const used = timeline.links.bytes.map((bytes, k) => [bytes / timeline.links.bandwidth[k], k]).filter(([need]) => need > 0);
    const busiest = used.sort((a, b) => b[0] - a[0]).slice(0, ROWS).map(([, k]) => k);
    this.rows = busiest.sort((a, b) => a - b);
  }

  resize(canvas, width, colours) {
    const { timeline, rows } = this;
    const words = rows.length <= WORDS && width > 520;
    this.gutter = words ? 128 : 8;
    this.row = rows.length <= WORDS ? 13 : 5;
    this.width = width;
    this.high = rows.length * this.row + 22;
    this.context = fit(canvas, width, this.high);
    this.colours = colours;
    this.backdrop = document.createElement("canvas");
    const g = fit(this.backdrop, width, this.high);
    const { bins } = timeline.meta;
    const cell = (width - this.gutter - 8) / bins;
    rows.forEach((link, j) => {
      for (let b = 0; b < bins; b += 1) {
        const share = timeline.c.load[link * bins + b] / 255;
        g.fillStyle = loadColour(share, faint(colours, 0.06));
        g.fillRect(this.gutter + b * cell, j * this.row, cell + 0.6, this.row - 1);
      }
      if (!words) return;
      g.fillStyle = faint(colours, 0.75);
      g.font = `500 10px ${colours.font}`;
      g.textAlign = "right";
      g.textBaseline = "middle";
      const { name } = timeline.devices;
      g.fillText(`${name[timeline.links.src[link]]} → ${name[timeline.links.dst[link]]}`, this.gutter - 8, (j + 0.5) * this.row, this.gutter - 12);
    });
    this._ticks(g);
  }

  _ticks(g) {
    const { steps, bounds } = this.timeline;
    const bottom = this.rows.length * this.row;
    g.strokeStyle = faint(this.colours, 0.35);
    const few = bounds.length <= 130;
    bounds.forEach((t, k) => {
      if (!few || k === 0) return;
      g.beginPath();
      g.moveTo(this.x(t), bottom + 1);
      g.lineTo(this.x(t), bottom + 5);
      g.stroke();
    });
    g.fillStyle = faint(this.colours, 0.75);
    g.font = `500 11px ${this.colours.font}`;
    g.textAlign = "left";
    g.textBaseline = "alphabetic";
    for (const [first, name] of steps.phases) g.fillText(name, this.x(bounds[first]) + 2, bottom + 17);
  }

  x(t) {
    return this.gutter + (this.width - this.gutter - 8) * (this.timeline.time > 0 ? t / this.timeline.time : 0);
  }

  t(px) {
    return Math.max(0, Math.min(1, (px - this.gutter) / (this.width - this.gutter - 8))) * this.timeline.time;
  }

  paint(t) {
    const g = this.context;
    g.clearRect(0, 0, this.width, this.high);
    g.drawImage(this.backdrop, 0, 0, this.width, this.high);
    g.fillStyle = this.colours.ink;
    g.fillRect(this.x(t) - 1, 0, 2, this.rows.length * this.row + 6);
  }
}
