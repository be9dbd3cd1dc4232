"""Tables of nccl-tests as people paste them: through launchers, logs, pages and other releases."""

import json
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.measured.files import read_tables
from sim.errors import InputError
from tests.pasted import numbered, prefixed, several_prefixes
from tests.tables import each_row

DATA = Path(__file__).parents[2] / "data" / "nccl-tests"
FILES = sorted(DATA.glob("*.txt"))
US, MS = 1e-6, 1e-3
SIZES = ((1024, 18.31), (1048576, 71.85), (67108864, 361.52), (134217728, 1e6))


def times(text, name="allreduce"):
    """Line, size and both times of every row."""
    return [(r.line, r.size, r.seconds, r.in_place) for table in read_tables(text, name) for r in table.rows]


def shown(value, width=7):
    """A number as `getFloatStr` of nccl-tests prints it."""
    digits = len(str(int(value)))
    if digits < width - 2:
        return f"{value:{width}.2f}"
    if digits < width - 1:
        return f"{value:{width}.1f}"
    return f"{value:{width}.0f}" if digits < width + 1 else f"{value:{width}.1e}"


def half(size, us, *, check=True, iterations=False):
    rate = size / us / 1e3
    each = [us * 0.9, us * 1.2, us * 1.1, 3.7] if iterations else []
    return f"  {shown(us)}  {shown(rate, 6)}  {shown(rate * 1.75, 6)}  {'     0' if check else '   N/A'}" + "".join(
        f"  {shown(value)}" for value in each
    )


def printed(*, iterations=False, stamps=False, in_place_only=False, cputime=False, check=True, root="-1", redop="sum"):
    """A table as `util.cu` prints it."""
    time = "cputime" if cputime else "time"
    columns = f"{time} algbw busbw #wrong" + " i_min i_max i_p99 i_cv%" * iterations
    lines = [
        "# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1",
        "# Collective test starting: all_reduce_perf",
        *(f"#  Rank {r:2} Group  0 Pid {r} on n7 device {r} [0000:{r:02}:00] NVIDIA H100 80GB HBM3" for r in range(8)),
        f"#  size count type redop root {columns} {columns} {'timestamp' * stamps}",
        "#  (B) (elements)     (us)  (GB/s)  (GB/s)         (us)  (GB/s)  (GB/s)",
    ]  # fmt: skip
    for size, us in SIZES:
        first = " " * 32 if in_place_only else half(size, us, check=check, iterations=iterations)
        second = half(size, us * 0.98, check=check, iterations=iterations)
        stamp = "  2025-09-01 10:11:12" * stamps
        lines.append(f"{size:12}  {size // 4:12}  {'float':>8}  {redop:>6}  {root:>6}{first}{second}{stamp}")
    return "\n".join([*lines, "# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 12.3456 ", "#"]) + "\n"


@each_row("iterations, stamps, in_place_only, cputime, check", list(product([False, True], repeat=5)))
@each_row("root, redop", [("-1", "sum"), ("0", "none")])
def test_every_form_that_nccl_tests_prints_is_read_right(
    iterations, stamps, in_place_only, cputime, check, root, redop
):
    text = printed(iterations=iterations, stamps=stamps, in_place_only=in_place_only, cputime=cputime, check=check,
                   root=root, redop=redop)  # fmt: skip
    (table,) = read_tables(text, "it")
    assert (table.ranks, table.unread, [row.size for row in table.rows]) == (8, (), [size for size, _ in SIZES])
    for row, (_, us) in zip(table.rows, SIZES, strict=True):
        first, second = (us * 0.98, 0) if in_place_only else (us, us * 0.98)
        assert (row.seconds, row.in_place) == (
            pytest.approx(first * US, rel=0.01),
            pytest.approx(second * US, rel=0.03),
        )


@pytest.mark.parametrize("iterations", [False, True])
@pytest.mark.parametrize("stamps", [False, True])
def test_rows_without_their_header_are_read_by_what_agrees(iterations, stamps):
    text = printed(iterations=iterations, stamps=stamps)
    rows = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    assert [row[1:] for row in times(rows)] == [row[1:] for row in times(text)]


