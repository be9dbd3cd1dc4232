"""A newcomer's reader: found by its mark, and its slips are told in one sentence with the line."""

import pytest

from ops.formats import SCHEDULE_FORMATS, check_schedule
from ops.measured.files import read_tables
from ops.measured.formats import MEASUREMENTS
from sim.base import formats
from sim.base.files.textfile import Expected, read_text
from sim.base.formats import ReadingError
from sim.errors import InputError
from sim.formats import FORMATS, lines, read_topology, reader, rows, write_topology
from sim.topology import Device, Topology, both_ways
from sim.units import parse_bandwidth, us

TITLE = "a list of links like `GPU0 GPU1 25GBps`"


def cables(text, *, name):
    """One cable a line."""
    links = [x for a, b, rate in rows(text) for x in both_ways(a, b, parse_bandwidth(rate), 1 * us, "NVL")]
    gpus = sorted({link.src for link in links})
    return Topology(name, tuple(Device(gpu, "GPU") for gpu in gpus), tuple(links), forwarding=True)


@pytest.fixture
def slips(monkeypatch):
    """The net below readers, as it is outside of tests."""
    monkeypatch.setattr(
        formats, "SLIPS", (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
    )


@pytest.fixture
def listed(slips):
    with FORMATS.also():
        reader("cables", TITLE, matches=lambda text: text.startswith("# cables"), endings=("cab",))(cables)
        yield


def test_it_is_found_among_the_others(listed):
    assert read_topology("# cables\nGPU0 GPU1 25GBps\n\nGPU1 GPU2 50GBps  # a thick one\n", "desk").n == 3
    assert read_topology("# cables\nGPU0 GPU1 25GBps\n", "desk").format == "cables"
    assert "cab" in FORMATS.endings
    with pytest.raises(InputError, match=f"give .*{TITLE}"):
        read_topology("hello", "desk")
    with pytest.raises(InputError, match=r"machines are not written as cables: choose from .*ringside_yaml"):
        write_topology(Topology("x", (), ()), "cables")


@pytest.mark.parametrize(
    "line, told",
    [
        ("GPU1 GPU2", r"desk, line 3: 'GPU1 GPU2' does not fit .* \(not enough values .*\): correct the line"),
        ("GPU1 GPU2 25GBps now", r"desk, line 3: 'GPU1 GPU2 25GBps now' does not fit .* \(too many values"),
        ("GPU1 GPU2 fast", r"desk, line 3: bandwidth 'fast' is not a number with a unit"),
    ],
)
def test_a_slip_is_told_with_its_line(listed, line, told):
    with pytest.raises(InputError, match=told) as caught:
        read_topology(f"# cables\nGPU0 GPU1 25GBps\n{line}\nGPU2 GPU3 25GBps\n", "desk")
    assert "\n" not in str(caught.value)


def test_what_goes_wrong_after_the_last_line_has_no_line(slips):
    def late(text, *, name):
        """Counts, then looks where nothing is."""
        return {}[len(list(lines(text)))]

    with FORMATS.also():
        reader("late", "a late one", matches=lambda text: text.startswith("late"))(late)
        with pytest.raises(ReadingError, match=r"it does not fit a late one \(nothing is called 2\): correct the file"):
            read_topology("late\nlater\n", "desk")


def test_schedules_and_measurements_have_the_same_net(slips):
    def counts(text, *, name):
        """Numbers."""
        return [int(word) for (word,) in rows(text, separator=",")]

    with SCHEDULE_FORMATS.also(), MEASUREMENTS.also():
        for known in (SCHEDULE_FORMATS, MEASUREMENTS):
            known.reader("counts", "counts", matches=lambda text: text.startswith("# counts"))(counts)
        verdict = check_schedule("# counts\n3\nx\n", "it")
        assert (verdict.verdict, verdict.reason[:24]) == ("malformed", "it, line 3: 'x' does not")
        with pytest.raises(ReadingError, match="it, line 2: '4, 5' does not fit counts"):
            read_tables("# counts\n4, 5\n", "it")


def test_the_more_telling_mark_wins(slips):
    with FORMATS.also():
        for name, precedence in (("aaa", -1), ("zzz", 0), ("mmm", -2)):
            reader(name, name, matches=lambda text: "wires" in text, precedence=precedence)(cables)
        assert FORMATS.recognise("wires", "it").name == "zzz"


def test_texts_are_bounded_and_decoded_alike(tmp_path):
    small = Expected("a note", "write less", lambda: "words", 8)
    for data, told in {
        b"123456789": "is larger than 8 B: write less",
        b"ab\0cd": "is not a text file: give words",
    }.items():
        (tmp_path / "note").write_bytes(data)
        with pytest.raises(InputError, match=told):
            read_text(tmp_path / "note", small)
    for text in ("grün", "\U0001f642" * 8):
        for encoding in ("utf-8", "utf-8-sig", "utf-16"):
            (tmp_path / "note").write_bytes(text.encode(encoding))
            assert read_text(tmp_path / "note", small) == text
    with pytest.raises(InputError, match=r"cannot be read \(embedded null byte\): give the path of a note"):
        read_text("a\0b", small)
