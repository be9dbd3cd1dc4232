"""A machine drawn in Chromium from an empty page, with a mouse, keys and a finger: the one that a YAML text says."""

import pytest
from playwright.sync_api import expect

from ops.plan.packing import unpacked
from sim.formats import read_topology
from tests.browser.axe import broken
from tests.browser.test_build import PHONE, middle
from ui.draw.checks import machine_of_drawing
from ui.draw.document import read_drawing

pytestmark = pytest.mark.browser
BOARD = ".rd-root[data-judged=yes]"
LINK = "?page=draw&lang=en"
RATES = {
    "NVLink": ("300GBps", "0.35us"),
    "PCIe": ("24GBps", "250ns"),
    "Socket": ("16GBps", "105ns"),
    "Network": ("25GBps", "1us"),
}


def by_hand(hosts):
    """The same machine as somebody would write it."""
    lines = ["ringside: 1", "name: drawn machine", "devices:"]
    for h in range(hosts):
        lines += [f"  - {{name: H{h}.GPU{k}, kind: GPU, host: {h}, numa: {k // 4}}}" for k in range(8)]
        lines += [f"  - {{name: H{h}.NIC{k}, kind: NIC, host: {h}, numa: {k // 2}}}" for k in range(4)]
        lines += [f"  - {{name: H{h}.NVS0, kind: NVS, host: {h}}}"]
        lines += [f"  - {{name: H{h}.PCI{k}, kind: PCI, host: {h}, numa: {k // 2}}}" for k in range(4)]
        lines += [f"  - {{name: H{h}.CPU{k}, kind: CPU, host: {h}, numa: {k}}}" for k in range(2)]
    lines += ["  - {name: NET0, kind: NET, host: -1}", "links:"]
    joined = lambda a, b, name: "  - {{from: {}, to: {}, bandwidth: {}, latency: {}}}".format(a, b, *RATES[name])  # noqa: E731
    for h in range(hosts):
        lines += [joined(f"H{h}.NVS0", f"H{h}.GPU*", "NVLink"), joined(f"H{h}.CPU0", f"H{h}.CPU1", "Socket")]
        lines += [joined(f"H{h}.CPU{k // 2}", f"H{h}.PCI{k}", "PCIe") for k in range(4)]
        lines += [joined(f"H{h}.PCI{k // 2}", f"H{h}.GPU{k}", "PCIe") for k in range(8)]
        lines += [joined(f"H{h}.PCI{k}", f"H{h}.NIC{k}", "PCIe") for k in range(4)]
        lines += [joined(f"H{h}.NIC*", "NET0", "Network")]
    return read_topology("\n".join(lines), "by hand")


def cables(machine):
    """Links whatever their order and which end is named first."""
    return sorted(
        (*sorted((link.src, link.dst)), link.bandwidth, link.latency, link.kind, link.lanes)
        for link in machine.links
        if not link.both
    )


class Draughtsman:
    """Someone who draws a machine."""

    def __init__(self, one):
        self.one, self.page = one, one.page
        self.root = self.page.locator(".rd-root")

    def device(self, name):
        return self.page.locator(f'[data-name="{name}"]')

    def act(self, what, **data):
        also = "".join(f'[data-{key}="{value}"]' for key, value in data.items())
        self.page.locator(f'[data-act="{what}"]{also}').click()

    def add(self, kind, count=1):
        for _ in range(count):
            self.act("add", kind=kind)

    def join(self, source, *others):
        """Links by clicks from one device to others."""
        self.device(source).click()
        self.act("join")
        for other in others:
            self.device(other).click()
        self.page.keyboard.press("Escape")

    def fill(self, group, **rates):
        for field, text in rates.items():
            row = self.page.locator(f'[data-group]:has([data-field="group.name"][data-value="{group}"])')
            row.locator(f'[data-field="group.{field}"]').fill(text)
            self.page.keyboard.press("Tab")

    def drag(self, part, dx, dy):
        x, y = middle(part)
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        self.page.mouse.move(x + dx / 2, y + dy / 2)
        self.page.mouse.move(x + dx, y + dy)
        self.page.mouse.up()

    def judged(self, devices, links, problems):
        counts = f"[data-devices='{devices}'][data-links='{links}'][data-problems='{problems}']"
        self.page.locator(f"{BOARD}{counts}").wait_for()

    def all_the_way(self, act, keys):
        """Undo or redo with keys until nothing is left; returns how many steps that took."""
        for step in range(300):
            if self.page.locator(f'[data-act="{act}"]').is_disabled():
                return step
            self.page.keyboard.press(keys)
        raise AssertionError(act)

    def said(self):
        return self.page.locator(".rd-checks").inner_text()

    def drawing(self):
        """The drawing that the address has."""
        word = self.page.evaluate("new URLSearchParams(location.search).get('drawing')")
        return read_drawing(unpacked(word, {}, "drawing"))


