// The document of a machine, and everything that can be done to it: functions from one document to the next.
//
// A document is never changed. What changes nothing returns the same document, so that there is nothing to undo.

export const KINDS = ["GPU", "NVS", "PCI", "CPU", "NIC", "NET"];
export const WIDTH = 72;
const NARROW = 48; // a NIC, so that links pass between two of them
export const HEIGHT = 36;
export const GRID = 12;
const STEP = WIDTH + GRID;
const PAD = 16;
const HEAD = 48;
const ROWS = { CPU: 0, PCI: 1, NIC: 2, GPU: 3, NVS: 4, NET: 0 };
const LINE = 84;
const SPACE = 48; // between hosts
const TOP = 96; // of the first host, below switches of the network
const WIDE = 1500; // where a row of hosts ends
const LEAST = { width: 4 * STEP + PAD, height: 2 * LINE + HEAD };
const FARTHEST = 90_000;
const MOST_NAME = 60;

const nextId = (parts) => 1 + Math.max(0, ...parts.map((part) => part.id));
const snapped = (value) => Math.round(value / GRID) * GRID;
const within = (value, least) => Math.min(FARTHEST, Math.max(least, snapped(value)));
const replaced = (parts, id, changes) => parts.map((part) => (part.id === id ? { ...part, ...changes } : part));
const differs = (part, changes) => Object.keys(changes).some((key) => part[key] !== changes[key]);

export const widthOf = ({ kind }) => (kind === "NIC" ? NARROW : WIDTH);
export const find = (parts, id) => parts.find((part) => part.id === id);

// Change a part of a list of the document.
function changed(document, list, id, changes) {
  const part = find(document[list], id);
  if (!part || !differs(part, changes)) return document;
  return { ...document, [list]: replaced(document[list], id, changes) };
}

const devicesOf = (document, host) => document.devices.filter((device) => device.host === host);

// Where a host's frame begins and ends.
export function frame(document, host) {
  const devices = devicesOf(document, host.id);
  const reach = (key, size, least) => Math.max(least, ...devices.map((device) => device[key] + size(device) + PAD));
  return {
    x: host.x,
    y: host.y,
    width: reach("x", widthOf, LEAST.width),
    height: reach("y", () => HEIGHT, LEAST.height),
  };
}

// The corner of a device in the whole drawing.
export function corner(document, device) {
  const host = find(document.hosts, device.host);
  return { x: device.x + (host?.x ?? 0), y: device.y + (host?.y ?? 0) };
}

// What a device is called inside its host.
export function shortName(document, device) {
  const host = find(document.hosts, device.host);
  return host && device.name.startsWith(`${host.name}.`) ? device.name.slice(host.name.length + 1) : device.name;
}

// A name that no device has: the first number that is free.
function freeName(devices, stem) {
  const names = new Set(devices.map((device) => device.name));
  let number = 0;
  while (names.has(`${stem}${number}`)) number += 1;
  return `${stem}${number}`;
}

// Devices of a host among several have its name before their own, as `hosts:` of the YAML has it.
function prefix(document, host) {
  const own = find(document.hosts, host);
  const devices = devicesOf(document, host);
  const has = devices.length ? devices.some((d) => d.name.startsWith(`${own?.name}.`)) : document.hosts.length > 1;
  return own && has ? `${own.name}.` : "";
}

export function addHost(document) {
  const names = new Set(document.hosts.map((host) => host.name));
  let number = 0;
  while (names.has(`H${number}`)) number += 1;
  const place = freePlace(document);
  return { ...document, hosts: [...document.hosts, { id: nextId(document.hosts), name: `H${number}`, ...place }] };
}

// A place for another host: right of the last one, or below all of them.
function freePlace(document, width = LEAST.width) {
  if (!document.hosts.length) return { x: 0, y: TOP };
  const frames = document.hosts.map((host) => frame(document, host));
  const low = Math.max(...frames.map((box) => box.y));
  const right = Math.max(...frames.filter((box) => box.y === low).map((box) => box.x + box.width)) + SPACE;
  if (right + width <= WIDE) return { x: snapped(right), y: low };
  return { x: 0, y: snapped(Math.max(...frames.map((box) => box.y + box.height)) + SPACE) };
}

// Add a device of a kind to a host, or outside with 0, where there is room in the row of its kind.
export function add(document, kind, host) {
  const home = kind === "NET" || !find(document.hosts, host) ? 0 : host;
  const [x, y] = freeSpot(document, kind, home);
  const name = freeName(document.devices, `${prefix(document, home)}${kind}`);
  const device = { id: nextId(document.devices), kind, name, host: home, x, y };
  return { ...document, devices: [...document.devices, device] };
}

