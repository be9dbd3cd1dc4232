"""One file per tool that measures; `@reader` puts what it writes on the only list.

A reader is a function from a text to the tables in it. `sim.base.formats` has what readers share.
"""

from ops.measured.rows import Table
from sim.base.formats import Formats, Words
from sim.units import MiB

LARGEST_TEXT = 16 * MiB
"""A thousand times what a sweep of nccl-tests prints."""

WORDS = Words(
    "measurement",
    "measurements",
    "a file with measurements",
    "give the tables alone",
    "output of nccl-tests or other measurement",
)
OTHER_THINGS = (
    (
        r"directional P2P=(Enabled|Disabled) Bandwidth|memcpy (CE|SM) GPU\(row\)",
        "instead.rates_measured",
    ),
)
MEASUREMENTS: Formats[list[Table]] = Formats(__name__, WORDS, largest=LARGEST_TEXT, other_things=OTHER_THINGS)

reader = MEASUREMENTS.reader