@given(st.sampled_from(FILES), several_prefixes())
def test_any_known_prefixes_on_every_line_change_nothing(path, prefixes):
    text = path.read_text()
    changed = read_tables(prefixed(text, *prefixes), path.name)
    for plain, table in zip(read_tables(text, path.name), changed, strict=True):
        assert (table.rows, table.ranks, table.unread, table.words) == (
            plain.rows,
            plain.ranks,
            plain.unread,
            plain.words,
        )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_numbered_lines_are_the_same_table(path):
    text = path.read_text()
    assert times(numbered(text), path.name) == times(text, path.name)
    assert times(numbered(prefixed(text, "0: ")), path.name) == times(text, path.name)


@pytest.mark.parametrize(
    "prefix", ["anything at all 7 ", "~~ ", "run-7 step 3 ", "{launcher=x} ", "12% ", "\N{RIGHTWARDS ARROW} "]
)
def test_a_row_is_known_by_its_size_count_and_type_whatever_stands_before(prefix):
    text = printed()
    assert times(prefixed(text, prefix)) == times(text)


def test_each_host_that_prints_has_a_table_of_its_own():
    text = "".join(f"node{i}: {line}\n" for line in printed().splitlines() for i in (1, 2))
    first, second = read_tables(text, "it")
    assert (
        [row.seconds for row in first.rows]
        == [row.seconds for row in second.rows]
        == [row[2] for row in times(printed())]
    )
    assert {row.line % 2 for row in first.rows} == {1}


def test_a_header_without_the_prefix_of_its_rows_is_theirs():
    text = printed(iterations=True)
    mixed = "".join(line + "\n" if line.startswith("#") else f"[1,0]<stdout>:{line}\n" for line in text.splitlines())
    (table,) = read_tables(mixed, "it")
    assert (table.ranks, len(table.rows), table.rows[0].collective) == (8, 4, "allreduce")


NCCL_1 = """# Using devices
#   Device  0 ->  0 [0x0a] GeForce GTX TITAN X
#   Device  1 ->  1 [0x09] GeForce GTX TITAN X
#   Device  2 ->  2 [0x06] GeForce GTX TITAN X
#   Device  3 ->  3 [0x05] GeForce GTX TITAN X

#                                                 out-of-place                    in-place
#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res
    10000000      10000000    char     sum    1.628   6.14   9.21    0e+00    1.932   5.18   7.77    0e+00
    10000000       2500000     int    prod    1.613   6.20   9.30    0e+00    1.629   6.14   9.21    0e+00
"""


def test_tables_of_nccl_1_are_in_milliseconds():
    (table,) = read_tables("./build/test/single/all_reduce_test 10000000\n" + NCCL_1, "it")
    assert [row.seconds for row in table.rows] == [pytest.approx(1.628 * MS), pytest.approx(1.613 * MS)]
    assert [row.in_place for row in table.rows] == [pytest.approx(1.932 * MS), pytest.approx(1.629 * MS)]
    assert (table.rows[0].collective, table.ranks, table.unread) == ("allreduce", 4, ())
    small = (
        NCCL_1
        + "#          64            16   float     sum    0.010   0.01   0.01    N/A    0.009   0.01   0.01    N/A\n"
    )
    assert read_tables(small, "allreduce")[0].rows[-1].seconds == pytest.approx(0.01 * MS)


def test_a_table_that_says_ms_is_in_ms():
    text = printed().replace("(us)", "(ms)")
    with pytest.raises(InputError, match=r"size over time is not algbw: 5.593e-05 GB/s, not 0.06, in line 13"):
        read_tables(text, "it")
    (table,) = read_tables("size time algbw busbw\n(B) (ms) (GB/s) (GB/s)\n10000000 1.628 6.14 9.21\n", "allreduce")
    assert table.rows[0].seconds == pytest.approx(1.628 * MS)


def changed_row(text, size, old, new):
    line = next(line for line in text.splitlines() if line.split()[:1] == [str(size)])
    assert old in line
    return text.replace(line, line.replace(old, new, 1))


@pytest.mark.parametrize("wrong", ["36.15", "3615.2", "361520", "185.63", "325", "380.0"])
def test_a_row_whose_time_contradicts_its_bandwidth_is_refused_with_the_figures(wrong):
    (table,) = read_tables(changed_row(printed(), 67108864, "361.52", wrong), "it")
    assert [row.size for row in table.rows] == [1024, 1048576, 134217728]
    ((why, lines),) = table.unread
    assert why == f"size over time is not algbw: {67108864 / float(wrong) / 1e3:.4g} GB/s, not 185.63, in line 15"
    assert lines == (15,)


