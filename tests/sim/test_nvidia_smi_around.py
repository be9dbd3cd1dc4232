"""Matrices of `nvidia-smi topo -m` behind prefixes, on pages, wrapped and cut: read, or refused truly."""

from pathlib import Path

import pytest

from sim.errors import InputError
from sim.formats import read_topology
from tests.pasted import numbered, prefixed
from tests.tables import each_row

CAPTURES = Path(__file__).parents[1] / "data" / "nvidia-smi-topo"
READ = [path for path in sorted(CAPTURES.glob("*.txt")) if path.name[:3] not in ("009", "037")]
LARGE = next(CAPTURES.glob("011*"))


def text_of(path):
    return path.read_bytes().decode()


def read(text, **options):
    return read_topology(text, "pasted", **options)


def same(text, path):
    machine, plain = read(text), read(text_of(path))
    assert machine.devices == plain.devices
    assert machine.links == plain.links
    assert machine.pairs == plain.pairs


@each_row("path", READ)
def test_numbered_lines_are_the_same_machine(path):
    same(numbered(text_of(path)), path)


@each_row("prefix", ["~~ ", "worker-1 ", "run7 step3 ", "{x} ", "12% "])
@each_row("number", ["005", "011", "021", "038"])
def test_a_prefix_of_a_kind_unknown_is_known_by_what_it_stands_before(number, prefix):
    (path,) = CAPTURES.glob(f"{number}*")
    same(prefixed(text_of(path), prefix), path)


def test_a_prefix_that_changes_from_line_to_line_is_none_of_the_table():
    same("".join(f"@{i * 7:x}! {line}\n" for i, line in enumerate(text_of(LARGE).splitlines())), LARGE)


def test_hosts_that_print_side_by_side_are_read_one_after_another():
    text = "".join(f"node{i}: {line}\n" for line in text_of(LARGE).splitlines() for i in (1, 2))
    same(text, LARGE)
    assert "2 tables: only the first one is read" in read(text).assumed


@each_row("dash", ["\N{EN DASH}", "\N{MINUS SIGN}", "\N{EM DASH}", "\N{NON-BREAKING HYPHEN}", " \N{EN DASH} "])
@each_row("number", ["005", "011", "018", "030"])
def test_cpu_lists_keep_their_numa_nodes_with_any_dash(number, dash):
    (path,) = CAPTURES.glob(f"{number}*")
    lines = text_of(path).splitlines()
    same("\n".join(line.replace("-", dash) if line.startswith("GPU") else line for line in lines), path)


def page(text):
    return "<p>" + text.replace("\t", "&nbsp;&nbsp;&nbsp; ").replace(" ", "&nbsp;").replace("\n", "<br>\n") + "</p>"


def rows_of(text):
    return [line.split("\t") for line in text.replace("\x1b[4m", "").replace("\x1b[0m", "").splitlines()]


def csv(text, quoted=True, separator=","):
    lines = []
    for row in rows_of(text):
        cells = [cell.strip() for cell in row]
        lines.append(separator.join(f'"{cell}"' if quoted and separator in cell else cell for cell in cells))
    return "\n".join(lines)


@each_row("render", [
    page,
    lambda text: page(text).replace("<br>\n", "<br/>"),
    lambda text: "<pre><code>" + text + "</code></pre>",
    lambda text: "".join("<tr><td>" + "</td><td>".join(row) + "</td></tr>" for row in rows_of(text)),
    csv,
    lambda text: csv(text, quoted=False),
    lambda text: csv(text, separator=";"),
    lambda text: text.replace("\x1b", "^["),
    lambda text: text.replace("\x1b[4m", "[4m").replace("\x1b[0m", "[0m"),
    lambda text: "\n".join("**" + line + "**" for line in text.splitlines()),
])  # fmt: skip
@each_row("number", ["011", "013"])
def test_pages_and_spreadsheets_show_the_same_machine(number, render):
    (path,) = CAPTURES.glob(f"{number}*")
    same(render(text_of(path).replace("\r\n", "\n")), path)


def wrapped(text, width):
    lines = []
    for line in text.expandtabs().splitlines():
        lines += [line[i : i + width] for i in range(0, max(len(line), 1), width)]
    return "\n".join(lines)


@each_row("width", [72, 80, 90, 100, 110, 120, 132, 133, 140, 147, 150, 160])
@each_row("trim", [False, True])
def test_a_table_that_a_terminal_wrapped_is_read_or_refused_truly(width, trim):
    text = wrapped(text_of(LARGE).replace("\x1b[4m", "").replace("\x1b[0m", ""), width)
    if trim:
        text = "\n".join(line.rstrip() for line in text.splitlines())
    try:
        machine = read(text)
    except InputError as refusal:
        assert trim, refusal  # noqa: PT017
        assert "is cut" in str(refusal) or "the header" in str(refusal)  # noqa: PT017
        return
    plain = read(text_of(LARGE))
    assert (machine.devices, machine.links, machine.pairs) == (plain.devices, plain.links, plain.pairs)


