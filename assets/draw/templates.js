// Machines to begin with, each drawn by the same functions as by hand.

import { add, addHost, changeClass, join, joinAll, tidy } from "./document.js";

const H100 = {
  NVL: ["370.8GBps", "0.35us", 18],
  PCI: ["48GBps", "250ns", 1],
  SYS: ["22GBps", "105ns", 1],
  NET: ["50GBps", "0.9us", 1],
};

// Rates in all classes.
function rated(document) {
  return document.classes.reduce((next, { id, kind }) => {
    const [bandwidth, latency, lanes] = H100[kind];
    return changeClass(next, id, { bandwidth, latency, lanes });
  }, document);
}

function several(document, kind, count, host) {
  return Array.from({ length: count }).reduce((next) => add(next, kind, host), document);
}

const ids = (document, kind) => document.devices.filter((device) => device.kind === kind).map((device) => device.id);

function switched(empty) {
  let next = rated(addHost(empty));
  const host = next.hosts[0].id;
  next = add(several(next, "GPU", 8, host), "NVS", host);
  return tidy(joinAll(next, ids(next, "NVS")[0], "GPU"), host);
}

function dgx(empty) {
  let next = rated(addHost(empty));
  const host = next.hosts[0].id;
  for (const [kind, count] of [
    ["CPU", 2],
    ["PCI", 4],
    ["NIC", 8],
    ["GPU", 8],
    ["NVS", 1],
  ])
    next = several(next, kind, count, host);
  const [cpus, switches] = [ids(next, "CPU"), ids(next, "PCI")];
  next = join(next, cpus[0], cpus[1]);
  for (const [k, pci] of switches.entries()) next = join(next, cpus[Math.floor(k / 2)], pci);
  for (const kind of ["GPU", "NIC"])
    for (const [k, device] of ids(next, kind).entries()) next = join(next, switches[Math.floor(k / 2)], device);
  return tidy(joinAll(next, ids(next, "NVS")[0], "GPU"), host);
}

export const TEMPLATES = { empty: (empty) => empty, switched, dgx };
