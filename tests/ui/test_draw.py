"""A machine that is drawn, without a browser: its YAML, what is said of it, and documents that are damaged."""

import copy
import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ops.plan.packing import packed
from sim.errors import InputError
from sim.formats import read_topology
from tests.tables import each_row
from tests.ui.visited import script_of, state_of
from ui.draw.checks import check_drawing, machine_of_drawing
from ui.draw.document import LARGEST, MOST, YamlText, in_order, numa_nodes, read_drawing
from ui.draw.state import empty
from ui.simulate.state import SimulateState
from ui.text import languages, say, speaking, worded

APP = str(Path(__file__).parents[2] / "app.py")
RATES = {"NVL": ("300GBps", "0.5us"), "PCI": ("24GBps", "250ns"), "SYS": ("16GBps", "105ns"), "NET": ("25GBps", "1us")}


def document(devices="", links="", hosts="", **changes):
    """A drawing in short: `GPU0@1` is GPU0 in host 1, `1-2:1` a link of class 1 from device 1 to device 2."""
    drawn = json.loads(empty("en"))
    for group in drawn["classes"]:
        group["bandwidth"], group["latency"] = RATES[group["kind"]]
    drawn["hosts"] = [{"id": k, "name": name, "x": 0, "y": 0} for k, name in enumerate(hosts.split(), 1)]
    for k, word in enumerate(devices.split(), 1):
        name, _, host = word.partition("@")
        kind = name.rpartition(".")[2][:3]
        place = {"host": int(host or 0), "x": 84 * k, "y": 12.5}
        drawn["devices"].append({"id": k, "kind": kind, "name": name, **place})
    for k, word in enumerate(links.split(), 1):
        ends, _, group = word.partition(":")
        src, dst = map(int, ends.split("-"))
        drawn["links"].append({"id": k, "from": src, "to": dst, "class": int(group)})
    return drawn | changes


def sentences(drawn, language="en"):
    with speaking(language):
        return [worded(problem.sentence) for problem in check_drawing(json.dumps(drawn)).problems]


SOCKETS = document(
    "GPU1@1 GPU0@1 PCI0@1 CPU0@1 CPU1@1 PCI1@1 GPU2@1 NVS0@1 GPU10@1 NET0 NIC0@1",
    "4-5:3 4-3:2 5-6:2 3-1:2 3-2:2 6-7:2 6-9:2 8-1:1 8-2:1 8-7:1 3-11:2 11-10:4",
    "H0",
    name="two sockets",
)


def test_a_drawing_is_the_machine_that_its_yaml_describes():
    drawing = read_drawing(json.dumps(SOCKETS))
    text = YamlText(drawing).text
    machine = machine_of_drawing(drawing)
    by_hand = read_topology(text, "by hand")
    assert (machine.devices, machine.links, machine.ranks) == (by_hand.devices, by_hand.links, by_hand.ranks)
    assert machine.name == "two sockets"
    assert [machine.devices[i].name for i in machine.ranks] == ["GPU0", "GPU1", "GPU2", "GPU10"]
    assert "  - {name: GPU2, kind: GPU, numa: 1}\n" in text
    assert "  - {name: NET0, kind: NET, host: -1}\n" in text
    assert "  - {from: CPU0, to: CPU1, bandwidth: 16GBps, latency: 105ns, kind: SYS}\n" in text
    assert check_drawing(json.dumps(SOCKETS))[1:] == ((), 4, 11, 12)


def test_devices_are_in_the_order_of_hosts_kinds_and_names_with_the_socket_that_pcie_leads_to():
    drawing = read_drawing(json.dumps(document("NET0 CPU0@2 GPU0@2 GPU9@1 GPU10@1 CPU1@1", "2-3:2 6-4:2", "A B")))
    assert [device.name for device in in_order(drawing)] == ["GPU9", "GPU10", "CPU1", "GPU0", "CPU0", "NET0"]
    assert numa_nodes(drawing) == {2: 0, 3: 0, 6: 0, 4: 0}


def test_a_drawing_without_hosts_is_one_host():
    drawing = read_drawing(json.dumps(document("GPU0 GPU1 NVS0 NET0", "1-3:1 2-3:1")))
    assert [device.host for device in machine_of_drawing(drawing).devices] == [0, 0, 0, -1]


def rated(number, **rates):
    drawn = document("GPU0 GPU1 NVS0", "1-3:1 2-3:1")
    drawn["classes"][number].update(rates)
    return drawn


