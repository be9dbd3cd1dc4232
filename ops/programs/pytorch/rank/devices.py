"""`cuda` in a process of the script: names that stand for the machine's GPUs, with tensors in the host's memory.

PyTorch's own modules see what is there, which is a processor; the script and its libraries see GPUs.
"""

import os
import sys
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from . import streams
from .distributed import replace
from .link import LINK, NCCL
from .memory import HELD

HOST = torch.device("cpu")
NOISE = (
    "torch.cuda.amp.GradScaler is enabled, but CUDA is not available",
    "'pin_memory' argument is set as true but no accelerator is found",
    "`torch.cuda.amp",
)
"""How warnings of PyTorch begin that are about GPUs it cannot see."""
_CURRENT = [0]
_ON_GPU: "torch.utils.weak.WeakIdKeyDictionary[Any, bool]" = torch.utils.weak.WeakIdKeyDictionary()
"""Tensors that the script has put on a GPU, which are copies of those in the host's memory."""


def install() -> None:
    """Put everything in place, where PyTorch sees no GPU of its own."""
    if torch.cuda.is_available():
        raise RuntimeError("this PyTorch sees a GPU: set CUDA_VISIBLE_DEVICES= to simulate others")
    for message in NOISE:
        warnings.filterwarnings("ignore", message=message)
    _Names().__enter__()
    for name, value in _cuda().items():
        _show(torch.cuda, name, value)
    for name, value in _accelerator().items():
        _show(torch.accelerator, name, value)
    torch.cuda.nccl.version = lambda: tuple(map(int, os.environ.get(NCCL, "2.30").split(".")))
    torch.serialization.register_package(5, lambda _: None, _loaded)
    _first(torch.amp.autocast_mode.autocast, "__init__", _autocast)
    _first(torch.nn.parallel.DistributedDataParallel, "__init__", _without_devices)
    if torch.distributed.is_available():
        _rename_meshes()


def _gpus() -> int:
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def _is_gpu(device: Any) -> bool:
    if isinstance(device, torch.device):
        return device.type == "cuda"
    return isinstance(device, str) and device.partition(":")[0] == "cuda"


def _host(value: Any) -> Any:
    """What stands in the host's memory for a device; anything else stays."""
    return HOST if _is_gpu(value) else value


class _Names(TorchFunctionMode):
    """Maps devices of the script's calls to the host's memory."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        moved = _MOVES.get(func)
        if moved is not None:
            return moved(func, args, kwargs)
        device = kwargs.get("device")
        if device is not None:
            on_gpu = _is_gpu(device) or (isinstance(device, int) and not isinstance(device, bool))
            kwargs["device"] = HOST if on_gpu else device
            result = func(*args, **kwargs)
            if on_gpu and isinstance(result, torch.Tensor):
                _ON_GPU[result] = True
            return result
        if name in ("new_tensor", "new_empty", "new_full"):
            args = tuple(map(_host, args))
        return func(*args, **kwargs)


def _cuda_call(func: Any, args: Any, kwargs: Any) -> Any:
    return _put(args[0])


def _to(func: Any, args: Any, kwargs: Any) -> Any:
    tensor, rest = args[0], list(args[1:])
    devices = [value for value in (*rest[:1], kwargs.get("device")) if value is not None]
    to_gpu = any(_is_gpu(value) or type(value) is int for value in devices)
    to_host = any(value in ("cpu", HOST) for value in devices if isinstance(value, (str, torch.device)))
    rest = [HOST if type(value) is int and i == 0 else _host(value) for i, value in enumerate(rest)]
    if "device" in kwargs:
        kwargs["device"] = HOST if type(kwargs["device"]) is int else _host(kwargs["device"])
    result = func(tensor, *rest, **kwargs)
    if to_gpu:
        return _put(result) if result is tensor else _mark(result)
    return result.clone() if to_host and result is tensor and tensor in _ON_GPU else result


def _put(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor on the GPU: itself where it is there, else a copy."""
    if tensor in _ON_GPU:
        return tensor
    with LINK.quietly():
        copy = tensor.clone()
    HELD.copied(tensor, copy)
    return _mark(copy)


def _mark(tensor: torch.Tensor) -> torch.Tensor:
    _ON_GPU[tensor] = True
    return tensor


def _cpu_call(func: Any, args: Any, kwargs: Any) -> Any:
    streams.current_stream().synchronize()
    result = func(*args, **kwargs)
    return result.clone() if result is args[0] and result in _ON_GPU else result


def _itself(func: Any, args: Any, kwargs: Any) -> Any:
    return args[0]


def _nothing(*_: Any, **__: Any) -> None:
    """Do nothing: GPUs' memory is the host's."""


_MOVES: dict[Any, Callable[..., Any]] = {
    torch.Tensor.cuda: _cuda_call,
    torch.Tensor.cpu: _cpu_call,
    torch.Tensor.to: _to,
    torch.Tensor.pin_memory: _itself,
    torch.Tensor.record_stream: _nothing,
}