// Right of the last device of the kind, or in the row of the kind; a first switch of the network is above the middle.
function freeSpot(document, kind, home) {
  const last = devicesOf(document, home).findLast((device) => device.kind === kind);
  const y = last?.y ?? (home ? HEAD + ROWS[kind] * LINE : outsideRow(document, kind));
  const row = devicesOf(document, home).filter((device) => Math.abs(device.y - y) < HEIGHT);
  let x = last?.x ?? (home ? GRID : 0);
  if (kind === "NET" && !last) x = above(document);
  while (row.some((device) => Math.abs(device.x - x) < STEP)) x += STEP;
  return [x, y];
}

function above({ hosts, ...rest }) {
  const right = Math.max(0, ...hosts.map((host) => host.x + frame({ hosts, ...rest }, host).width));
  return within((right - WIDTH) / 2, 0);
}

// Without hosts a drawing is one host, and has its rows; switches between hosts are above these.
function outsideRow(document, kind) {
  if (kind === "NET") return 12;
  const frames = document.hosts.map((host) => frame(document, host));
  const low = Math.max(0, ...frames.map((box) => box.y + box.height + SPACE));
  return snapped(low) + (frames.length ? 0 : TOP + ROWS[kind] * LINE);
}

export function move(document, id, x, y) {
  const device = find(document.devices, id);
  if (!device) return document;
  const least = device.host ? [GRID, HEAD] : [0, 0];
  return changed(document, "devices", id, { x: within(x, least[0]), y: within(y, least[1]) });
}

export function moveHost(document, id, x, y) {
  return changed(document, "hosts", id, { x: within(x, 0), y: within(y, 0) });
}

// Put a device into another host, or outside with 0, at a place of the whole drawing.
export function put(document, id, host, x, y) {
  const device = find(document.devices, id);
  if (!device || device.host === host) return device ? move(document, id, ...inside(document, host, x, y)) : document;
  const stem = shortName(document, device);
  const others = document.devices.filter((other) => other.id !== id);
  const wanted = `${prefix({ ...document, devices: others }, host)}${stem}`;
  const taken = others.some((other) => other.name === wanted);
  const name = taken ? freeName(others, wanted.replace(/\d+$/, "")) : wanted;
  return move(changed(document, "devices", id, { host, name }), id, ...inside(document, host, x, y));
}

function inside(document, id, x, y) {
  const host = find(document.hosts, id);
  return [x - (host?.x ?? 0), y - (host?.y ?? 0)];
}

export function rename(document, id, name) {
  return changed(document, "devices", id, { name: clipped(name) });
}

const clipped = (name) => name.trim().slice(0, MOST_NAME);

// A host's new name stands before those of its devices, too, where the old one did.
export function renameHost(document, id, name) {
  const host = find(document.hosts, id);
  const next = changed(document, "hosts", id, { name: clipped(name) });
  if (next === document) return document;
  const devices = document.devices.map((device) => {
    const own = shortName(document, device);
    return device.host === id && own !== device.name ? { ...device, name: `${clipped(name)}.${own}` } : device;
  });
  return host ? { ...next, devices } : next;
}

export function nameMachine(document, name) {
  return clipped(name) === document.name ? document : { ...document, name: clipped(name) };
}

// The kind of link that usually joins two devices: its class is what a new link gets.
function usual(a, b) {
  const kinds = [a.kind, b.kind];
  if (kinds.includes("NET")) return "NET";
  if (kinds.every((kind) => kind === "GPU" || kind === "NVS")) return "NVL";
  return kinds.every((kind) => kind === "CPU") ? "SYS" : "PCI";
}

export const linkBetween = (document, a, b) =>
  document.links.find((link) => (link.from === a && link.to === b) || (link.from === b && link.to === a));

export function join(document, from, to) {
  const [a, b] = [find(document.devices, from), find(document.devices, to)];
  if (!a || !b || a === b || linkBetween(document, from, to)) return document;
  const kind = usual(a, b);
  const group = document.classes.find((each) => each.kind === kind) ?? document.classes[0];
  if (!group) return document;
  return { ...document, links: [...document.links, { id: nextId(document.links), from, to, class: group.id }] };
}

// Join a switch to all devices of a kind: those of its host, or of all hosts for one outside.
export function joinAll(document, id, kind) {
  const hub = find(document.devices, id);
  const others = document.devices.filter((device) => device.kind === kind && (!hub?.host || device.host === hub.host));
  return others.reduce((next, device) => join(next, id, device.id), document);
}

export function setClass(document, id, group) {
  return find(document.classes, group) ? changed(document, "links", id, { class: group }) : document;
}

export function addClass(document, kind, name) {
  const group = { id: nextId(document.classes), name: clipped(name), kind, bandwidth: "", latency: "", lanes: 1 };
  return { ...document, classes: [...document.classes, group] };
}

