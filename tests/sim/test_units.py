"""Numbers that people type, read exactly; Fraction is the oracle."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.errors import InputError
from sim.units import (
    LARGEST_SIZE,
    fmt_bandwidth,
    fmt_size,
    fmt_time,
    parse_bandwidth,
    parse_size,
    parse_time,
)
from tests.tables import each_row

DECIMAL = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
PARSERS = [parse_size, parse_bandwidth, parse_time]


@given(st.integers(1, 10**9), st.integers(0, 6), st.sampled_from([*(DECIMAL | BINARY).items()]))
def test_a_size_is_read_exactly_or_refused(digits, places, unit):
    number = Fraction(digits, 10**places)
    text = f"{digits // 10**places}.{digits % 10**places:0{places}}" if places else str(digits)
    bytes_meant = number * unit[1]
    if bytes_meant.denominator == 1 and 1 <= bytes_meant <= LARGEST_SIZE:
        assert parse_size(f"{text}{unit[0]}B") == bytes_meant
    else:
        with pytest.raises(InputError, match=r"whole number of bytes|beyond 1PiB"):
            parse_size(f"{text}{unit[0]}B")


@each_row(
    "text, meant",
    [
        ("25GBps", 25e9),
        ("25 GB/s", 25e9),
        ("200Gbps", 25e9),
        ("200Gbit/s", 25e9),
        ("1GiBps", 2**30),
        ("8", 8.0),
        ("100Mbps", 12.5e6),
        ("2.5e10", 25e9),
    ],
)
def test_a_bandwidth_is_read_in_bytes_or_bits(text, meant):
    assert parse_bandwidth(text) == meant


@pytest.mark.parametrize(
    "text, meant", [("1.5us", 1.5e-6), ("1.5µs", 1.5e-6), ("2ms", 2e-3), ("7ns", 7e-9), ("3", 3.0), ("0", 0.0)]
)
def test_a_time_is_read_in_seconds(text, meant):
    assert parse_time(text) == pytest.approx(meant, rel=1e-15)


@each_row("parse", PARSERS)
@each_row("text", ["", " ", "x", "1..2", "1 2", "--1", "nan", "inf", "-inf", "1e999", "1" * 65, "0x10", "1;2"])
def test_what_is_no_number_is_refused_with_an_example(parse, text):
    with pytest.raises(InputError, match=r"the thing .* write it like"):
        parse(text, "the thing")


@pytest.mark.parametrize("text", ["0", "-1GBps", "0.5", "1e-300", "1e19", "1e308TBps"])
def test_a_bandwidth_that_no_link_has_is_refused(text):
    with pytest.raises(InputError, match="write it like 25GBps"):
        parse_bandwidth(text)


@pytest.mark.parametrize("text", ["-1us", "1e7", "1e308"])
def test_a_time_that_nobody_waits_is_refused(text):
    with pytest.raises(InputError, match=r"write it like 1\.5us"):
        parse_time(text)


@given(st.text(max_size=70), st.sampled_from(PARSERS))
def test_any_text_is_a_number_in_bounds_or_refused_in_one_line(text, parse):
    try:
        value, told = parse(text), ""
    except InputError as error:
        value, told = 1, str(error)
    assert 0 <= value <= 1e18
    assert len(told) < 200


@given(st.floats(1e-12, 1e6))
def test_a_printed_time_reads_back_within_four_digits(seconds):
    assert parse_time(fmt_time(seconds)) == pytest.approx(seconds, rel=6e-4)


@given(st.floats(1, 1e18))
def test_a_printed_bandwidth_reads_back_within_four_digits(rate):
    assert parse_bandwidth(fmt_bandwidth(rate)) == pytest.approx(rate, rel=6e-4)


@given(st.integers(1, LARGEST_SIZE))
def test_a_printed_size_is_within_four_digits(size):
    number, unit = fmt_size(size).split()
    scale = (DECIMAL | BINARY)[unit.removesuffix("B")]
    assert float(Fraction(number) * scale) == pytest.approx(size, rel=6e-4)
