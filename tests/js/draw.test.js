import assert from "node:assert/strict";
import { test } from "node:test";
import * as drawing from "../../assets/draw/document.js";
import { begun, done, redone, undone } from "../../assets/draw/history.js";
import { TEMPLATES } from "../../assets/draw/templates.js";

const LINKS = ["NVL", "PCI", "SYS", "NET"];
const EMPTY = {
  name: "",
  hosts: [],
  devices: [],
  links: [],
  classes: LINKS.map((kind, k) => ({ id: k + 1, name: kind, kind, bandwidth: "", latency: "", lanes: 1 })),
};

// Numbers that are the same in every run.
function random(seed) {
  let state = seed;
  return (most) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
}

function frozen(value) {
  if (typeof value === "object") for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}

const some = (parts, pick) => parts[pick(parts.length)]?.id ?? 0;
const ACTIONS = [
  (d) => drawing.addHost(d),
  (d, pick) => drawing.add(d, drawing.KINDS[pick(6)], some(d.hosts, pick)),
  (d, pick) => drawing.add(d, drawing.KINDS[pick(6)], some(d.hosts, pick)),
  (d, pick) => drawing.move(d, some(d.devices, pick), pick(900), pick(900)),
  (d, pick) => drawing.moveHost(d, some(d.hosts, pick), pick(900), pick(900)),
  (d, pick) => drawing.put(d, some(d.devices, pick), some(d.hosts, pick), pick(900), pick(900)),
  (d, pick) => drawing.rename(d, some(d.devices, pick), `D${pick(30)}`),
  (d, pick) => drawing.renameHost(d, some(d.hosts, pick), `N${pick(30)}`),
  (d, pick) => drawing.nameMachine(d, `M${pick(3)}`),
  (d, pick) => drawing.join(d, some(d.devices, pick), some(d.devices, pick)),
  (d, pick) => drawing.joinAll(d, some(d.devices, pick), "GPU"),
  (d, pick) => drawing.setClass(d, some(d.links, pick), some(d.classes, pick)),
  (d, pick) => drawing.addClass(d, LINKS[pick(4)], `C${pick(9)}`),
  (d, pick) => drawing.changeClass(d, some(d.classes, pick), { bandwidth: `${1 + pick(9)}GBps` }),
  (d, pick) => (d.devices.length < 60 ? drawing.copyHost(d, some(d.hosts, pick), 1 + pick(2)) : d),
  (d, pick) => drawing.remove(d, ["hosts", "devices", "links", "classes"][pick(4)], 1 + pick(9)),
  (d, pick) => drawing.tidy(d, some(d.hosts, pick)),
];

function holds(document) {
  for (const list of ["hosts", "devices", "links", "classes"]) {
    const ids = document[list].map((part) => part.id);
    assert.equal(new Set(ids).size, ids.length, list);
  }
  for (const { host } of document.devices) assert.ok(!host || drawing.find(document.hosts, host));
  for (const link of document.links) {
    for (const end of [link.from, link.to]) assert.ok(drawing.find(document.devices, end));
    assert.ok(drawing.find(document.classes, link.class));
    assert.notEqual(link.from, link.to);
  }
}

test("undo leads from any drawing back to the empty page through the same documents, and redo forth again", () => {
  for (let seed = 1; seed <= 40; seed += 1) {
    const pick = random(seed);
    let history = begun(frozen(EMPTY));
    const documents = [EMPTY];
    for (let k = 0; k < 60; k += 1) {
      const next = ACTIONS[pick(ACTIONS.length)](history.document, pick);
      if (next === history.document) continue;
      assert.notDeepEqual(next, history.document, `seed ${seed}: a change that changes nothing`);
      holds(next);
      history = done(history, frozen(next));
      documents.push(next);
    }
    for (const document of documents.toReversed().slice(1)) {
      history = undone(history);
      assert.equal(history.document, document);
    }
    assert.equal(history.past.length, 0);
    for (const document of documents.slice(1)) {
      history = redone(history);
      assert.equal(history.document, document);
    }
    const back = done(undone(history), frozen(drawing.addHost(history.document)));
    assert.deepEqual(back.future, [], "what is drawn after an undo has no redo");
  }
});

test("a copied host has its own devices and links, and the same links to what is outside", () => {
  let machine = TEMPLATES.dgx(EMPTY);
  machine = drawing.add(machine, "NET", 0);
  machine = drawing.joinAll(machine, machine.devices.at(-1).id, "NIC");
  const four = drawing.copyHost(machine, machine.hosts[0].id, 3);
  holds(four);
  const inside = machine.devices.length - 1;
  assert.deepEqual([four.hosts.length, four.devices.length], [4, 4 * inside + 1]);
  assert.equal(four.links.length, 4 * machine.links.length);
  const names = four.devices.map((device) => device.name);
  assert.equal(new Set(names).size, names.length);
  assert.ok(names.includes("H0.GPU0") && names.includes("H3.GPU7") && names.includes("NET0"));
  const frames = four.hosts.map((host) => drawing.frame(four, host));
  for (const [k, a] of frames.entries())
    for (const b of frames.slice(k + 1))
      assert.ok(a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y);
});

test("links get the class that is usual between their ends", () => {
  let machine = drawing.addHost(EMPTY);
  for (const kind of drawing.KINDS) machine = drawing.add(machine, kind, 1);
  const id = (kind) => machine.devices.find((device) => device.kind === kind).id;
  const joined = (a, b) => drawing.join(machine, id(a), id(b)).links.at(-1).class;
  const kinds = [joined("GPU", "NVS"), joined("GPU", "PCI"), joined("NIC", "NET"), joined("CPU", "PCI")];
  assert.deepEqual(kinds, [1, 2, 4, 2]);
  machine = drawing.add(machine, "CPU", 1);
  const [a, b] = machine.devices.filter((device) => device.kind === "CPU");
  const sockets = drawing.join(machine, a.id, b.id);
  assert.equal(sockets.links.at(-1).class, 3);
  assert.equal(drawing.join(sockets, b.id, a.id), sockets, "two devices are joined once");
});

test("a device that changes its host gets the name of the new one, and a number that is free", () => {
  let machine = drawing.addHost(drawing.addHost(EMPTY));
  machine = drawing.add(drawing.add(machine, "GPU", 1), "GPU", 2);
  const next = drawing.put(machine, 1, 2, machine.hosts[1].x + 60, machine.hosts[1].y + 60);
  assert.deepEqual(
    next.devices.map((device) => [device.name, device.host]),
    [
      ["H1.GPU1", 2],
      ["H1.GPU0", 2],
    ],
  );
  assert.equal(drawing.renameHost(next, 2, "left").devices[0].name, "left.GPU1");
});
