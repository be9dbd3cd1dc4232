"""Hosts on the page: which of their GPUs take part, and what joins them."""

from tests.ui.test_page import page
from ui.text import catalogue


def test_ranks_are_seated_by_a_list_or_a_launchers_file_and_stay_on_this_machine_alone():
    at = page(machine="dgx_a100:hosts=2", size="1MiB", placement="0:0-1,1:4")
    assert not at.error, [e.value for e in at.error]
    (box,) = [area for area in at.text_area if area.label == catalogue("en")["page.placement.which"]]
    assert box.value == "0:0-1,1:4"
    box.set_value("rank 0=a slot=7\nrank 1=b slot=7\nrank 2=b slot=1").run()
    assert not at.error, [e.value for e in at.error]
    assert at.query_params["placement"] in ("0:7,1:7,1:1", ["0:7,1:7,1:1"])
    (box,) = [area for area in at.text_area if area.label == catalogue("en")["page.placement.which"]]
    box.set_value("per_host=12").run()
    assert "per_host=12, where dgx_a100:hosts=2 has 8 GPUs on a host" in at.error[0].value
    next(choice for choice in at.selectbox if choice.label == catalogue("en")["page.machine"]).select("switch").run()
    assert not at.error, [e.value for e in at.error]
    assert "placement" not in at.query_params


def test_the_network_between_hosts_is_chosen_where_there_is_one():
    at = page(machine="nodes:nodes=2,gpus=2", size="1MiB", network="infiniband_hdr", against="network=ethernet_10g")
    assert not at.error, [e.value for e in at.error]
    assert "(nodes=2, gpus=2, infiniband_hdr)" in at.title[0].value
    chosen = next(box for box in at.selectbox if box.label == catalogue("en")["page.network"])
    chosen.select("ethernet_100g").run()
    assert at.query_params["network"] == "ethernet_100g"
    assert "ethernet_100g" in at.title[0].value
    assert at.query_params["against"] == "network=ethernet_10g"


def test_a_calibration_is_pasted_and_stays_with_more_hosts_of_the_machine_alone():
    at = page(algorithm="nccl.allreduce", machine="dgx_a100:hosts=2", size="1KiB", calibration="hop_40us,hosts_2")
    label = catalogue("en")["page.calibration.numbers"]
    (box,) = [area for area in at.text_area if area.label == label]
    assert box.value == "hop_40us,hosts_2"
    box.set_value('{"ringside": "calibration-1", "calibration": "share_0.5,hosts_2"}').run()
    assert not at.error, [e.value for e in at.error]
    assert at.query_params["calibration"] in ("share_0.5,hosts_2", ["share_0.5,hosts_2"])
    (box,) = [area for area in at.text_area if area.label == label]
    box.set_value("share_2").run()
    assert "share_2 is not from 0.05 to 1" in at.error[0].value
    next(choice for choice in at.selectbox if choice.label == catalogue("en")["page.machine"]).select("switch").run()
    assert not at.error, [e.value for e in at.error]
    assert "calibration" not in at.query_params


def test_a_machine_without_a_network_offers_none():
    at = page(machine="dgx_a100", size="1MiB")
    box = next(box for box in at.selectbox if box.label == catalogue("en")["page.network"])
    assert box.disabled
    assert box.options == [catalogue("en")["page.network.none"]]
