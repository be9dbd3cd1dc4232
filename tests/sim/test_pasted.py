"""Lines without what launchers, logs, terminals, mail and editors put in front of them."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sim.base.pasted import pasted_lines
from tests.pasted import PREFIXES, numbered, prefixed
from tests.tables import each_row

BODIES = ("8  2  float  sum  -1", "GPU0   X   NV12", "size  count  type", "Rank  0 Group  0", "X    = Self")


@each_row("prefix", [*PREFIXES, "7:10:11:12 "])
def test_a_prefix_goes_and_the_line_stays(prefix):
    text = prefixed("\n".join(BODIES), prefix)
    assert [line.text.strip() for line in pasted_lines(text)] == list(BODIES)


@each_row(
    "line", ["NIC0: mlx5_0", "GPU0  X", "0000:c5:00.0 XGMI", "GPU[0]\t\t: (Topology) Numa Node: 0",
             "| 0-15 | 3 | GPU0 |",
             "GPU0 | X | NV12", "mlx5_0 | PIX | SYS", "-1 5 6", "0-15,32-47 0 GPU0", "8388608 2097152 float"]
)  # fmt: skip
def test_what_belongs_to_a_table_is_no_prefix(line):
    assert pasted_lines(line)[0].text == line.lstrip("| ")


def test_a_host_or_rank_is_the_source_of_its_lines():
    lines = pasted_lines("node1: a\nnode2: b\n[1,3]<stdout>:c\n2025-09-01T10:11:12Z node1: d\n7: e\nINFO: f\nLegend:\n")
    assert [line.source for line in lines] == ["node1", "node2", "[1,3]", "node1", "", "", ""]


@pytest.mark.parametrize(
    "number", [numbered, lambda text: "".join(f" {i}  {x}\n" for i, x in enumerate(text.splitlines(), 40))]
)
def test_numbers_that_count_the_lines_go(number):
    text = "GPU0 GPU1\nGPU0 X SYS\n\nGPU1 SYS X\n8 2 float\n16 4 float"
    assert [line.text for line in pasted_lines(number(text)) if line.text] == text.replace("\n\n", "\n").splitlines()


def test_numbers_that_count_nothing_stay():
    sizes = "1 1 int8 sum\n2 2 int8 sum\n3 3 int8 sum"
    assert [line.text for line in pasted_lines(sizes)] == sizes.splitlines()
    nodes = "NUMA GPU0 GPU1\n0 GPU0 X\n1 GPU1 SYS"
    assert [line.text for line in pasted_lines(nodes)] == nodes.splitlines()


def test_pages_and_word_processors_are_read_as_what_they_show():
    text = "<pre>GPU0&nbsp;X<br/>GPU1\u00a0&lt;b&gt;</pre>\n<td>0\u201315</td><td>\u22121</td>\n**8** \\_ \u200b2\n"
    assert [(line.number, line.text.split()) for line in pasted_lines(text)] == [
        (1, ["GPU0", "X"]), (1, ["GPU1"]), (1, []), (2, ["0-15", "-1"]), (3, ["8", "_", "2"]),
    ]  # fmt: skip


TABLE = "GPU0\tX\tNV12\n\nGPU1\tNV12\t X\n# 8 (B)\t0.5"


@each_row(
    "written",
    [
        json.dumps(TABLE), json.dumps({"rc": 0, "stdout": TABLE}), json.dumps({"stdout": TABLE}, indent=1), repr(TABLE),
        repr(TABLE.encode()), f"topology = {TABLE!r}", f"- stdout: {json.dumps(TABLE)}",
        "\n".join(json.dumps({"log": line + "\n", "stream": "stdout"}) for line in TABLE.splitlines()),
        "\n".join(json.dumps({"time": "10:11", "msg": line}) for line in TABLE.splitlines()),
        ",\n".join(f"  {json.dumps(line)}" for line in TABLE.splitlines()),
        "\n".join(line.replace("\t", "^I") + "$" for line in TABLE.splitlines()),
        "\r\n".join(line.replace("\t", "^I") + "^M$" for line in TABLE.splitlines()),
        f"\t\t\ttopo: `{TABLE}`,\n", f"\tinput := `\n{TABLE}\n`\n", f'TOPO = """{TABLE}"""\n',
        f"read(r'''\n{TABLE}\n''')",
        "const char *topo =\n" + "\n".join(f"  {json.dumps(line)[:-1]}\\n\"" for line in TABLE.splitlines()) + ";",
        'const char *topo = "' + "\n".join(f"{json.dumps(line)[1:-1]}\\n\\" for line in TABLE.splitlines()) + '\n";',
        TABLE.replace(" X", " ×").replace("NV12", "ＮＶ１２"),
    ],
)  # fmt: skip
def test_strings_of_logs_and_programs_are_read_as_what_they_say(written):
    """What JSON, Python and `cat -A` write down, which quotes and escapes it."""
    code = ("input :=", "const char topo =", "read(r", ";", '";')
    lines = [line.text for line in pasted_lines(written) if line.text.strip("{}`") not in ("", *code)]
    assert [line.split() for line in lines] == [line.split() for line in TABLE.replace("# ", "").splitlines() if line]


@pytest.mark.parametrize("line", ['"GPU0","X","NV12"', "\"8\" 2 'float'", '{"a": 1', "don't", "'t was 8 2 'float"])
def test_quotes_of_words_are_no_strings(line):
    assert pasted_lines(line)[0].text == line


@given(st.text(max_size=200))
@example('"' + "\\" * 5001)
@example("{" * 5000 + "}")
@example("a" * 5000 + ': "')
@example("[" * 5000)
@example("0: " * 5000)
@example("a" * 5000 + "|")
@example("<b " * 3000 + "&lt" * 2000)
def test_any_text_keeps_its_numbers_of_lines(text):
    lines = pasted_lines(text)
    numbers = [line.number for line in lines]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(1, len(text.splitlines()) + 1))
