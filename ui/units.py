"""Numbers as pages show them."""

from sim import units


def fmt_time(seconds: float) -> str:
    """Four digits and a unit, as the player writes them.

    >>> fmt_time(2e-6), fmt_time(0.075189927)
    ('2 µs', '75.19 ms')
    """
    return units.fmt_time(seconds).replace(" us", " µs")