export function changeClass(document, id, changes) {
  const texts = Object.entries(changes).map(([key, value]) => [key, key === "lanes" ? value : clipped(value)]);
  return changed(document, "classes", id, Object.fromEntries(texts));
}

// Copy a host so many times, with its links; what leads out of it leads there from each copy.
export function copyHost(document, id, times) {
  if (!find(document.hosts, id)) return document;
  let next = named(document, id);
  for (let k = 0; k < times; k += 1) next = copied(next, id);
  return next;
}

// Put a host's name before the names of its devices.
function named(document, id) {
  const { name } = find(document.hosts, id);
  const devices = document.devices.map((device) =>
    device.host === id && !device.name.startsWith(`${name}.`) ? { ...device, name: `${name}.${device.name}` } : device,
  );
  return { ...document, devices };
}

function copied(document, id) {
  const host = find(document.hosts, id);
  const place = freePlace(document, frame(document, host).width);
  const made = addHost(document).hosts.at(-1);
  const hosts = [...document.hosts, { ...made, ...place }];
  const ids = new Map();
  const devices = [...document.devices];
  for (const device of devicesOf(document, id)) {
    ids.set(device.id, nextId(devices));
    devices.push({
      ...device,
      id: nextId(devices),
      host: made.id,
      name: `${made.name}.${shortName(document, device)}`,
    });
  }
  const links = [...document.links];
  for (const link of document.links) {
    if (!ids.has(link.from) && !ids.has(link.to)) continue;
    const ends = { from: ids.get(link.from) ?? link.from, to: ids.get(link.to) ?? link.to };
    links.push({ ...link, ...ends, id: nextId(links) });
  }
  return { ...document, hosts, devices, links };
}

const without = (parts, gone) => parts.filter((part) => !gone(part));

// Remove a device with its links, a host with its devices, a link, or a class without links.
export function remove(document, list, id) {
  if (!find(document[list], id)) return document;
  if (list === "classes" && document.links.some((link) => link.class === id)) return document;
  const next = { ...document, [list]: without(document[list], (part) => part.id === id) };
  if (list === "hosts") next.devices = without(document.devices, (device) => device.host === id);
  const ids = new Set(next.devices.map((device) => device.id));
  next.links = without(next.links, (link) => !ids.has(link.from) || !ids.has(link.to));
  return next;
}

// Put the devices of a host, or with 0 of none, in rows by kind, each as wide as the widest.
export function tidy(document, host) {
  return host ? tidied(document, host) : tidyNetwork(tidied(document, 0));
}

// Put the switches between hosts in a row above their middle.
function tidyNetwork(document) {
  const nets = document.devices.filter((device) => device.kind === "NET");
  const first = above(document) - ((nets.length - 1) * STEP) / 2;
  return nets.reduce((next, net, k) => move(next, net.id, first + k * STEP, GRID), document);
}

function tidied(document, host) {
  const devices = devicesOf(document, host).filter((device) => host || device.kind !== "NET");
  const rows = new Map();
  for (const device of devices) rows.set(ROWS[device.kind], [...(rows.get(ROWS[device.kind]) ?? []), device]);
  const widest = Math.max(1, ...[...rows.values()].map((row) => row.length)) * STEP;
  const top = host ? HEAD : outsideRow(document, "CPU");
  const middles = new Map();
  const downs = new Map();
  for (const [k, number] of [...rows.keys()].toSorted((a, b) => a - b).entries()) {
    const row = rows.get(number);
    for (const [i, device] of row.entries()) {
      middles.set(device.id, GRID + ((i + 0.5) * widest) / row.length);
      downs.set(device.id, top + k * LINE);
    }
  }
  spread(document, devices, middles);
  const places = new Map(
    devices.map((device) => {
      const x = within(middles.get(device.id) - widthOf(device) / 2, GRID);
      return [device.id, { x, y: within(downs.get(device.id), 0) }];
    }),
  );
  if (!devices.some((device) => differs(device, places.get(device.id)))) return document;
  return { ...document, devices: document.devices.map((device) => ({ ...device, ...places.get(device.id) })) };
}

// One or two NICs of a switch leave room between them for the links to the GPUs below.
function spread(document, devices, middles) {
  for (const hub of devices.filter((device) => device.kind === "PCI")) {
    const joined = devices.filter((device) => linkBetween(document, hub.id, device.id));
    const nics = joined.filter((device) => device.kind === "NIC");
    if (nics.length > 2 || joined.every((device) => device.kind !== "GPU")) continue;
    for (const [k, nic] of nics.entries()) middles.set(nic.id, middles.get(hub.id) + (k ? 1 : -1) * (NARROW + 6));
  }
}
