// Columns of moves, their text, and what becomes of a block that is put down: plain data, without a page.
// A move is { add, src, dst, slots: [[from, to], …] }; the text is the one that `ops.sketch` reads.

const MOVE = /^(\d+)>(\d+)([:+])(.+)$/;

export function parse(text) {
  const columns = text.split(";").map((column) => column.split(" ").filter(Boolean).map(parseMove).filter(Boolean));
  while (columns.length && !columns.at(-1).length) columns.pop();
  return columns;
}

function parseMove(word) {
  const match = MOVE.exec(word);
  if (!match) return null;
  const slots = match[4].split(",").map((pair) => {
    const [from, to = from] = pair.split("=").map(Number);
    return [from, to];
  });
  return { add: match[3] === "+", src: Number(match[1]), dst: Number(match[2]), slots };
}

const pair = ([from, to]) => (from === to ? `${from}` : `${from}=${to}`);
const word = ({ add, src, dst, slots }) => `${src}>${dst}${add ? "+" : ":"}${slots.map(pair).join(",")}`;

export function write(columns) {
  const texts = columns.map((column) => column.map(word).join(" "));
  while (texts.length && !texts.at(-1)) texts.pop();
  return texts.join(";");
}

// The column with one move more: what goes from one rank to another in a column is one message.
export function joined(column, move) {
  const at = column.findIndex((m) => m.src === move.src && m.dst === move.dst && m.add === move.add);
  if (at < 0) return [...column, move];
  const has = ([from, to]) => column[at].slots.some(([f, t]) => f === from && t === to);
  const slots = [...column[at].slots, ...move.slots.filter((slot) => !has(slot))];
  return column.with(at, { ...column[at], slots });
}

// The move of every rank when all do alike: everything goes on by one rank at a time.
export function turned(move, ranks, turn) {
  const moves = [move];
  for (let k = 1; k < ranks; k += 1) {
    const { add, src, dst, slots } = moves.at(-1);
    const on = (rank) => (rank + 1) % ranks;
    moves.push({ add, src: on(src), dst: on(dst), slots: slots.map(([from, to]) => [turn[from], turn[to]]) });
  }
  return moves;
}

// Where a block is put at a rank: in the place it was dropped on if that suits it, else where it is owed.
export function place(board, held, { block, slot, rank, dropped }) {
  const spare = board.rows.find(([name]) => name === "spare") ?? ["", Infinity, Infinity];
  const suits = (to) => to >= spare[1] || board.owed[rank][to][0] === block;
  if (dropped !== undefined && suits(dropped)) return dropped;
  const home = board.owed[rank].findIndex(([owed]) => owed === block);
  if (home >= 0) return home;
  const apart = board.rows.some(([name]) => name === "out");
  const free = held[rank].findIndex(([holds], to) => to >= spare[1] && holds < 0);
  return apart && free >= 0 ? free : slot;
}

// Whether what arrives is added: where a part of the same sum lies that shares no contribution with it.
export function adds(board, held, { src, from, dst, to }) {
  const [block, ranks] = held[src][from];
  const [other, others] = held[dst][to];
  return board.reduces && src !== dst && block >= 0 && block === other && (ranks & others) === 0;
}
