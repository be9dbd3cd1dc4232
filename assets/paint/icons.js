// What stands in a box that has no room for its name: a sign of its kind, as lines in a square from -1 to 1.

const LEAST = 4; // pixels across, below which a box is a mark alone
const SHARE = 0.34; // of a box's height from its middle
const MOST = 8; // pixels from the middle
const CROSS = [
  [-1, -0.4, 1, -0.4, 0.5, -0.9],
  [1, 0.4, -1, 0.4, -0.5, 0.9],
]; // two ways
const LINES = {
  CPU: [
    [-0.7, -0.7, 0.7, -0.7, 0.7, 0.7, -0.7, 0.7, -0.7, -0.7],
    [-0.2, -0.2, 0.2, -0.2, 0.2, 0.2, -0.2, 0.2, -0.2, -0.2],
  ],
  NET: CROSS,
  NIC: [
    [-0.8, -0.1, -0.8, 0.8, 0.8, 0.8, 0.8, -0.1, -0.8, -0.1],
    [-0.35, -0.1, -0.35, -0.9],
    [0.35, -0.1, 0.35, -0.9],
  ],
  NVS: CROSS,
  PCI: [
    [0, -0.9, 0, 0, -0.8, 0.9],
    [0, 0, 0.8, 0.9],
  ],
};

// Draw the sign of a kind in the middle of a box: left, top, width and height.
export function paintIcon(g, kind, [x, y, w, h], ink) {
  const half = Math.min(MOST, h * SHARE, w * SHARE);
  if (2 * half < LEAST || !LINES[kind]) return;
  g.strokeStyle = ink;
  g.lineWidth = 1;
  g.beginPath();
  for (const points of LINES[kind]) {
    const at = (k) => [x + w / 2 + points[k] * half, y + h / 2 + points[k + 1] * half];
    g.moveTo(...at(0));
    for (let k = 2; k < points.length; k += 2) g.lineTo(...at(k));
  }
  g.stroke();
}
