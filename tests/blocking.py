"""A reader that blocks on purpose, for tests of what holds while one does, and the dashboard with it as a script."""

import re

HOSTILE = "this text blocks its reader\n"
ENDLESS = re.compile("(a+)+b")
"""A pattern that never ends on a run of its letters, and lets no other thread of its process go on."""


def block(text, name=""):
    """Reads for ever what is hostile; says of anything else that it is a table of nvidia-smi."""
    if HOSTILE in text:
        ENDLESS.match("a" * 64)
    return "nvidia_smi"


if __name__ == "__main__":
    from ui.front import main

    main()
elif __name__ != "__mp_main__" and not __name__.startswith("tests."):
    from streamlit import App

    from tests.blocking import block as named  # so that workers find it
    from ui.server.application import around
    from ui.workers import reading

    reading.machine_format = named
    app = App(__file__, **around())
