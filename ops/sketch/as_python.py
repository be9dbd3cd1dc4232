"""A sketch as a Python file: the generator of steps that `run --schedule FILE.py` reads."""

from ops.sketch import Column, Sketch, SketchMove
from sim.schedule import REDUCE

WIDE = 110


def as_python(sketch: Sketch) -> str:
    """The file, which makes the same schedule again."""
    kind, n = sketch.kind, sketch.ranks
    columns = [column for column in sketch.columns if column]
    ops = {move.op for column in columns for move in column}
    imports = ", ".join(name for name, used in (("copy", REDUCE - 1), ("reduce", REDUCE)) if used in ops)
    marks = [sketch.collective, "ordered=True", f"pieces=lambda n: {sketch.pieces}"]
    marks.append(f'only=lambda n: None if n == {n} else "was drawn for {n} ranks"')
    body = [line for column in columns for line in _column(column)] or ["yield ()"]
    if kind.rooted:
        guard = f'raise ValueError("this was drawn for root {sketch.root}: give --root {sketch.root}")'
        body = [f"if root != {sketch.root}:", f"    {guard}", *body]
    lines = [
        f'"""{sketch.collective} among {n} ranks, drawn by hand."""',
        "",
        "from ops import algorithm",
        f"from ops.collectives import {sketch.collective}",
        *([f"from sim.schedule import {imports}"] if imports else []),
        "",
        "",
        f"@algorithm({', '.join(marks)})",
        f"def sketch(n{', root' if kind.rooted else ''}):",
        '    """One `yield` for each column; a rank finishes its part of it before its part of the next."""',
        *(f"    {line}" for line in body),
    ]
    return "\n".join(lines) + "\n"


def _column(column: Column) -> list[str]:
    """The yield of one column: moves of one kind that follow each other and send as many slots are one call."""
    calls: list[list[SketchMove]] = []
    for move in column:
        last = calls[-1][-1] if calls else None
        if last and (last.op, len(last.slots)) == (move.op, len(move.slots)):
            calls[-1].append(move)
        else:
            calls.append([move])
    words = [_call(moves) for moves in calls]
    line = f"yield {', '.join(words)}"
    if len(line) <= WIDE:
        return [line]
    return ["yield (", *(f"    {word}," for word in words), ")"]


def _call(moves: list[SketchMove]) -> str:
    name = "reduce" if moves[0].op == REDUCE else "copy"
    src, dst = [move.src for move in moves], [move.dst for move in moves]
    slots, to = ([[pair[k] for pair in move.slots] for move in moves] for k in (0, 1))
    more = f", to={to}" if to != slots else ""
    return f"{name}({src}, {dst}, slot={slots}{more})"
