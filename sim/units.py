"""SI inside: bytes, seconds, bytes per second. Units multiply on the way in, `fmt_*` on the way out.

GB is 10^9 bytes and GiB is 2^30, never mixed; `Gbps` counts bits. What is shown has a space and signs, `1.5 µs` and
`25 GB/s`; what is typed, and stands in links and files, has neither, `1.5us` and `25GBps`. Both are read.

>>> parse_size("64MiB"), parse_bandwidth("200Gbps"), parse_time("1.5us")
(67108864, 25000000000.0, 1.5e-06)
"""

import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Annotated, NamedTuple

from sim.base.numbers import with_unit
from sim.errors import InputError, Message, expect_kind

WHOLE = 2.0**53
KB, MB, GB, TB = 1e3, 1e6, 1e9, 1e12
KiB, MiB, GiB, TiB = 2**10, 2**20, 2**30, 2**40
KBps, MBps, GBps, TBps = 1e3, 1e6, 1e9, 1e12
Gbps = 1e9 / 8
s, ms, us, ns = 1.0, 1e-3, 1e-6, 1e-9

LARGEST_SIZE = 2**50
"""1 PiB: beyond it float64 seconds no longer resolve a nanosecond at memory speed."""
LARGEST_BANDWIDTH = 1e18
"""1 EB/s. With the bounds of size and time it keeps every result far from overflow."""
LARGEST_TIME = 1e6
"""Eleven days."""


class Unit(NamedTuple):
    """What a number typed by a person measures; read by the command line and the widgets alike."""

    name: str
    example: str


Bandwidth = Annotated[float, Unit("bandwidth", "25GBps")]
"""Bytes per second."""
Time = Annotated[float, Unit("time", "1.5us")]
"""Seconds."""
Size = Annotated[int, Unit("size", "64MiB")]
"""Bytes."""

_SCALES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15}
_BINARY = {"ki": 2.0**10, "mi": 2.0**20, "gi": 2.0**30, "ti": 2.0**40, "pi": 2.0**50}
_TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9, "ps": 1e-12}


def _split(text: str, what: str | Message, example: str) -> tuple[Decimal, str]:
    expect_kind(text, str, str(what), f"write it as a text, like '{example}'")
    parts = with_unit(text)
    if parts is None:
        raise InputError("unit.no_number", what=what, text=text, example=example)
    if not parts[0].is_finite():
        raise InputError("unit.not_finite", what=what, text=text, example=example)
    return parts


def parse_size(text: str, what: str | Message = "size", least: int = 1) -> int:
    """Bytes from `64MiB`, `1GB` or `8192`; InputError when it is not a whole number of bytes >= `least`.

    >>> parse_size("0B", "block", least=0), parse_size("1KiB")
    (0, 1024)
    """
    value, unit = _split(text, what, "64MiB")
    prefix = unit.removesuffix("B").removesuffix("b").lower()
    scale = _BINARY.get(prefix) or _SCALES.get(prefix)
    if scale is None or unit.endswith("b"):
        raise InputError("unit.size", what=what, text=text, unit=unit)
    size = value * Decimal(scale)  # exact: in binary 1.001 x 1000 is no whole number
    if size < least or size != size.to_integral_value():
        raise InputError("unit.size_whole", what=what, text=text, least=least)
    if size > LARGEST_SIZE:
        raise InputError("unit.size_large", what=what, text=text)
    return int(size)


