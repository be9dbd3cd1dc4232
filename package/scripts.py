"""`python -m package.scripts ASSETS`: write the browser's code into a folder of assets, each part of it as one file."""

import sys
from pathlib import Path

from ui.player.scripts import BUILT, PARTS, bundled


def write_scripts(assets: Path) -> None:
    """Write every part of the code below a folder of assets."""
    for part in PARTS:
        target = assets / BUILT / part
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(bundled(part), encoding="utf-8")


if __name__ == "__main__":
    write_scripts(Path(sys.argv[1]))
