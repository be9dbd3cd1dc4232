"""Damaged files and links are answered or refused in a sentence; `./check --long` tries more of them."""

from functools import partial
from random import Random

import pytest
from hypothesis import Phase, given, note, settings
from hypothesis import strategies as st

from sim.base.files.textfile import decoded
from sim.base.formats import Format
from sim.base.watch import Watch
from sim.errors import InputError
from sim.formats import FORMATS
from sim.machines import MACHINES
from sim.topology import Topology
from tests.attack import files, links
from tests.attack.limits import answered
from tests.tables import each_row
from ui.pages import PAGES, Page
from ui.workers import one, process

pytestmark = pytest.mark.slow
UNSHRUNK = settings(phases=[Phase.reuse, Phase.generate], max_examples=settings.default.max_examples // 2)
"""A smaller seed is no smaller case."""


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """What a large run may take is not what is looked for here."""
    monkeypatch.setenv("RINGSIDE_MAX_DEVICES", "600")
    monkeypatch.setattr(one, "answer", lambda call: process.answer(call, Watch(seconds=5, memory=1e9)))


READERS = [*files.readers()]


def damaged(reader, draw):
    """A text, or a file's letters, that a reader may not read."""
    samples = reader.samples()
    text = files.hostile(draw.choice(samples), draw, samples)
    return decoded(text.encode("utf-8", "replace"), "it") if reader.is_text else text


def attack_page(draw):
    words = links.link(draw)
    note(repr(words))
    with answered(60):
        links.run(words)


DRAWS = st.randoms(use_true_random=True)


@each_row("reader", READERS)
def test_damaged_files_are_read_or_refused_in_a_sentence(reader):
    @UNSHRUNK
    @given(DRAWS)
    def attack(draw):
        with answered(10):
            text = damaged(reader, draw)
            note(f"{reader.name}:\n{text}")
            reader.use(text)

    attack()


def test_damaged_links_open_a_page_that_tells():
    UNSHRUNK(given(DRAWS)(attack_page))()


def test_every_reader_has_samples_that_it_reads():
    for reader in READERS:
        assert any(map(partial(_reads, reader), reader.samples())), f"{reader.name}: add a text to tests/data"


def _reads(reader, text):
    try:
        reader.use(text)
    except InputError:
        return False
    return True


def test_whatever_is_added_is_attacked(monkeypatch):
    def newcomer() -> Topology:
        """A machine that breaks."""
        raise KeyError("newcomer")

    def read(text: str, *, name: str) -> Topology:
        """Breaks."""
        raise KeyError("newcomer")

    entry = Format("newcomer", "a newcomer's", lambda text: text.startswith("newcomer"), read, precedence=1)
    monkeypatch.setattr(files, "AMD", "newcomer\n")  # what a file in tests/data would be
    with MACHINES.also({"newcomer": newcomer}), FORMATS.also({"newcomer": entry}):
        readers = {reader.name: reader for reader in files.readers()}
        assert readers["a topology file: newcomer"].samples() == ("newcomer\n",)
        assert "newcomer" in readers["a machine's spec"].samples()
        for name, text in (("a topology file: newcomer", "newcomer\n"), ("a machine's spec", "newcomer")):
            with pytest.raises(KeyError, match="newcomer"), answered(10):
                readers[name].use(text)
    with PAGES.also({"newcomer": Page("newcomer", lambda: None, 1)}):
        assert "newcomer" in {links.link(Random(k)).get("page") for k in range(100)}


def _raise(error):
    raise error


@pytest.mark.parametrize(
    "run, complaint",
    [
        (lambda: _raise(KeyError("x")), "'x'"),
        (lambda: open("/etc/passwd").close(), "open .*/etc/passwd"),
        (lambda: [None for _ in iter(int, 1)], "more than 0.2 s"),
    ],
)
def test_what_counts_as_a_finding(run, complaint):
    with pytest.raises((AssertionError, KeyError, pytest.fail.Exception), match=complaint), answered(0.2):
        run()
    with answered(0.2):
        _raise(InputError("a sentence"))


def test_a_fault_of_a_page_s_own_is_found_though_a_sentence_tells_it(monkeypatch):
    monkeypatch.setattr("ui.pages.health.tell", None)
    with pytest.raises(AssertionError, match=r"a fault of ours: ui/pages/health.py, line \d+: TypeError"):
        links.run({"page": "health"})
