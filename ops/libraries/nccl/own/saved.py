"""A calibration as one word of a plan, from the file that `calibrate -o` wrote."""

import json

from ops.libraries.nccl.own.numbers import own_numbers
from sim.base.files.textfile import Expected
from sim.errors import InputError

VERSION = "calibration-1"
EXPECTED = Expected("a calibration", largest=1_000_000)


def word_in(text: str, name: str) -> str:
    """The numbers of a file as one word of a plan. Raises InputError for a file that tells none."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = None
    if not isinstance(whole, dict) or whole.get("ringside") != VERSION or not isinstance(whole.get("calibration"), str):
        raise InputError("calibration.file", name=name)
    try:
        return str(own_numbers(whole["calibration"]))
    except InputError as error:
        raise InputError("calibration.in_file", name=name, why=error) from None
