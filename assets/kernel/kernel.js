// The simulator's kernel, compiled ahead of time: kernel.wasm, with the memory that it works on.
//
// kernel.json lists the arrays that a function takes, in order, and its other arguments. The function gets the address
// of a table of 64-bit words: for each array its address and its extents, then the other arguments.

const KINDS = {
  float64: Float64Array,
  int64: BigInt64Array,
  int32: Int32Array,
  uint32: Uint32Array,
  uint8: Uint8Array,
};
const PAGE = 65_536;
const WORD = 8;
const ALIGNED = 64; // bytes: a line of a cache

const after = (address) => Math.ceil(address / ALIGNED) * ALIGNED;

export class Kernel {
  #exports;
  #memory;
  #functions;
  #records;
  #words = {}; // per record: the address of its table, and of the words after those of its arrays
  #free; // the first byte that no array of the fabric has
  #top;
  #placed = new Map(); // path of an array: { kind, at, shape, word }

  constructor(instance, { records, functions, free, constants }) {
    this.constants = constants;
    this.#exports = instance.exports;
    this.#memory = instance.exports.memory;
    this.#functions = functions;
    this.#records = records;
    let at = free;
    for (const [name, arrays] of Object.entries(records)) {
      const end = at + WORD * arrays.reduce((words, [, , axes]) => words + 1 + axes, 0);
      this.#words[name] = { at, end };
      at = end + WORD * Math.max(...Object.values(functions).map(({ scalars }) => scalars.length));
    }
    this.#free = after(at);
    this.#top = this.#free;
  }

  // A kernel of its own memory; `bytes` are those of kernel.wasm, `description` is kernel.json.
  static async open(bytes, description) {
    const { instance } = await WebAssembly.instantiate(bytes);
    return new Kernel(instance, description);
  }

  // Lay the arrays of the fabric out: by path the shape and the content, which is a typed array, a number that fills it
  // all, or null where the kernel does not read what it has not written. What is left out has no entries.
  place(named) {
    this.#place("fabric", named);
  }

  // The seconds from ready to the first byte of every route: its overhead, and the latencies of its links.
  leads({ overhead, latency, routeStart, routeLinks }) {
    const inputs = { overhead, latency, route_start: routeStart, route_links: routeLinks };
    const named = Object.fromEntries(Object.entries(inputs).map(([name, values]) => [name, [values.length, values]]));
    this.#place("leads", { ...named, lead: [overhead.length, null] });
    this.#call("leads");
    return this.view("lead").slice();
  }

  // Let time pass until a moment; why it stopped is one of IDLE, HORIZON, DONE and PAUSED of `constants.kernel`.
  advance(horizon) {
    return this.#call("advance", horizon);
  }

  // Share a link among its flows again, after its capacity changed.
  touch(link, time) {
    this.#call("touch", link, time);
  }

  // Have the rest of a flow take another route.
  divert(row, route, time) {
    this.#call("divert", row, route, time);
  }

  // An array as it is now; views are void once others are placed or resized.
  view(path) {
    const { kind, at, shape } = this.#placed.get(path);
    return new KINDS[kind](this.#memory.buffer, at, extent(shape));
  }

  // Give an array another shape; its content stays as far as there is room for it.
  resize(path, shape) {
    const entry = this.#placed.get(path);
    const { at, shape: before, kind } = entry;
    entry.shape = [shape].flat();
    entry.at = this.#claim(room(entry));
    const kept = Math.min(room({ kind, shape: before }), room(entry));
    new Uint8Array(this.#memory.buffer).copyWithin(entry.at, at, at + kept);
    this.#tell(entry);
  }

  #call(name, ...values) {
    const { record, scalars } = this.#functions[name];
    const { at, end } = this.#words[record];
    values.forEach((value, k) => {
      new KINDS[scalars[k]](this.#memory.buffer, end + WORD * k, 1).fill(
        scalars[k] === "int64" ? BigInt(value) : value,
      );
    });
    return Number(this.#exports[name](BigInt(at)));
  }

  #place(record, named) {
    this.#top = this.#free;
    this.#placed.clear();
    const entries = [];
    let word = this.#words[record].at / WORD;
    for (const [path, kind, axes] of this.#records[record]) {
      const [shape, value] = named[path] ?? [Array.from({ length: axes }, () => 0), null];
      const entry = { kind, shape: [shape].flat(), word, at: this.#top };
      if (entry.shape.length !== axes) throw new RangeError(`${path} has ${axes} axes, not ${entry.shape.length}`);
      this.#top = after(this.#top + room(entry));
      this.#placed.set(path, entry);
      entries.push([path, entry, value]);
      word += 1 + axes;
    }
    this.#claim(0);
    for (const [path, entry, value] of entries) {
      this.#tell(entry);
      if (value !== null) write(this.view(path), path, value);
    }
  }

  // The address of so many bytes that no array has.
  #claim(length) {
    const at = this.#top;
    this.#top = after(at + length);
    const lacking = this.#top - this.#memory.buffer.byteLength;
    if (lacking > 0) this.#memory.grow(Math.ceil(lacking / PAGE));
    return at;
  }

  // Write an array's address and extents into its table, whose words are less than 2 ** 32.
  #tell({ word, at, shape }) {
    const words = new Uint32Array(this.#memory.buffer);
    [at, ...shape].forEach((value, k) => {
      words[2 * (word + k)] = value;
      words[2 * (word + k) + 1] = 0;
    });
  }
}

function extent(shape) {
  return shape.reduce((product, axis) => product * axis, 1);
}

function room({ kind, shape }) {
  return extent(shape) * KINDS[kind].BYTES_PER_ELEMENT;
}

function write(view, path, value) {
  if (typeof value === "number") view.fill(view instanceof BigInt64Array ? BigInt(value) : value);
  else if (value.length === view.length) view.set(value);
  else throw new RangeError(`${path} has ${view.length} entries, not ${value.length}`);
}