def test_a_cluster_is_drawn_from_an_empty_page_and_is_the_machine_that_yaml_says(visit):
    one = visit(LINK, BOARD, viewport={"width": 1440, "height": 1000})
    me, page = Draughtsman(one), one.page
    expect(page.locator(".rd-start")).to_be_visible()
    me.act("host")
    for kind, count in (("CPU", 2), ("PCI", 4), ("NIC", 4), ("GPU", 8)):
        me.add(kind, count)
    me.judged(18, 0, 5)
    assert "nothing leads from GPU0 to GPU1 (GPUs pass nothing on)" in me.said()
    expect(me.device("GPU0")).to_have_class("rd-device rd-GPU rd-wrong")
    me.join("CPU0", "CPU1", "PCI0", "PCI1")
    me.join("CPU1", "PCI2", "PCI3")
    for k in range(4):
        me.join(f"PCI{k}", f"GPU{2 * k}", f"GPU{2 * k + 1}", f"NIC{k}")
    me.judged(18, 17, 2)
    assert "PCIe (CPU0 – PCI0): this link has no bandwidth" in me.said()
    assert "Socket (CPU0 – CPU1): this link has no bandwidth" in me.said()
    expect(page.locator(".st-key-draw_simulate button")).to_be_disabled()
    me.fill("PCIe", bandwidth="quick", latency="250ns")
    me.judged(18, 17, 2)
    assert "PCIe: bandwidth" in me.said()
    for group, (bandwidth, latency) in RATES.items():
        me.fill(group, bandwidth=bandwidth, latency=latency)
    me.judged(18, 17, 0)
    me.device("GPU7").focus()  # what is left is drawn with keys
    page.keyboard.press("v")
    page.keyboard.press("Enter")
    for k in range(8):
        me.device(f"GPU{k}").focus()
        page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    page.keyboard.press("s")
    me.judged(20, 25, 0)
    me.act("all", kind="NIC")
    me.judged(20, 29, 0)
    page.keyboard.press("Control+z")
    me.judged(20, 25, 0)
    page.keyboard.press("Control+y")
    me.judged(20, 29, 0)
    me.act("tidy")
    page.get_by_role("button", name="Host H0").click()
    page.locator('[data-field="copies"]').fill("3")
    me.act("copy")
    me.judged(77, 116, 0)
    drawn = me.drawing()
    machine, written = machine_of_drawing(drawn), by_hand(4)
    assert machine.devices == written.devices
    assert cables(machine) == cables(written)
    assert (machine.ranks, machine.name, machine.n) == (written.ranks, written.name, 32)
    me.all_the_way("undo", "Control+z")  # every step
    me.judged(0, 0, 0)
    me.all_the_way("redo", "Control+Shift+Z")
    me.judged(77, 116, 0)
    one.soon(lambda: _same(me.drawing(), drawn))
    one.settle()
    page.locator(".st-key-draw_simulate button").click()
    one.player.wait_for()
    one.where("capture=")


def _same(now, before):
    assert now == before


