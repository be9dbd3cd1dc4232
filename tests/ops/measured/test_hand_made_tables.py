"""Tables as people write them by hand: sizes with letters, rates without times."""

import pytest

from ops.measured.files import read_tables
from tests.tables import each_row

HEADER = "Size      Count    Type   Time    AlgBw   BusBw\n"


@each_row("letters, base", [("KMG", 1024), ("kmg", 1024), ("KMG", 1000)])
@each_row("unit", ["", "B", "iB"])
def test_sizes_with_letters_are_what_their_times_and_rates_make_them(letters, base, unit):
    if unit == "iB" and base == 1000:
        return
    sizes = [8 * base ** (power + 1) for power in range(3)]
    words = [f"8{letter}{unit}" for letter in letters]
    rows = [
        f"{word} 1000 float 100.0 {size / 1e5:.3f} {size / 1e5:.3f}\n" for word, size in zip(words, sizes, strict=True)
    ]
    for header in (HEADER, HEADER.replace("Count    Type   ", "")):
        text = header + "".join(rows if "Type" in header else [row.replace("1000 float ", "") for row in rows])
        (table,) = read_tables(text, "allreduce.txt")
        assert [row.size for row in table.rows] == sizes
        assert all(row.seconds == pytest.approx(1e-4) for row in table.rows)


def test_where_time_and_rate_do_not_tell_a_letter_is_a_power_of_1024():
    (table,) = read_tables(HEADER + "8K 1000 float 26.23 0.00 0.00\n16K 1000 float 26.89 0.00 0.00\n", "allreduce.txt")
    assert [row.size for row in table.rows] == [8192, 16384]


@pytest.mark.parametrize(
    "header", ["size algbw busbw", "# size  algbw  busbw\n#  (B) (GB/s) (GB/s)", "| size | algbw | busbw |"]
)
def test_rates_without_times_tell_the_times(header):
    rows = "1048576 20.50 35.88\n1G 206.27 360.97\n"
    (table,) = read_tables(f"# all_reduce_perf\n{header}\n{rows}", "it")
    assert [row.size for row in table.rows] == [1 << 20, 1 << 30]
    assert [row.seconds for row in table.rows] == [pytest.approx(1048576 / 20.5e9), pytest.approx((1 << 30) / 206.27e9)]
    assert table.ranks == 8


def test_a_rate_of_nothing_tells_no_time():
    (table,) = read_tables("# all_reduce_perf\nsize algbw busbw\n8 0.00 0.00\n1048576 20.50 35.88\n", "it")
    assert [row.size for row in table.rows] == [1 << 20]
    assert table.unread == (("no time in it", (3,)),)
