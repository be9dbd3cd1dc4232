"""A Python file of a person's own that yields nonsense: one sentence with the file, status 2."""

import pytest

import cli

HEAD = (
    "import numpy as np\nfrom ops.collectives import allgather\nfrom ops.registry import algorithm\n"
    "from sim.schedule import copy\n\n\n@algorithm(allgather{})\ndef own({}):\n    '''Own.'''\n    r = np.arange(n)\n"
)
GOOD = "    yield copy(r, (r + 1) % n, slot=r)\n"
FILES = {
    "None": (HEAD.format("", "n") + "    yield None\n", "own yields 'None', no step: yield copy(…)"),
    "a number": (HEAD.format("", "n") + "    yield 1\n", "own yields '1', no step"),
    "a tuple of numbers": (HEAD.format("", "n") + "    yield (1, 2)\n", "own yields '1', no step"),
    "pieces below one": (HEAD.format(", pieces=lambda n: -1", "n") + GOOD, "pieces gives -1 for 4 ranks"),
    "no pieces": (HEAD.format(", pieces=lambda n: None", "n") + GOOD, "pieces gives None for 4 ranks"),
    "too many pieces": (HEAD.format(", pieces=lambda n: 10**30", "n") + GOOD, "no whole number from 1 to 65,536"),
    "pieces that fail": (HEAD.format(", pieces=lambda n: 1 / 0", "n") + GOOD, "line 7: ZeroDivisionError"),
    "an annotation": (HEAD.format("", "n, *, a: 'Foo' = 1") + GOOD, "own has an annotation that cannot be used (name"),
    "an exit": (HEAD.format("", "n") + "    raise SystemExit(7)\n    yield\n", "line 11: SystemExit: 7"),
    "half a rank": (HEAD.format("", "n") + GOOD.replace("copy(r", "copy(r / 2"), "line 11: ValueError: ranks, slots"),
    "NaN": (HEAD.format("", "n") + GOOD.replace("slot=r", "slot=r * np.nan"), "are whole numbers, not nan"),
    "letters": (HEAD.format("", "n") + "    yield copy('a', 'b', slot='c')\n", "are whole numbers, not 'a'"),
    "a null byte": ("x = 1\0", "line 1: source code string cannot contain null bytes"),
}


@pytest.mark.parametrize("what", FILES)
def test_nonsense_is_one_sentence(what, tmp_path, capsys):
    text, told = FILES[what]
    file = tmp_path / "own.py"
    file.write_text(text, encoding="utf-8")
    for line in (["verify", "--ranks", "4"], ["run", "--machine", "switch:ranks=4", "--size", "4KiB"]):
        assert cli.main([*line, "--schedule", str(file)]) == 2
        out, err = capsys.readouterr()
        assert told in err
        assert (out, err.count("\n")) == ("", 1)


@pytest.mark.parametrize("line", [["verify", "--ranks", "4", "--schedule"], ["winners", "--table"], ["mpi", "-n", "2"]])
def test_a_name_too_long_for_a_file_is_one_sentence(line, capsys):
    assert cli.main([*line, f"{'x' * 3000}.py"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_whole_numbers_may_be_floats(tmp_path, capsys):
    file = tmp_path / "own.py"
    shifted = "    for k in range(n - 1):\n        yield copy(r, (r + 1) % n, slot=(r - k) % n + 0.0)\n"
    file.write_text(HEAD.format("", "n") + shifted, encoding="utf-8")
    assert cli.main(["verify", "--schedule", str(file), "--ranks", "4"]) == 0
    capsys.readouterr()