def _show(module: Any, name: str, value: Any) -> None:
    """Give a module a name: PyTorch's own callers go on with what it had."""
    real = getattr(module, name, None)
    if real is None or isinstance(value, type) or not callable(value):
        setattr(module, name, value)
        return

    def either(*args: Any, **kwargs: Any) -> Any:
        caller = sys._getframe(1).f_globals.get("__name__", "")
        inside = caller == "torch" or caller.startswith("torch.")
        return (real if inside else value)(*args, **kwargs)

    setattr(module, name, either)


def _cuda() -> dict[str, Any]:
    return {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "init": _nothing,
        "device_count": _gpus,
        "current_device": lambda: _CURRENT[0],
        "set_device": _set_device,
        "device": _on_device,
        "get_device_name": lambda device=None: os.environ.get("RINGSIDE_MACHINE", "simulated GPU"),
        "get_device_capability": lambda device=None: (9, 0),
        "is_bf16_supported": lambda including_emulation=True: True,
        "synchronize": streams.synchronize,
        "empty_cache": _nothing,
        "ipc_collect": _nothing,
        "reset_peak_memory_stats": lambda device=None: HELD.reset_peak(),
        "manual_seed": torch.manual_seed,
        "manual_seed_all": torch.manual_seed,
        "get_rng_state": lambda device=None: torch.get_rng_state(),
        "set_rng_state": lambda state, device=None: torch.set_rng_state(state),
        **dict.fromkeys(("memory_allocated", "memory_reserved"), lambda device=None: HELD.allocated),
        **dict.fromkeys(("max_memory_allocated", "max_memory_reserved"), lambda device=None: HELD.peak),
        "memory_summary": lambda device=None, abbreviated=False: "",
        "Stream": streams.GpuStream,
        "Event": streams.GpuEvent,
        "stream": streams.stream,
        "current_stream": streams.current_stream,
        "default_stream": streams.default_stream,
    }


def _accelerator() -> dict[str, Any]:
    return {
        "is_available": lambda: True,
        "device_count": _gpus,
        "current_accelerator": lambda check_available=False: torch.device("cuda"),
        "current_device_index": lambda: _CURRENT[0],
        "set_device_index": _set_device,
        "set_device_idx": _set_device,
        "synchronize": streams.synchronize,
        "current_stream": streams.current_stream,
    }


def _set_device(device: Any) -> None:
    index = device if isinstance(device, int) else torch.device(device).index
    if index is not None and not 0 <= index < _gpus():
        raise RuntimeError(f"CUDA error: invalid device ordinal: GPU {index} of the {_gpus()} of this node")
    _CURRENT[0] = _CURRENT[0] if index is None else index


@contextmanager
def _on_device(device: Any) -> Any:
    before = _CURRENT[0]
    if device is not None:
        _set_device(device)
    try:
        yield
    finally:
        _CURRENT[0] = before


def _loaded(storage: Any, location: str) -> Any:
    return storage if location.startswith("cuda") else None


def _first(kind: type, name: str, change: Callable[..., tuple[Any, Any]]) -> None:
    """Change the arguments of a method before it is called."""
    real = getattr(kind, name)

    def changed(self: Any, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = change(args, kwargs)
        return real(self, *args, **kwargs)

    changed.__wrapped__ = real  # type: ignore[attr-defined]  # which inspect.signature follows
    setattr(kind, name, changed)


def _autocast(args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Autocast of a GPU is that of the processor, in the GPU's type."""
    device = args[0] if args else kwargs.get("device_type")
    if device != "cuda":
        return args, kwargs
    if len(args) < 2 and kwargs.get("dtype") is None:
        kwargs = {**kwargs, "dtype": torch.float16}
    return (("cpu", *args[1:]), kwargs) if args else (args, {**kwargs, "device_type": "cpu"})


def _without_devices(args: Any, kwargs: Any) -> tuple[Any, Any]:
    """A module on GPUs is one in the host's memory, for which DDP wants no devices."""
    kept = [None if i in (1, 2) else value for i, value in enumerate(args)]
    return tuple(kept), {key: value for key, value in kwargs.items() if key not in ("device_ids", "output_device")}


def _rename_meshes() -> None:
    """Device meshes of GPUs are meshes of processors."""
    from torch.distributed import device_mesh
    from torch.distributed.fsdp import FullyShardedDataParallel

    def renamed(args: Any, kwargs: Any) -> tuple[Any, Any]:
        args = tuple("cpu" if i == 0 and _is_gpu(value) else value for i, value in enumerate(args))
        return args, {k: "cpu" if k == "device_type" and _is_gpu(v) else v for k, v in kwargs.items()}

    _first(device_mesh.DeviceMesh, "__init__", renamed)
    real = device_mesh.init_device_mesh

    def init_device_mesh(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = renamed(args, kwargs)
        return real(*args, **kwargs)

    replace("init_device_mesh", real, init_device_mesh)

    def on_host(args: Any, kwargs: Any) -> tuple[Any, Any]:
        return args, {**kwargs, "device_id": HOST}

    _first(FullyShardedDataParallel, "__init__", on_host)
