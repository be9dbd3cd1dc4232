import assert from "node:assert/strict";
import { test } from "node:test";
import { adds, joined, parse, place, turned, write } from "../../assets/build/moves.js";

const owed = (block) => [block, 1];

test("columns are read and written as they are in Python", () => {
  const text = "0>1:0,1=5;;2>3+1 1>0:4";
  assert.equal(write(parse(text)), text);
  assert.deepEqual(parse("0>1+2=3"), [[{ add: true, src: 0, dst: 1, slots: [[2, 3]] }]]);
  assert.deepEqual(parse(""), []);
  assert.equal(write([...parse("0>1:0"), []]), "0>1:0");
});

test("what goes from one rank to another in a column is one message", () => {
  const [column] = parse("0>1:0 0>2:0");
  const more = joined(column, { add: false, src: 0, dst: 1, slots: [[1, 1]] });
  assert.equal(write([more]), "0>1:0,1 0>2:0");
  assert.equal(write([joined(more, { add: false, src: 0, dst: 1, slots: [[1, 1]] })]), "0>1:0,1 0>2:0");
  assert.equal(write([joined(more, { add: true, src: 0, dst: 1, slots: [[1, 1]] })]), "0>1:0,1 0>2:0 0>1+1");
});

test("all ranks alike: everything goes on by one rank", () => {
  const [[move]] = parse("3>0:3");
  assert.equal(write([turned(move, 4, [1, 2, 3, 0])]), "3>0:3 0>1:0 1>2:1 2>3:2");
});

test("a block is put where it is owed, in a spare place where that was meant, and never over what is kept", () => {
  const rows = [
    ["in", 0, 2],
    ["out", 2, 4],
    ["spare", 4, 5],
  ];
  const none = [-1, 0];
  const board = { rows, owed: [[none, none, owed(0), owed(2), none], []] };
  const held = [[owed(0), owed(1), none, none, none], []];
  assert.equal(place(board, held, { block: 2, slot: 0, rank: 0, dropped: 1 }), 3);
  assert.equal(place(board, held, { block: 2, slot: 0, rank: 0, dropped: 4 }), 4);
  assert.equal(place(board, held, { block: 7, slot: 0, rank: 0 }), 4, "a block that is not owed goes to a free place");
  assert.equal(place({ rows: [["", 0, 2]], owed: [[none, none]] }, [[none, none]], { block: 7, slot: 1, rank: 0 }), 1);
});

test("parts of a sum are added, whole sums and others' parts are copied", () => {
  const held = [[[0, 0b0011]], [[0, 0b0100]], [[0, 0b0110]], [[-1, 0]], [[1, 0b1000]]];
  const does = (dst, reduces = true) => adds({ reduces }, held, { src: 0, from: 0, dst, to: 0 });
  assert.deepEqual(
    [1, 2, 3, 4].map((dst) => does(dst)),
    [true, false, false, false],
  );
  assert.equal(does(1, false), false);
});
