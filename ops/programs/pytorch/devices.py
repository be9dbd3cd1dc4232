"""What scripts ask of torch about devices, where there is the processor alone."""

from types import SimpleNamespace
from typing import Any

BACKENDS = SimpleNamespace(
    mps=SimpleNamespace(is_available=lambda: False, is_built=lambda: False),
    cudnn=SimpleNamespace(is_available=lambda: False, enabled=False, benchmark=False, deterministic=False),
)
CPU = SimpleNamespace(is_available=lambda: True, device_count=lambda: 1, synchronize=lambda *_: None)


class DeviceName(str):
    """`torch.device`: a name such as cuda:0."""

    __slots__ = ()

    def __new__(cls, name: Any, index: int | None = None) -> "DeviceName":
        """From a name, or a kind and a number."""
        return super().__new__(cls, f"{name}" if index is None else f"{name}:{index}")

    @property
    def type(self) -> str:
        """What kind it is."""
        return self.partition(":")[0]

    @property
    def index(self) -> int | None:  # type: ignore[override]
        """Its number among those of its kind."""
        number = self.partition(":")[2]
        return int(number) if number else None
