"""A reader that blocks on purpose, for tests of what holds while one does; workers find it by its name."""

import re

HOSTILE = "this text blocks its reader\n"
ENDLESS = re.compile("(a+)+b")
"""A pattern that never ends on a run of its letters, and lets no other thread of its process go on."""


def block(text, name=""):
    """Reads for ever what is hostile; says of anything else that it is a table of nvidia-smi."""
    if HOSTILE in text:
        ENDLESS.match("a" * 64)
    return "nvidia_smi"
