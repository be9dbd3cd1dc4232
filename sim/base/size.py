"""The most devices a machine may have: how far memory and time of whatever builds or reads one are bounded.

A machine at the usual maximum is there within a second or two. `--max-devices` of the terminal, or this setting of a
server's environment, allows more.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from sim.base.numbers import whole
from sim.errors import InputError, Message

SETTING = "RINGSIDE_MAX_DEVICES"
USUAL = 1 << 15
LARGEST = 1 << 22
"""Beyond it indices of links would no longer fit the arrays they are in."""
LINKS = 8
"""Links that a machine may have per device it may have."""


def max_devices() -> int:
    """The maximum that holds now. Raises InputError where the environment's is no number."""
    return number_of_devices(os.environ.get(SETTING) or str(USUAL), SETTING)


def number_of_devices(text: str, owner: str) -> int:
    """A maximum that a person sets. Raises InputError naming the owner where it is no number."""
    most = whole(text)
    if most is None or not 1 <= most <= LARGEST:
        raise InputError("size.no_number", owner=owner, text=text, most=LARGEST, usual=USUAL)
    return most


def room_for(devices: int, owner: object = Message("the machine"), links: int = 0) -> None:
    """Raise InputError where a machine with so many devices and links is larger than what is allowed."""
    most = max_devices()
    for count, limit, needed in ((devices, most, devices), (links, LINKS * most, -(-links // LINKS))):
        if count > limit:
            raise InputError(
                "size.devices" if limit == most else "size.links",
                owner=owner,
                count=count,
                most=limit,
                allow=Message("size.allow", needed=needed, setting=SETTING) if needed <= LARGEST else "",
            )


@contextmanager
def allowing(devices: int | None) -> Iterator[None]:
    """Until the block ends machines may have so many devices, here and in processes that are started."""
    before = os.environ.get(SETTING)
    if devices is not None:
        os.environ[SETTING] = str(devices)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(SETTING, None)
        else:
            os.environ[SETTING] = before
