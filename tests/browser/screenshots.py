"""Every scene worth looking at, at two widths and in both themes, as pictures.

Run `python -m tests.browser.screenshots`; they land in `tests/browser/screenshots/`.
"""

from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser.conftest import FLAGS, Visit, chromium_path, serve

FOLDER = Path(__file__).parent / "screenshots"
SCENES = {
    "dgx_a100-ring": "?t=0.00021",
    "dgx1v-alltoall": "?machine=dgx1v&algorithm=alltoall.linear&t=0.0005",
    "switch-doubling": "?machine=switch:ranks=16&algorithm=allreduce.recursive_doubling&t=0.002",
    "nodes-ring": "?machine=nodes:nodes=4,gpus=8&t=0.0015",
    "capture-h100": "?capture=example-hgx-h100&algorithm=broadcast.binomial&t=0.0004",
    "switch-64": "?machine=switch:ranks=64&t=0.002",
    "pcie-gather": "?machine=dual_socket_pcie&algorithm=gather.binomial&t=0.001",
}


def main() -> None:
    """Take them all."""
    FOLDER.mkdir(exist_ok=True)
    address, server = serve()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
            for width, height in ((1440, 1100), (390, 1700)):
                for scheme in ("light", "dark"):
                    for name, query in SCENES.items():
                        size = {"width": width, "height": height}
                        visit = Visit(browser, address, viewport=size, color_scheme=scheme).open(query)
                        visit.page.wait_for_timeout(600)
                        visit.page.screenshot(path=FOLDER / f"{name}-{width}-{scheme}.png")
                        visit.context.close()
            browser.close()
    finally:
        server.terminate()


if __name__ == "__main__":
    main()
