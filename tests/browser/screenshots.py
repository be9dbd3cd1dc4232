"""Every view, page, language and theme as pictures, at the width of a desk and of a phone.

Run `python -m tests.browser.screenshots [PART OF A NAME]`; they land in `tests/browser/screenshots/`.
"""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser.visit import FLAGS, Visit, chromium_path, serve
from ui.player.views import VIEWS
from ui.text import languages

FOLDER = Path(__file__).parent / "screenshots"
PLANS = {
    **{f"ring-{view}": f"?t=0.00021&view={view}" for view in VIEWS},
    "dgx1v-alltoall": "?machine=dgx1v&algorithm=alltoall.linear&t=0.0005",
    "doubling-shape": "?machine=switch:ranks=16&algorithm=allreduce.recursive_doubling&t=0.002&view=shape",
    "tree-shape": "?machine=switch:ranks=16&algorithm=broadcast.binomial&t=0.003&view=shape",
    "nodes-ring": "?machine=nodes:nodes=4,gpus=8&t=0.0015",
    "capture-h100": "?capture=example-hgx-h100&algorithm=broadcast.binomial&t=0.0004",
    "switch-64-matrix": "?machine=switch:ranks=64&t=0.002&view=matrix",
    "pcie-gather": "?machine=dual_socket_pcie&algorithm=gather.binomial&t=0.001",
    "torus": "?machine=torus&t=0.001",
    "fat-tree": "?machine=fat_tree&algorithm=allreduce.recursive_doubling&t=0.004",
    "thousand": "?machine=switch:ranks=1024&t=0.002",
    "compare": "?t=0.00021&against=algorithm=allreduce.double_binary_tree|machine=dgx1v",
    "fork": "?t=0.0003&fault=slow_link:src=GPU0,dst=NVS0,start=210us&against=fault=",
    "embed": "?t=0.00021&embed=true&view=matrix",
    "train": "?page=train",
    "lab": "?page=lab",
    "learn": "?page=learn&lesson=ring&step=2",
    "measured": "?page=measured",
}
SIZES = ((1440, 1200), (390, 1700))
SETTLED = 2500
"""Milliseconds after which nothing moves any more."""


def main(part: str = "") -> None:
    """Take all whose name has the part in it."""
    FOLDER.mkdir(exist_ok=True)
    address, server = serve()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
            for name, query in PLANS.items():
                for width, height in SIZES:
                    for scheme in ("light", "dark"):
                        for language in languages():
                            file = f"{name}-{width}-{scheme}-{language}.png"
                            if part not in file:
                                continue
                            size = {"width": width, "height": height}
                            visit = Visit(browser, address, viewport=size, color_scheme=scheme)
                            visit.open(
                                f"{query}&lang={language}",
                                awaited='[data-testid="stMain"] :is(h1, h3), [data-ringside]',
                            )
                            visit.page.wait_for_timeout(SETTLED)
                            visit.page.screenshot(path=FOLDER / file)
                            visit.context.close()
            browser.close()
    finally:
        server.terminate()


if __name__ == "__main__":
    main(*sys.argv[1:2])
