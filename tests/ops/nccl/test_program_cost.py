"""What schedules of MSCCL pay for their protocol, held against times on eight MI300X (rouge3877/ns3-msccl-data)."""

import pytest

from cli import main
from ops.plan import Plan
from sim.errors import InputError
from sim.units import us

SIZES = ("1KiB", "1MiB", "256MiB")
MEASURED = {
    ("allgather.ring", "Simple"): (39.4, 128, 21562),
    ("allgather.ring", "LL"): (18.7, 598, 150316),
    ("allgather.linear", "Simple"): (10.7, 24.1, 3183),
    ("allgather.linear", "LL"): (9.1, 90, 21838),
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    written = {}
    for name in ("allgather.ring", "allgather.linear"):
        path = tmp_path_factory.mktemp("msccl") / f"{name}.xml"
        assert main(["export", name, "--machine", "mi300x", "--to", "msccl_xml", "-o", str(path)]) == 0
        written[name] = path.read_text()
    return written


def run(text, size="1MiB", machine="mi300x", protocol="file"):
    return Plan(
        machine=machine, schedule=text, schedule_name="it.xml", size=size, settings=f"protocol={protocol}"
    ).run()


@pytest.mark.parametrize(("name", "protocol"), MEASURED)
def test_blocks_and_hops_of_each_protocol(programs, name, protocol):
    text = programs[name].replace('proto="Simple"', f'proto="{protocol}"')
    for size, measured in zip(SIZES, MEASURED[name, protocol], strict=True):
        assert run(text, size).trace.time == pytest.approx(measured * us, rel=0.25)


def test_the_file_tells_its_protocol_or_a_person_does(programs):
    text = programs["allgather.ring"]
    ours, other = run(text, protocol="simple"), run(text, protocol="LL")
    assert run(text).trace.time == ours.trace.time < other.trace.time
    assert other.work.settings["protocol"] == "LL"
    assert run(text, machine="dgx_h100").trace.time < ours.trace.time
    free = Plan(machine="mi300x", schedule=text, schedule_name="it.xml", size="1MiB").run()
    assert free.trace.time < ours.trace.time


@pytest.mark.parametrize(
    ("machine", "protocol", "why"),
    [("switch:ranks=8", "LL", "is unknown"), ("mi300x", "LL256", "no protocol 'LL256'")],
)
def test_what_nobody_knows_is_one_sentence(programs, machine, protocol, why):
    with pytest.raises(InputError, match=why):
        run(programs["allgather.ring"], machine=machine, protocol=protocol)


def test_the_terminal_tells_the_protocol_and_what_a_block_copies(capsys, programs, tmp_path):
    path = tmp_path / "it.xml"
    path.write_text(programs["allgather.ring"])
    assert main(["run", "--schedule", str(path), "--machine", "mi300x", "--size", "1MiB", "--set", "protocol=LL"]) == 0
    assert "(protocol=LL, block=1.57 GB/s) on mi300x" in capsys.readouterr().out


def test_a_file_without_a_protocol_is_told(capsys, tmp_path):
    path = tmp_path / "it.goal"
    path.write_text("num_ranks 2\n\nrank 0 {\nl1: send 8b to 1\n}\n\nrank 1 {\nl1: recv 8b from 0\n}\n")
    assert main(["run", "--schedule", str(path), "--machine", "mi300x", "--set", "protocol=file", "--json"]) == 2
    assert "names no protocol" in capsys.readouterr().err