def test_things_are_moved_renamed_put_into_other_classes_and_removed(visit):
    one = visit(LINK, BOARD, viewport={"width": 1440, "height": 900})
    me, page = Draughtsman(one), one.page
    me.act("template", name="switched")
    me.judged(9, 8, 0)
    first = me.drawing()
    me.drag(me.device("GPU3"), 60, 120)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.locator('[data-field="name"]').fill("odd one")
    page.keyboard.press("Enter")
    expect(me.device("odd one")).to_be_visible()
    me.act("host")
    page.get_by_role("button", name="Host H1").wait_for()
    x, y = middle(page.locator('[data-key="frame2"]'))
    at = middle(me.device("odd one"))
    me.drag(me.device("odd one"), x - at[0], y - at[1])
    me.act("class", kind="NVL")
    lanes = page.locator('[data-group]:has([data-field="group.name"][data-value="NVLink 2"]) [type=number]')
    lanes.fill("7")
    page.set_viewport_size({"width": 1400, "height": 900})  # the board is drawn again
    one.painted()
    assert lanes.input_value() == "7", "what is typed stays"
    me.fill("NVLink 2", bandwidth="50GBps", latency="1us", lanes="2")
    page.get_by_role("button", name="NVS0 · NVLink").click()
    page.locator('[data-field="class"]').select_option(label="NVLink 2")
    me.device("GPU0").click()
    page.keyboard.press("Delete")
    me.judged(8, 7, 0)
    drawn = me.drawing()
    moved = next(device for device in drawn.devices if device.name == "H1.odd one")
    assert moved.host == 2
    (slow,) = [link for link in machine_of_drawing(drawn).links if link.src == "H1.odd one"]
    assert (slow.bandwidth, slow.latency, slow.lanes) == (50e9, 1e-6, 2)
    me.drag(page.get_by_role("button", name="Host H1"), 0, 60)
    me.device("NVS0").click()
    me.act("join")
    me.add("GPU")
    page.keyboard.press("Escape")
    me.judged(9, 7, 2)
    assert "nothing leads from GPU0 to GPU1" in me.said()
    page.locator(".rd-problem").first.click()
    assert page.locator('.rd-device[aria-pressed="true"]').count() == 1
    me.all_the_way("undo", "Control+z")
    me.judged(0, 0, 0)
    page.keyboard.press("Control+y")
    me.judged(9, 8, 0)
    one.soon(lambda: _same(me.drawing(), first))
    assert broken(page) == []
    one.open(f"{LINK}&drawing=damaged", BOARD)
    assert page.get_by_role("alert").count() == 1


def test_a_finger_draws_in_chinese_on_a_telephone(visit):
    one = visit("?page=draw&lang=zh", BOARD, viewport=PHONE, has_touch=True, color_scheme="dark")
    one.language = "zh"
    me, page = Draughtsman(one), one.page
    for act in ("host", "GPU", "GPU", "NVS"):
        page.locator(f'[data-act="{act}"], [data-act="add"][data-kind="{act}"]').first.tap()
    me.judged(3, 0, 1)
    assert "GPU0" in me.said()
    assert "GPU1" in me.said()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    boxes = [part.bounding_box() for part in page.locator(".rd-device, .rd-head, .rd-button:visible").all()]
    assert all(min(box["width"], box["height"]) >= 24 for box in boxes)
    me.device("NVS0").tap()
    page.locator('[data-act="join"]').tap()
    me.device("GPU0").tap()
    me.device("GPU1").tap()
    me.judged(3, 2, 1)
    me.fill("NVLink", bandwidth="100GBps", latency="1us")
    me.judged(3, 2, 0)
    assert one.told("draw.ready", gpus=2, devices=3, links=2) in me.said()
    page.locator('[data-act="join"]').tap()
    before = next(device for device in me.drawing().devices if device.name == "GPU1")
    session = page.context.new_cdp_session(page)
    me.device("GPU1").scroll_into_view_if_needed()
    x, y = middle(me.device("GPU1"))
    for kind, a, b in (("touchStart", x, y), ("touchMove", x + 20, y), ("touchMove", x + 60, y + 24)):
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": a, "y": b}]})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    session.detach()
    one.soon(lambda: _moved(me.drawing(), before))
    one.settle()
    page.locator('[data-act="undo"]').click()  # under load a tap may last too long to count
    one.soon(lambda: _same(next(d for d in me.drawing().devices if d.name == "GPU1"), before))
    assert broken(page) == []


def _moved(drawing, before):
    after = next(device for device in drawing.devices if device.name == before.name)
    assert (after.x, after.y) != (before.x, before.y)