@each_row(
    "drawn, said, devices",
    [
        (document("GPU0 GPU1 NVS0", "1-3:1"), ["drawn machine: nothing leads from GPU0 to GPU1"], (1, 2)),
        (document("GPU0 GPU1 GPU2 GPU3 GPU4 GPU5"), ["GPU0 to GPU1", "1 to", "2 to", "3 to", "11 more pairs"], (1, 2)),
        (document("GPU0 GPU1 GPU2", "1-2:1 2-3:1"), ["from GPU0 to GPU2 (GPUs pass nothing on)"], (1, 3)),
        (document("GPU0 GPU0"), ["GPU0: two devices are called GPU0: give each its own name"], (2,)),
        (document("NIC0@1 NET0", "1-2:4", "H0"), ["no device is a GPU"], ()),
        (document("GPU0@1 GPU1", "1-2:1", "H0"), ["GPU1 is outside all hosts: move it into a host"], (2,)),
        (rated(0, bandwidth=""), ["NVLink (GPU0 – NVS0): this link has no bandwidth"], (1, 3)),
        (rated(0, latency=""), ["NVLink (GPU0 – NVS0): this link has no latency"], (1, 3)),
        (rated(0, latency="", name="fast"), ["fast (GPU0 – NVS0): this link has no latency"], (1, 3)),
        (rated(0, bandwidth="quick"), ["NVLink: bandwidth"], ()),
        (rated(0, latency="-1us"), ["NVLink: latency"], ()),
        (rated(1, bandwidth="quick"), [], ()),
    ],
)
def test_what_is_wrong_names_devices_and_classes_in_both_languages(drawn, said, devices):
    english = sentences(drawn)
    assert len(english) == len(said)
    assert all(part in sentence for part, sentence in zip(said, english, strict=True)), english
    assert len(sentences(drawn, "zh")) == len(said)
    problems = check_drawing(json.dumps(drawn)).problems
    assert (problems[0].devices if problems else ()) == devices


def broken(path, value):
    drawn = copy.deepcopy(SOCKETS)
    *steps, last = path
    part = drawn
    for step in steps:
        part = part[step]
    part[last] = value
    return json.dumps(drawn)


@each_row(
    "text, key",
    [
        ("", "draw.damaged"),
        ("[" * 100_000, "draw.damaged"),
        ("[]", "draw.wrong"),
        ("{}", "draw.keys"),
        (" " * (LARGEST + 1), "draw.too_large"),
        (broken(["more"], 1), "draw.keys"),
        (broken(["name"], "x" * 61), "draw.text"),
        (broken(["name"], "a\nb"), "draw.text"),
        (broken(["hosts"], "x"), "draw.wrong"),
        (
            broken(["hosts"], [{"id": k, "name": "H", "x": 0, "y": 0} for k in range(1, MOST["hosts"] + 2)]),
            "draw.too_many",
        ),
        (broken(["hosts", 0, "x"], 1e400), "draw.wrong"),
        (broken(["hosts", 0, "x"], 10**400), "draw.wrong"),
        (broken(["devices", 0], 7), "draw.wrong"),
        (broken(["devices", 0, "x"], True), "draw.wrong"),
        (broken(["devices", 0, "y"], None), "draw.wrong"),
        (broken(["devices", 0, "kind"], "DOG"), "draw.choice"),
        (broken(["devices", 0, "kind"], ["GPU"]), "draw.choice"),
        (broken(["devices", 0, "name"], 3), "draw.text"),
        (broken(["devices", 0, "id"], 0), "draw.wrong"),
        (broken(["devices", 0, "id"], 2), "draw.twice"),
        (broken(["devices", 0, "host"], 5), "draw.no_part"),
        (broken(["links", 0, "to"], 99), "draw.no_part"),
        (broken(["links", 0, "class"], 99), "draw.no_part"),
        (broken(["links", 0, "from"], 1.5), "draw.wrong"),
        (broken(["classes", 0, "lanes"], 0), "draw.wrong"),
        (broken(["classes", 0, "bandwidth"], {}), "draw.text"),
    ],
)
def test_what_is_no_drawing_is_an_input_error_in_one_sentence(text, key):
    with pytest.raises(InputError) as caught:
        check_drawing(text)
    assert caught.value.message.text == key
    assert 10 < len(str(caught.value)) < 300


def opened(**words):
    at = AppTest.from_file(APP, default_timeout=180)
    for name, word in {"page": "draw", **words}.items():
        at.query_params[name] = word
    at.run()
    assert not at.exception
    return at


@pytest.mark.parametrize("language", languages())
def test_a_link_opens_its_drawing_which_is_simulated_like_any_machine(language):
    at = opened(drawing=packed(json.dumps(SOCKETS), {}), lang=language)
    data = json.loads(script_of(at, "draw").json)
    assert (data["document"], data["problems"]) == (SOCKETS, [])
    assert data["summary"] == say("draw.ready", language, gpus=4, devices=11, links=12)
    at.button(key="draw_simulate").click().run()
    assert not at.exception
    assert at.query_params.get("page") is None
    assert state_of(at, SimulateState).plan.topology().n == 4


def test_a_damaged_link_is_one_sentence_and_an_empty_page():
    for word in ("nonsense", packed("{}", {}), packed("[", {})):
        at = opened(drawing=word, lang="en")
        assert len(at.error) == 1
        assert json.loads(script_of(at, "draw").json)["document"] == json.loads(empty("en"))
        assert at.button(key="draw_simulate").disabled
