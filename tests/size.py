"""Lines of code by room, without docstrings, comments and blank lines: `python -m tests.size [COMMIT]`.

With a commit the same is counted there, and the difference is printed beside it.
"""

import argparse
import ast
import io
import re
import subprocess
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("sim", "ops", "terminal", "ui", "assets", "tests")
ENDINGS = (".py", ".js", ".css")
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
COMMENTS = re.compile(r"/\*.*?\*/|^\s*//[^\n]*", re.DOTALL | re.MULTILINE)


def python_lines(text: str) -> int:
    """Return how many lines hold code of Python."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE and token.type != tokenize.ENDMARKER:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines -= set(range(node.lineno, (node.end_lineno or 0) + 1))
    return len(lines)


def other_lines(text: str) -> int:
    """Return how many lines hold code of JavaScript or CSS."""
    return sum(bool(line.strip()) for line in COMMENTS.sub("", text).splitlines())


def counted(commit: str) -> Counter[str]:
    """Return the lines of every room, at a commit or, without one, as the files are."""
    listing = ["git", "ls-tree", "-r", "--name-only", commit] if commit else ["git", "ls-files"]
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    sums: Counter[str] = Counter()
    for name in names:
        room = name.partition("/")[0]
        if room in ROOMS and name.endswith(ENDINGS) and "/data/" not in name and (commit or (ROOT / name).exists()):
            sums[room] += (python_lines if name.endswith(".py") else other_lines)(_text(name, commit))
    return sums


def _text(name: str, commit: str) -> str:
    if not commit:
        return (ROOT / name).read_text(encoding="utf-8")
    show = ["git", "show", f"{commit}:{name}"]
    return subprocess.run(show, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit", nargs="?", default="", help="compare with this commit")
    commit = parser.parse_args().commit
    now, before = counted(""), counted(commit) if commit else Counter[str]()
    for room in ROOMS:
        print(f"{room:9} {now[room]:7,}" + (f"  {now[room] - before[room]:+6,} since {commit}" if commit else ""))


if __name__ == "__main__":
    main()