def parse_bandwidth(text: str, what: str | Message = "bandwidth") -> float:
    """Read a bandwidth.

    Parameters
    ----------
    text : str
        A number with a unit, like `25GBps`, `25GB/s` or `200Gbps`, or a bare number of bytes per second.
    what : str or Message
        Its name in error messages.

    Returns
    -------
    float
        Bytes per second.

    Raises
    ------
    InputError
        If the text is not a bandwidth from 1 B/s to 1 EB/s.

    Examples
    --------
    >>> parse_bandwidth("200Gbps")
    25000000000.0
    """
    value, unit = _split(text, what, "25GBps")
    base = unit.removesuffix("ps").removesuffix("/s")
    bits = base.endswith(("b", "bit"))
    prefix = base.removesuffix("bit").removesuffix("b").removesuffix("B").lower()
    scale = _BINARY.get(prefix) or _SCALES.get(prefix)
    if scale is None or (unit and base == unit):
        raise InputError("unit.bandwidth", what=what, text=text, unit=unit)
    rate = float(value) * scale / (8 if bits else 1)
    if rate <= 0:
        raise InputError("unit.bandwidth_positive", what=what, text=text)
    if not 1 <= rate <= LARGEST_BANDWIDTH:
        raise InputError("unit.bandwidth_range", what=what, text=text)
    return rate


def parse_time(text: str, what: str | Message = "time") -> float:
    """Seconds from `1.5us`, `2ms` or a bare number of seconds; InputError unless 0 to 10^6."""
    value, unit = _split(text, what, "1.5us")
    scale = _TIMES.get(unit or "s")
    if scale is None:
        raise InputError("unit.time", what=what, text=text, unit=unit)
    if value < 0:
        raise InputError("unit.time_negative", what=what, text=text)
    seconds = float(value) * scale
    if seconds > LARGEST_TIME:
        raise InputError("unit.time_large", what=what, text=text)
    return seconds


def _fmt(value: float, steps: tuple[tuple[float, str], ...]) -> str:
    for scale, unit in steps:
        if abs(value) >= scale:
            return f"{value / scale:.4g} {unit}"
    scale, unit = steps[-1]
    return f"{value / scale:.4g} {unit}"


_TIME_STEPS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def fmt_time(seconds: float) -> str:
    """Format a time with four digits and a unit.

    Parameters
    ----------
    seconds : float
        The time, s.

    Returns
    -------
    str
        The words.

    Examples
    --------
    >>> fmt_time(0.075189927), fmt_time(2e-6), fmt_time(0)
    ('75.19 ms', '2 µs', '0 ns')
    """
    return _fmt(seconds, _TIME_STEPS)


def fmt_object(kind: str, words: str, most: int = 190) -> str:
    """One line for an object: its kind and what it is, cut where that is long.

    >>> fmt_object("Run", "ring: 8 ranks"), fmt_object("Run", "a very long name", 12)
    ('<Run ring: 8 ranks>', '<Run a very …>')
    """
    line = " ".join(f"{kind} {words}".split())
    return f"<{line}>" if len(line) <= most else f"<{line[: most - 1]}…>"


class TimeScale(NamedTuple):
    """One unit and one last digit for a time and all it is made of, so that what is shown adds up.

    >>> scale = TimeScale.of(499.1e-6)
    >>> counts = scale.counts([28.04e-6, 471.06e-6])
    >>> [scale.text(count) for count in [*counts, sum(counts)]]
    ['28.0 µs', '471.1 µs', '499.1 µs']
    """

    scale: float
    unit: str
    decimals: int

    @classmethod
    def of(cls, seconds: float) -> "TimeScale":
        """The unit and the digits of `fmt_time`."""
        scale, unit = next((step for step in _TIME_STEPS if abs(seconds) >= step[0]), _TIME_STEPS[-1])
        before = math.floor(math.log10(abs(seconds) / scale)) + 1 if seconds else 1
        return cls(scale, unit, max(0, 4 - before))

    def counts(self, parts: Sequence[float]) -> list[int]:
        """Parts (s) in whole last digits: each is rounded up or down, so that together they are their rounded sum."""
        exact = [part / self.scale * 10**self.decimals for part in parts]
        counts = [math.floor(count) for count in exact]
        missing = round(math.fsum(exact)) - sum(counts)
        for k in sorted(range(len(parts)), key=lambda k: counts[k] - exact[k])[:missing]:
            counts[k] += 1
        return counts

    def text(self, count: int) -> str:
        """So many last digits in words."""
        return f"{count / 10**self.decimals:.{self.decimals}f} {self.unit}"


