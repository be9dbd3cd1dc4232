"""The code of the browser, each part of it as one expression.

The package comes with what it was built with; a checkout puts the modules together when they are first asked for. This
module needs nothing but Python, as the package is built where nothing else is installed.
"""

import base64
import json
import zlib
from functools import cache
from pathlib import Path

from ui.player.views import VIEWS

ASSETS = Path(__file__).parents[2] / "assets"
BUILT = "built"
"""Where the package has what it was built with, below the assets."""
ENTRY = "all.js"
PLAYER = "whatif/page.js"
WITH_TALK, WITH_LESSONS, WITH_STORY = "talk/offline.js", "talk/lesson.js", "story/page.js"
"""The player on pages of their own: it leads through a talk, asks the questions of lessons, or tells the story."""
ON_PAGES = "talk/page.js"
"""The player as the dashboard has it, which can be told a story in and lead through a talk."""
NOTEBOOK = ("notebook/run.js", "notebook/map.js", "notebook/training.js")
WITHOUT_VIEWS = (
    *(f"page/{name}.js" for name in ("ahead", "buckets", "memory", "opened", "report", "seen")),
    *(f"frame/{name}.js" for name in ("drop", "settings", "theme")),
    *("share/share.js", "share/save.js", "explore/explore.js", "explore/slash.js", "answer/shows.js"),
    *("build/board.js", "draw/draw.js"),
)
"""Scripts that show no run."""
PARTS = (PLAYER, WITH_TALK, WITH_LESSONS, WITH_STORY, ON_PAGES, *NOTEBOOK, *WITHOUT_VIEWS)


@cache
def script(part: str = PLAYER) -> str:
    """Return an expression that gives a part's default export: of the player's, the function which mounts it."""
    built = ASSETS / BUILT / part
    return built.read_text(encoding="utf-8") if built.exists() else bundled(part)


def bundled(part: str) -> str:
    """Put a part together from its modules."""
    from package.bundle import bundle  # the checkout's; the package has no need of it

    def source(path: str) -> str:
        if path.endswith(".wasm"):
            return base64.b64encode(zlib.compress((ASSETS / path).read_bytes(), 9)).decode()
        return _entry(part) if path == ENTRY else (ASSETS / path).read_text(encoding="utf-8")

    return f"{bundle(part if part in WITHOUT_VIEWS else ENTRY, source)}.default"


def _entry(part: str) -> str:
    """A module with every view there is, under the name of its file."""
    imports = [f'import view{k} from "./views/{name}.js";' for k, name in enumerate(VIEWS)]
    registered = [f"register({json.dumps(name)}, view{k});" for k, name in enumerate(VIEWS)]
    heads = ['import { register } from "./player/registry.js";', f'export {{ default }} from "./{part}";']
    return "\n".join([*heads, *imports, *registered])
