// Lines as points, and searching in what rises.

// The first of `length` rising times, `at(k)` each, that is not before t; `length` where all are.
export function firstFrom(length, at, t) {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at(middle) >= t) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Points with the way to each of them, for walking at an even speed.
export function walk(points) {
  const along = [0];
  for (let k = 1; k < points.length; k += 1) {
    along.push(along[k - 1] + Math.hypot(points[k][0] - points[k - 1][0], points[k][1] - points[k - 1][1]));
  }
  return { points, along };
}

// A point at a share of the way, and its direction there.
export function pointAlong({ points, along }, share) {
  const distance = share * along[along.length - 1];
  let k = 1;
  while (k < points.length - 1 && along[k] < distance) k += 1;
  const span = along[k] - along[k - 1] || 1;
  const [dx, dy] = [(points[k][0] - points[k - 1][0]) / span, (points[k][1] - points[k - 1][1]) / span];
  const into = distance - along[k - 1];
  return { x: points[k - 1][0] + dx * into, y: points[k - 1][1] + dy * into, dx, dy };
}

// How far a point is from a stretch of line.
export function offLine(px, py, ax, ay, bx, by) {
  const span = (bx - ax) ** 2 + (by - ay) ** 2 || 1;
  const u = Math.max(0, Math.min(1, ((px - ax) * (bx - ax) + (py - ay) * (by - ay)) / span));
  return Math.hypot(px - ax - u * (bx - ax), py - ay - u * (by - ay));
}

// Transfers in the order in which they end, from the differences of their ends in ticks.
export function byEnd(ends) {
  const count = ends.length;
  const keys = new Float64Array(count); // plain numbers are sorted many times faster than by a function
  let last = 0;
  for (let i = 0; i < count; i += 1) {
    last += ends[i];
    keys[i] = last * count + i;
  }
  keys.sort();
  const order = new Uint32Array(count);
  for (let k = 0; k < count; k += 1) order[k] = keys[k] % count;
  return order;
}

// The points of lines, from the columns NAME_start, NAME_x and NAME_y.
export function linesOf(columns, name) {
  const [start, xs, ys] = ["start", "x", "y"].map((part) => columns[`${name}_${part}`]);
  return Array.from({ length: start.length - 1 }, (_, line) =>
    Array.from({ length: start[line + 1] - start[line] }, (__, k) => [xs[start[line] + k], ys[start[line] + k]]),
  );
}

// A route along the lines of its links, each walked the way the message goes.
export function routeAlong({ c, links }, lines, route) {
  const points = [];
  const [first, stop] = [c.route_start[route], c.route_start[route + 1]];
  for (let k = first; k < stop; k += 1) {
    const link = c.route_link[k];
    const from = c.node[c.node_start[route] + (k - first)];
    points.push(...(links.src[link] === from ? lines[link] : lines[link].toReversed()));
  }
  return walk(points);
}