@each_row("width", range(68, 168, 3))
@each_row("tabs", [False, True])
def test_a_table_cut_at_a_column_keeps_what_is_whole_and_tells_what_is_not(width, tabs):
    text = text_of(LARGE).replace("\x1b[4m", "").replace("\x1b[0m", "").partition("\n\n")[0]
    lines = text.splitlines() if tabs else text.expandtabs().splitlines()
    plain = read(text)
    try:
        machine = read("\n".join(line[:width] for line in lines))
    except InputError as refusal:
        assert "is cut" in str(refusal) or "the header is cut" in str(refusal)  # noqa: PT017
        return
    for a, row in machine.pairs.items():
        assert row == {b: word for b, word in plain.pairs[a].items() if b in row}
    gone = [name for name in plain.pairs if name not in machine.pairs]
    told = " ".join(note for note in machine.assumed if "cut at the same column" in note)
    assert all(name in told for name in gone)
    assert not gone or told


def test_rows_without_their_header_are_refused_for_that():
    body = text_of(LARGE).partition("\n")[2]
    with pytest.raises(
        InputError, match=r"rows of `nvidia-smi topo -m` without the line of names above them: paste the whole"
    ):
        read(body)


def test_affinities_that_cannot_be_read_are_told():
    text = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\tX\tSYS\t0-7?\t3\nGPU1\tSYS\tX\t8-15?\t1\n"
    assert "affinities of GPU0, GPU1 are read up to '0-7?' (line 2), which is no list of CPUs" in read(text).assumed


def matrix(links, gpus=8):
    names = [f"GPU{i}" for i in range(gpus)]
    rows = "\n".join(f"{a}\t" + "\t".join("X" if a == b else links for b in names) for a in names)
    return "\t" + "\t".join(names) + "\n" + rows + "\n"


@each_row(
    "words, links, rate",
    [
        ("8x NVIDIA B200", "NV18", 40.1),
        ("NVIDIA B300 SXM6 AC", "NV18", 40.1),
        ("root@hgx-b300-01:~# nvidia-smi topo -m", "NV18", 40.1),
        ("GB200 NVL4", "NV18", 40.1),
        ("an 8xH100 box", "NV18", 20.6),
        ("H200s", "NV18", 20.6),
        ("NVIDIA H20", "NV18", 20.6),
        ("GH200", "NV6", 20.6),
        ("NVIDIA A100-SXM4-80GB", "NV12", 20.0),
        ("A800", "NV8", 20.0),
        ("NVIDIA A40", "NV4", 12.0),
        ("RTX A6000", "NV4", 12.0),
        ("GeForce RTX 3090", "NV4", 12.0),
        ("Tesla V100-SXM2-32GB", "NV6", 20.0),
        ("Tesla P100-SXM2-16GB", "NV1", 18.0),
        ("Quadro RTX 8000", "NV2", 20.0),
        ("nothing is named", "NV18", 20.6),
        ("AB2000, b2000, xB200x", "NV18", 20.6),
    ],
)
def test_a_gpu_the_text_names_sets_the_generation(words, links, rate):
    gpus = 2 if links in ("NV1", "NV2", "NV4") else 4 if links == "NV6" and "GH" in words else 8
    for text in (f"{words}\n{matrix(links, gpus)}", f"{matrix(links, gpus)}\n{words}\n"):
        machine = read(text)
        assert {round(x.bandwidth / x.lanes / 1e9, 3) for x in machine.links if x.kind == "NVL"} == {rate}


@each_row("words, pcie", [
    ("NVIDIA L40S", 24), ("GeForce RTX 4090", 24), ("GeForce RTX 5090", 48), ("RTX PRO 6000 Blackwell", 48),
    ("NVIDIA H100 PCIe", 48), ("Tesla K80", 12), ("Tesla T4", 12), ("NVIDIA A10G", 24), ("TITAN V", 12), ("", 24),
])  # fmt: skip
def test_a_named_card_without_nvlinks_sets_its_pcie(words, pcie):
    machine = read(f"{words}\n{matrix('PHB', 4)}")
    assert {x.bandwidth / 1e9 for x in machine.links if x.src.startswith("GPU")} == {pcie}


def test_a_name_that_cannot_have_so_many_links_is_not_believed():
    machine = read(f"Was an A100 before.\n{matrix('NV18')}")
    assert "the text names A100, which has fewer NVLinks than the table shows" in machine.assumed
    assert {x.bandwidth / x.lanes for x in machine.links if x.kind == "NVL"} == {20.6e9}
    both = read(f"H100 or B200?\n{matrix('NV18')}")
    assert "the text names H100 and B200, and any of them may be meant: give gpu= to say which" in both.assumed
    either = read(f"An A100 replaced by a B200.\n{matrix('NV18')}")
    assert {x.bandwidth / x.lanes for x in either.links if x.kind == "NVL"} == {40.1e9}


def test_a_gpu_may_be_given_beside_the_text():
    machine = read(matrix("NV18"), gpu="B200")
    assert {x.bandwidth / x.lanes for x in machine.links if x.kind == "NVL"} == {40.1e9}
    assert "read as B200, rates as in NCCL's src/graph/topo.h" in machine.assumed
    with pytest.raises(InputError, match=r"gpu='B2000' is no GPU known here: give one like B200, H100"):
        read(matrix("NV18"), gpu="B2000")