_BINARY_STEPS = ((TiB, "TiB"), (GiB, "GiB"), (MiB, "MiB"), (KiB, "KiB"))


def fmt_size(size: float) -> str:
    """Format a size in binary units if the number is whole, in decimal units otherwise.

    Parameters
    ----------
    size : float
        The size, bytes.

    Returns
    -------
    str
        The words.

    Examples
    --------
    >>> fmt_size(67108864), fmt_size(1e9), fmt_size(700)
    ('64 MiB', '1 GB', '700 B')
    """
    scale, unit = next((step for step in _BINARY_STEPS if size >= step[0]), (1, "B"))
    if (size / scale * 4).is_integer():
        return f"{size / scale:g} {unit}"
    return _fmt(size, ((TB, "TB"), (GB, "GB"), (MB, "MB"), (KB, "KB"), (1.0, "B")))


def exact_size(size: int) -> str:
    """What `fmt_size` says, as it is typed; plain bytes where `parse_size` would not read exactly this from that.

    >>> exact_size(64 << 20), exact_size(12345), exact_size(100_000)
    ('64MiB', '12345', '100KB')
    """
    text = fmt_size(size).replace(" ", "")
    return text if parse_size(text) == size else str(size)


def fmt_share(share: float, digits: int = 0, *, sign: bool = False) -> str:
    """Percent, as English and Chinese both write them, with so many digits behind the point.

    Halves are rounded away from zero, as the player does.

    >>> fmt_share(1), fmt_share(0.0325, 1), fmt_share(0.125), fmt_share(0.5, sign=True)
    ('100%', '3.3%', '13%', '+50%')
    """
    hundredths = 100 * float(share)
    if abs(hundredths) < WHOLE:  # beyond that a float has no halves
        return f"{Decimal(hundredths).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP):{'+' if sign else ''}f}%"
    return f"{hundredths:{'+' if sign else ''}.{digits}f}%"


def fmt_number(value: float, unit: str) -> str:
    """Four digits and a unit, or a word for what is counted; a percent sign follows at once, as in `fmt_share`.

    >>> fmt_number(84.477, "%"), fmt_number(2, "ranks"), fmt_number(0.5, "")
    ('84.48%', '2 ranks', '0.5')
    """
    return f"{value:.4g}{'' if unit == '%' else ' '}{unit}".strip()


def fmt_bandwidth(rate: float) -> str:
    """Format a bandwidth in decimal bytes per second, as nccl-tests does.

    Parameters
    ----------
    rate : float
        The bandwidth, B/s.

    Returns
    -------
    str
        The words.

    Examples
    --------
    >>> fmt_bandwidth(25e9)
    '25 GB/s'
    """
    return _fmt(rate, ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "KB/s"), (1.0, "B/s")))


def exact_bandwidth(rate: float) -> str:
    """The shortest text that `parse_bandwidth` reads back as exactly this.

    >>> exact_bandwidth(25e9), exact_bandwidth(1e9 / 3)
    ('25GBps', '333333333.3333333Bps')
    """
    scales = ((1.0, "Bps"), (1e3, "kBps"), (1e6, "MBps"), (1e9, "GBps"), (1e12, "TBps"))
    texts = [f"{rate / scale:.12g}{unit}" for scale, unit in scales if rate >= scale]
    return min((text for text in texts if parse_bandwidth(text) == rate), key=len, default=f"{rate!r}Bps")


def exact_time(seconds: float) -> str:
    """The shortest text that `parse_time` reads back as exactly this.

    >>> exact_time(1.5e-6), exact_time(5e-7), exact_time(0), exact_time(1e-6 / 3)
    ('1.5us', '0.5us', '0s', '3.333333333333333e-07s')
    """
    scales = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
    texts = [f"{seconds / scale:.12g}{unit}" for scale, unit in scales if seconds / scale <= LARGEST_TIME]
    return min((text for text in texts if parse_time(text) == seconds), key=len, default=f"{seconds!r}s")
