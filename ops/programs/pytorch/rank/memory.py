"""Which tensors a process holds: their bytes, and the part of the step that made them."""

import weakref
from collections.abc import Iterable
from typing import Any

import torch
from torch.nn.modules import module as modules

from .link import LINK

PARAMETERS = "parameters"


class HeldTensors:
    """Every tensor's memory from the operation that makes it until nobody holds it any more.

    A kind is `parameters`, buffers of modules included, or the pass that made the tensor: `activations`, `gradients`,
    `optimizer`.
    """

    def __init__(self) -> None:
        self._held: dict[int, tuple[str, int, Any]] = {}
        """Kind and bytes by the address of a storage, and what notices its end."""
        self.allocated = self.peak = 0
        """Bytes that are held, and the most that were held at once."""
        self._counts = False

    def install(self) -> None:
        """Count from now on."""
        self._counts = True
        modules.register_module_parameter_registration_hook(self._registered)
        modules.register_module_buffer_registration_hook(self._registered)
        real = torch.UntypedStorage.resize_

        def resize(storage: Any, size: int) -> Any:  # as FSDP frees and takes its parameters' memory
            result = real(storage, size)
            if storage._cdata in self._held:
                self._take(storage, self._held[storage._cdata][0])
            return result

        torch.UntypedStorage.resize_ = resize

    def reset_peak(self) -> None:
        """Let the peak be what is held now."""
        self.peak = self.allocated

    def made(self, tensors: Iterable[torch.Tensor], kind: str, source: Any = None) -> None:
        """Note what an operation has made; a copy of a parameter is one itself."""
        for tensor in tensors:
            storage = _storage(tensor)
            if storage is not None and storage._cdata not in self._held:
                copied = source is not None and self._kind(source) == PARAMETERS
                self._take(storage, PARAMETERS if copied else kind)

    def copied(self, source: torch.Tensor, copy: torch.Tensor) -> None:
        """Note a copy."""
        if self._counts:
            self.made([copy], self._kind(source))

    def _kind(self, tensor: torch.Tensor) -> str:
        storage = _storage(tensor)
        return self._held[storage._cdata][0] if storage is not None and storage._cdata in self._held else "activations"

    def _registered(self, module: Any, name: str, tensor: Any) -> None:  # noqa: ARG002  as PyTorch calls it
        storage = None if tensor is None else _storage(tensor)
        if storage is not None:
            self._take(storage, PARAMETERS)

    def _take(self, storage: Any, kind: str) -> None:
        """Let a storage be of a kind, and of the size it has now."""
        key, size = storage._cdata, storage.nbytes()
        before = self._held.get(key)
        if before is None:
            noticed: Any = weakref.ref(storage, lambda _: self._give_back(key))
        else:
            noticed = before[2]
            self._change(before[0], -before[1])
        self._held[key] = kind, size, noticed
        self._change(kind, size)

    def _give_back(self, key: int) -> None:
        kind, size, _ = self._held.pop(key)
        self._change(kind, -size)

    def _change(self, kind: str, size: int) -> None:
        self.allocated += size
        self.peak = max(self.peak, self.allocated)
        if size:
            LINK.hold(kind, size)


def _storage(tensor: torch.Tensor) -> Any:
    """A tensor's memory; None where it has none of its own."""
    local = getattr(tensor, "_local_tensor", tensor)
    try:
        return local.untyped_storage() if local.device.type == "cpu" else None
    except (NotImplementedError, RuntimeError):
        return None


HELD = HeldTensors()