def test_an_in_place_half_that_contradicts_itself_refuses_the_row_too():
    (table,) = read_tables(changed_row(printed(), 67108864, shown(361.52 * 0.98).strip(), "12.00"), "it")
    assert (len(table.rows), table.unread[0][1]) == (3, (15,))


def test_where_no_row_agrees_the_file_is_refused_with_the_reason():
    text = (
        printed().replace("18.31", "1.23").replace("71.85", "1.23").replace("361.52", "1.23").replace("1000000", "1.23")
    )
    with pytest.raises(InputError, match=r"it holds no row .*: size over time is not algbw: .* in line 13: give"):
        read_tables(text, "it")


def test_a_row_that_a_message_cut_in_two_is_put_together():
    plain = printed()
    line = next(line for line in plain.splitlines() if "67108864" in line)
    head, tail = line[:50], line[50:]
    text = plain.replace(line, f"{head}node7:25:25 [0] NCCL INFO 512 Bytes -> Algo 0 proto 0 time 25.2\n[0] {tail}")
    assert [row[1:] for row in times(text)] == [row[1:] for row in times(plain)]


@pytest.mark.parametrize("width", [80, 100, 132])
def test_rows_that_a_terminal_wrapped_between_numbers_are_put_together(width):
    text = printed(iterations=True)
    lines = []
    for line in text.splitlines():
        while len(line) > width and not line.startswith("#"):
            at = line.rindex(" ", 0, width)
            lines.append(line[:at])
            line = line[at:]
        lines.append(line)
    assert [row[1:] for row in times("\n".join(lines))] == [row[1:] for row in times(text)]


@each_row("wrap", [
    lambda line: "| " + " | ".join(line.lstrip("# ").split()) + " |",
    lambda line: ",".join(line.lstrip("# ").split()),
    lambda line: "\t".join(line.split()),
    lambda line: line.replace(" ", "&nbsp;") + "<br>",
    lambda line: line.replace("-1", "\N{MINUS SIGN}1"),
    lambda line: line + "\r",
    lambda line: ";".join(line.split()).replace(".", ","),
    lambda line: json.dumps({"log": line + "\n", "stream": "stdout", "time": "2025-09-01T10:11:12Z"}),
    json.dumps,
])  # fmt: skip
def test_tables_survive_pages_and_spreadsheets(wrap):
    text = printed()
    assert [row[1:] for row in times("\n".join(map(wrap, text.splitlines())))] == [row[1:] for row in times(text)]


def test_of_two_tables_side_by_side_the_left_one_is_read():
    lines = printed().splitlines()
    both = "\n".join(f"{line:<140} | {line}" for line in lines)
    assert [row[1:] for row in times(both)] == [row[1:] for row in times(printed())]


def test_hypercube_counts_what_comes_from_others():
    size, us = 1048576, 50.0
    rate = size * 7 / 8 / us / 1e3
    text = (
        f"hypercube_perf\n{size} {size // 32} float none -1 {us} {rate:.2f} {rate:.2f} 0 {us} {rate:.2f} {rate:.2f} 0\n"
    )
    (table,) = read_tables(text, "it")
    assert (table.ranks, table.rows[0].seconds) == (8, pytest.approx(us * US))


@given(st.data())
def test_no_row_disappears_silently(data):
    """Whatever is done to one word of a row: it is read with its own figures, or its line is told."""
    lines = printed(iterations=data.draw(st.booleans()), stamps=data.draw(st.booleans())).splitlines()
    at = data.draw(st.integers(12, 15))
    words = lines[at].split()
    i = data.draw(st.integers(3, len(words) - 1))
    words[i] = data.draw(
        st.sampled_from(("N/A", "nan", "0", "1e+06", "-1", "x", "12.5%", "", "99999999", "[0]", "0.00"))
    )
    lines[at] = "  ".join(words)
    plain = {line: row for line, *row in times(printed())}
    try:
        (table,) = read_tables("\n".join(lines), "it")
    except InputError:
        pytest.fail("three rows are left")
    read, told = {row.line for row in table.rows}, {line for _, lines in table.unread for line in lines}
    assert read | told == set(plain)
    assert not read & told
    for row in table.rows:
        assert row.size == plain[row.line][0]
        assert row.seconds in (pytest.approx(plain[row.line][1], rel=0.03), pytest.approx(plain[row.line][2], rel=0.03))
