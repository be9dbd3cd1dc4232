"""Numbers with units as SimGrid writes them: `125MBps`, `1Gbps`, `50us`, `1.5m`, `"0"`; bare ones are B/s and s."""

import math

from sim.base.numbers import with_unit
from sim.base.xml import Element
from sim.units import LARGEST_BANDWIDTH, LARGEST_TIME

_DECIMAL = {prefix: 1000.0**i for i, prefix in enumerate(("", "k", "M", "G", "T", "P", "E", "Z", "Y"))}
_BINARY = {f"{prefix}i": 1024.0**i for i, prefix in enumerate(("", "K", "M", "G", "T", "P", "E", "Z", "Y")) if i}
_RATES = {
    f"{prefix}{unit}": scale * bytes_per
    for prefix, scale in (_DECIMAL | _BINARY).items()
    for unit, bytes_per in (("Bps", 1.0), ("bps", 0.125))
}
_TIMES = {
    "w": 604800.0, "d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12,
}  # fmt: skip


def bandwidth(element: Element, key: str, name: str, default: str | None = None) -> float:
    """B/s of an attribute. Raises InputError with the line unless it is above zero and has a unit SimGrid knows."""
    value = _value(element, key, name, default, _RATES, "Bps", "125MBps")
    if not 0 < value <= LARGEST_BANDWIDTH:
        element.refuse(name, "simgrid.bandwidth", key=key, label=label(element))
    return value


def latency(element: Element, key: str, name: str, default: str | None = None) -> float:
    """Seconds of an attribute. Raises InputError with the line unless it is zero or more."""
    value = _value(element, key, name, default, _TIMES, "s", "50us")
    if not 0 <= value <= LARGEST_TIME:
        element.refuse(name, "simgrid.latency", key=key, label=label(element))
    return value


def label(element: Element) -> str:
    """What messages call an element."""
    return f"<{element.tag} {element.attributes.get('id', '')[:40]}>".replace(" >", ">")


def _value(
    element: Element, key: str, name: str, default: str | None, units: dict[str, float], bare: str, example: str
) -> float:
    text = element.attributes.get(key) or default
    if text is None:
        element.refuse(name, "simgrid.no_unit", label=label(element), key=key, example=example)
    parts = with_unit(text)
    scale = units.get(parts[1] or bare) if parts else None
    if parts is None or scale is None or not math.isfinite(float(parts[0]) * scale):
        element.refuse(name, "simgrid.unit", key=key, label=label(element), text=text, example=example)
    return float(parts[0]) * scale
