"""`python -m tests.notebook`: the player in JupyterLab and in marimo, each in Chromium; their names choose one."""

import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from tests.browser.conftest import FLAGS, chromium_path
from tests.notebook import jupyter, marimo_app

HOSTS = {"jupyterlab": jupyter.walk, "marimo": marimo_app.walk}
NEEDED = "python -m pip install -r tests/notebook/requirements.txt"


def main(names):
    """0 where all of them showed the player, 1 where one did not, 2 where one is not there."""
    unknown = [name for name in names if name not in HOSTS]
    lacking = [name for name in names or HOSTS if name in HOSTS and find_spec(name) is None]
    if unknown or lacking or chromium_path() is None:
        what = f"no notebook is called {unknown[0]!r}: choose from {', '.join(HOSTS)}" if unknown else ""
        what = what or (f"{', '.join(lacking)} is missing: {NEEDED}" if lacking else "no Chromium is here: install it")
        print(f"tests.notebook: {what}", file=sys.stderr)
        return 2
    from playwright.sync_api import Error, sync_playwright

    failed = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        for name in names or HOSTS:
            begun = time.perf_counter()
            folder = Path(tempfile.mkdtemp(prefix=f"ringside-{name}-"))
            with (folder / "server.log").open("w", encoding="utf-8") as log:
                try:
                    HOSTS[name](browser, folder, log)
                    verdict = "ok"
                except (AssertionError, RuntimeError, Error) as error:
                    verdict, failed = f"FAILED, its log is {folder}/server.log: {error}", 1
            print(f"{name}: {verdict} ({time.perf_counter() - begun:.0f} s)")
        browser.close()
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
