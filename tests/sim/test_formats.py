"""The list of topology formats, and what is said to a text that is none of them."""

import pytest

from sim.errors import InputError
from sim.formats import FORMATS, LARGEST_TEXT, read_topology, read_topology_file
from tests.tables import each_row

PAIR = "\tGPU0\tGPU1\nGPU0\tX\tPIX\nGPU1\tPIX\tX\n"


@each_row(
    "text, message",
    [
        ("", "pasted is empty: give .*the output of"),
        (" \n\t\n", "pasted is empty"),
        ("hello", "pasted is no topology known here: give .*nvidia-smi topo -m"),
        ("| NVIDIA-SMI 535.104.05   Driver Version: 535.104.05 |", "is the overview of `nvidia-smi`"),
        ("GPU 0: NVIDIA A100 (UUID: GPU-1234)\n", "is the list of `nvidia-smi -L`"),
        ("bash: nvidia-smi: command not found\n", "is an error message"),
        ("<!DOCTYPE html><html><body>GPU0</body></html>", "is a web page"),
        ("5 1 4\n4\n0 4 400Gbps 0.0005ms 0\n1 4 2.4Tbps 25us 0.0\n", "is a topology of ns-3, as SimAI and ASTRA-sim"),
        ('<graphs version="1"><graph id="0" pattern="4"/></graphs>', "is the graphs of NCCL's search, not its machine"),
        (
            "n7:12:34 [0] NCCL INFO Channel 00/08 : 0 1 2 3\n",
            "is a log of NCCL, without rates: run it again with",
        ),
        ("Machine (1510GB total)\n  Package L#0\n    NUMANode L#0 (P#0 755GB)\n", "give `lstopo --of xml`"),
        ("#                                out-of-place         in-place\n", "is a table of nccl-tests"),
        ('<algo name="x" proto="LL" ngpus="8">', "is an MSCCL schedule"),
        ("x" * (LARGEST_TEXT + 1), "pasted is larger than 1 MiB: give the topology alone"),
    ],
)
def test_other_texts_are_refused_by_what_they_are(text, message):
    with pytest.raises(InputError, match=message):
        read_topology(text, "pasted")


def test_files_are_refused_when_they_cannot_be_opened(tmp_path):
    with pytest.raises(InputError, match=r"absent.txt cannot be read \(No such file"):
        read_topology_file(tmp_path / "absent.txt")
    with pytest.raises(InputError, match=r"cannot be read \(Is a directory\)"):
        read_topology_file(tmp_path)


def test_files_may_be_in_the_encodings_terminals_write(tmp_path):
    for name, data in {
        "utf16": PAIR.encode("utf-16"),
        "utf8": ("\ufeff" + PAIR).encode(),
        "stray": PAIR.encode() + b"\xff\xfe caf\xe9",
    }.items():
        (tmp_path / name).write_bytes(data)
        assert read_topology_file(tmp_path / name).links == read_topology(PAIR, "pair").links
    (tmp_path / "binary").write_bytes(b"\x7fELF\0\0\0\1" * 99)
    with pytest.raises(InputError, match="is not a text file"):
        read_topology_file(tmp_path / "binary")


def test_the_list_of_formats_knows_its_options():
    assert "nvidia_smi" in FORMATS
    options = FORMATS["nvidia_smi"].options
    assert options["nvlink"].kind == "bandwidth"
    assert options["sys_latency"].kind == "time"
    assert "text" not in options
    with pytest.raises(InputError, match="no topology format is called 'nvidia'"):
        FORMATS["nvidia"]
