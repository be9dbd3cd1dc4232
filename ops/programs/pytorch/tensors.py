"""Tensors for scripts that use torch's for messages alone, where no PyTorch is installed: numpy arrays underneath.

They have torch's types, shapes and looks. What learns, autograd and modules, is PyTorch's own: asking for it says so.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from ops.programs.pytorch.devices import BACKENDS, CPU, DeviceName
from ops.programs.pytorch.text import shown

Array = NDArray[Any]


class NotSimulatedError(NotImplementedError, AttributeError):
    """PyTorch has it and this has not; whoever probes with `hasattr` is told no."""


def missing(name: str) -> NoReturn:
    """Refuse what only PyTorch has."""
    if name.rpartition(".")[2].startswith("__"):
        raise AttributeError(name)
    raise NotSimulatedError(f"{name} is not simulated: install PyTorch, or use numpy arrays with torch.distributed")


class ElementType:
    """`torch.dtype`."""

    def __init__(self, name: str) -> None:
        self.name, self.numpy = name, np.dtype(name)

    @property
    def is_floating_point(self) -> bool:
        """Whether elements have fractions."""
        return self.numpy.kind == "f"

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.numpy.itemsize

    def __repr__(self) -> str:
        return f"torch.{self.name}"


class TensorSize(tuple[int, ...]):
    """`torch.Size`."""

    __slots__ = ()

    def numel(self) -> int:
        """How many elements there are."""
        return int(np.prod(self))

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"


TYPES = {
    name: ElementType(name)
    for name in (
        "float16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool", "complex64", "complex128",
    )
}  # fmt: skip
ALIASES = {
    "float": "float32", "double": "float64", "half": "float16", "short": "int16", "int": "int32", "long": "int64",
    "cfloat": "complex64", "cdouble": "complex128", "byte": "uint8", "char": "int8",
}  # fmt: skip
REDUCING = (
    "sum", "mean", "prod", "max", "min", "argmax", "argmin", "all", "any", "std", "var", "amax", "amin", "cumsum",
)  # fmt: skip
ELEMENTWISE = ("abs", "sqrt", "exp", "log", "sin", "cos", "tanh", "floor", "ceil", "round", "square", "sign")
IN_PLACE = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "pow": np.power}


class Tensor(NDArrayOperatorsMixin):
    """Numbers in an array, on the processor."""

    device, is_cuda, requires_grad, grad = "cpu", False, False, None

    def __init__(self, array: Any) -> None:
        self.array: Array = np.asarray(array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.array, dtype, copy=copy)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Arithmetic as torch does it: whole numbers become floats of 32 bits where they must."""
        outs = options.pop("out", None)
        if outs is not None:
            options["out"] = tuple(bare(out) for out in outs)
            options.setdefault("casting", "same_kind")
        result = getattr(ufunc, method)(*map(bare, inputs), **options)
        if outs is not None:
            return outs[0]
        double = any(np.asarray(bare(x)).dtype in (np.float64, np.complex128) for x in inputs if isinstance(x, Tensor))
        return wrapped(result, double=double)

    def __getitem__(self, index: Any) -> "Tensor":
        places = index if isinstance(index, tuple) else (index,)
        return Tensor(self.array[(*map(bare, places), ...)])

    def __setitem__(self, index: Any, value: Any) -> None:
        places = index if isinstance(index, tuple) else (index,)
        self.array[tuple(map(bare, places))] = bare(value)

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator["Tensor"]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self.array)

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __index__(self) -> int:
        return int(self.array.__index__())

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return shown(self.array)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.array.ndim == 0 else format(repr(self), spec)

    def __getattr__(self, name: str) -> Any:
        if name == "array" or name.startswith("__"):
            raise AttributeError(name)
        if name in REDUCING:
            return lambda *args, **options: _reduced(name, self, *args, **options)
        if name in ELEMENTWISE:
            return lambda: wrapped(getattr(np, name)(self.array))
        if name in ALIASES or name in TYPES:
            return lambda: self.to(TYPES[ALIASES.get(name, name)])
        if name.rstrip("_") in IN_PLACE:
            operator = IN_PLACE[name.rstrip("_")]
            return self._changed(operator) if name.endswith("_") else lambda other: operator(self, other)
        return missing(f"torch.Tensor.{name}")

    def _changed(self, operator: Any) -> Callable[[Any], "Tensor"]:
        """An operation whose result stays in it."""

        def change(other: Any) -> "Tensor":
            operator(self.array, bare(other), out=self.array, casting="same_kind")
            return self

        return change

    @property
    def shape(self) -> TensorSize:
        """Its lengths."""
        return TensorSize(self.array.shape)

    @property
    def dtype(self) -> ElementType:
        """The type of its elements."""
        return TYPES[self.array.dtype.name]

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return self.array.ndim

    @property
    def nbytes(self) -> int:
        """Its bytes."""
        return self.array.nbytes

    @property
    def T(self) -> "Tensor":  # noqa: N802
        """Rows for columns."""
        return Tensor(self.array.T)

    def size(self, dim: int | None = None) -> Any:
        """Its lengths, or one of them."""
        return self.shape if dim is None else self.shape[dim]

    def dim(self) -> int:
        """How many dimensions it has."""
        return self.array.ndim

    def numel(self) -> int:
        """How many elements it has."""
        return self.array.size

    nelement = numel

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.array.itemsize

    def item(self) -> Any:
        """The only element, as Python's number."""
        if self.array.size != 1:
            raise RuntimeError(f"a Tensor with {self.array.size} elements cannot be converted to Scalar")
        return self.array.item()

    def tolist(self) -> Any:
        """Its elements as lists."""
        return self.array.tolist()

    def numpy(self) -> Array:
        """Its array, not copied."""
        return self.array

    def clone(self) -> "Tensor":
        """A copy."""
        return Tensor(self.array.copy())

    def detach(self) -> "Tensor":
        """Itself: nothing is recorded."""
        return self

    cpu = contiguous = detach

    def cuda(self, *_: Any, **__: Any) -> "Tensor":
        """Itself: the GPUs that ranks stand for are simulated, and hold nothing."""
        return self

    def to(self, *args: Any, dtype: ElementType | None = None, **_: Any) -> "Tensor":
        """The same as elements of another type; devices make no difference."""
        chosen = dtype or next((arg for arg in args if isinstance(arg, ElementType)), None)
        return self if chosen is None else Tensor(self.array.astype(chosen.numpy, copy=False))

    def type(self, dtype: ElementType) -> "Tensor":
        """The same as elements of another type."""
        return self.to(dtype)

    def is_contiguous(self) -> bool:
        """Whether its elements lie in a row."""
        return bool(self.array.flags.c_contiguous)

    def fill_(self, value: Any) -> "Tensor":
        """Set every element."""
        self.array[...] = bare(value)
        return self

    copy_ = fill_

    def zero_(self) -> "Tensor":
        """Set every element to zero."""
        return self.fill_(0)

    def reshape(self, *shape: Any) -> "Tensor":
        """The same elements in another shape."""
        return Tensor(self.array.reshape(*shape))

    view = reshape

    def flatten(self) -> "Tensor":
        """The same elements in a row."""
        return self.reshape(-1)

    def t(self) -> "Tensor":
        """Rows for columns."""
        return self.T

    def squeeze(self) -> "Tensor":
        """Without dimensions of one."""
        return Tensor(self.array.squeeze())

    def unsqueeze(self, dim: int) -> "Tensor":
        """With a dimension of one more."""
        return Tensor(np.expand_dims(self.array, dim))

    def chunk(self, chunks: int, dim: int = 0) -> tuple["Tensor", ...]:
        """So many pieces in a row."""
        return tuple(Tensor(piece) for piece in np.array_split(self.array, chunks, dim))

    def norm(self) -> "Tensor":
        """The root of the sum of squares."""
        return wrapped(np.linalg.norm(self.array), double=self.array.dtype == np.float64)


def bare(thing: Any) -> Any:
    """The array of a tensor; anything else as it is."""
    return thing.array if isinstance(thing, Tensor) else thing


def wrapped(result: Any, *, double: bool = True) -> Tensor:
    """A tensor of a result; floats of 64 bits only where there were such before."""
    array = np.asarray(result)
    if not double and array.dtype in (np.float64, np.complex128):
        array = array.astype(np.float32 if array.dtype == np.float64 else np.complex64)
    return Tensor(array)


def _reduced(name: str, tensor: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
    options: dict[str, Any] = {} if name == "cumsum" else {"keepdims": keepdim}
    if name in ("max", "min") and dim is not None:
        missing(f"torch.{name} along a dimension")
    if name in ("std", "var"):
        options["ddof"] = 1
    if name == "mean" and tensor.array.dtype.kind not in "fc":
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be a floating point or complex dtype"
        )
    return wrapped(np.asarray(getattr(np, name)(tensor.array, dim, **options)))


def tensor(data: Any, dtype: ElementType | None = None, **_: Any) -> Tensor:
    """A tensor of numbers; floats of 32 bits unless told otherwise."""
    array = np.array([bare(x) for x in data] if isinstance(data, (list, tuple)) else bare(data))
    if dtype is not None:
        return Tensor(array.astype(dtype.numpy))
    return wrapped(array, double=isinstance(data, (Tensor, np.ndarray)))


def _filled(make: Callable[..., Array]) -> Callable[..., Tensor]:
    """A function of a shape, written as one list or as numbers."""

    def made(*size: Any, dtype: ElementType | None = None, **_: Any) -> Tensor:
        shape = size[0] if len(size) == 1 and isinstance(size[0], (list, tuple)) else size
        return Tensor(make(tuple(map(int, shape))).astype((dtype or TYPES["float32"]).numpy))

    return made


def _like(make: Callable[..., Array]) -> Callable[..., Tensor]:
    def made(other: Tensor, dtype: ElementType | None = None, **_: Any) -> Tensor:
        return Tensor(make(other.array, dtype=None if dtype is None else dtype.numpy))

    return made


def _full(size: Sequence[int] | int, fill_value: Any, dtype: ElementType | None = None, **_: Any) -> Tensor:
    return tensor(np.full(size, fill_value).tolist(), dtype)


def _full_like(other: Tensor, fill_value: Any, dtype: ElementType | None = None, **_: Any) -> Tensor:
    return Tensor(np.full_like(other.array, fill_value, dtype=None if dtype is None else dtype.numpy))


def _arange(*ends: Any, dtype: ElementType | None = None, **_: Any) -> Tensor:
    return tensor(np.arange(*ends).tolist(), dtype) if len(np.arange(*ends)) else Tensor(np.zeros(0, np.int64))


def _randint(*ends: Any, dtype: ElementType | None = None, **_: Any) -> Tensor:
    low, high, size = ends if len(ends) == 3 else (0, *ends)
    return Tensor(np.random.randint(low, high, size).astype((dtype or TYPES["int64"]).numpy))  # noqa: NPY002


def _joined(join: Callable[..., Array]) -> Callable[..., Tensor]:
    def made(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
        return Tensor(join([bare(x) for x in tensors], axis=dim))

    return made


def _seed(seed: int) -> None:
    """Numbers drawn after it are the same in every run, though not PyTorch's."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002


NAMES: dict[str, Any] = {
    **TYPES, **{name: TYPES[full] for name, full in ALIASES.items()}, "__version__": "2.9.0+simulated",
    "Tensor": Tensor, "Size": TensorSize, "dtype": ElementType, "tensor": tensor,
    "as_tensor": tensor, "from_numpy": Tensor, "zeros": _filled(np.zeros), "ones": _filled(np.ones),
    "empty": _filled(np.zeros), "rand": _filled(np.random.random_sample), "randn": _filled(np.random.standard_normal),
    "zeros_like": _like(np.zeros_like), "ones_like": _like(np.ones_like), "empty_like": _like(np.zeros_like),
    "full": _full, "full_like": _full_like, "arange": _arange, "randint": _randint, "cat": _joined(np.concatenate),
    "stack": _joined(np.stack), "is_tensor": lambda thing: isinstance(thing, Tensor), "manual_seed": _seed,
    "allclose": lambda a, b, **options: bool(np.allclose(bare(a), bare(b), **options)),
    "equal": lambda a, b: bool(np.array_equal(bare(a), bare(b))), "device": DeviceName,
    "no_grad": nullcontext, "matmul": lambda a, b: a @ b,
    "cuda": SimpleNamespace(
        is_available=lambda: False, device_count=lambda: 0, set_device=lambda _: None, synchronize=lambda *_: None,
        current_device=lambda: 0, empty_cache=lambda: None, manual_seed=_seed, manual_seed_all=_seed,
    ),
    "backends": BACKENDS, "cpu": CPU,
    **{name: lambda x, *args, _name=name, **options: _reduced(_name, x, *args, **options) for name in REDUCING},
    **{name: lambda x, _name=name: getattr(x, _name)() for name in ELEMENTWISE},
}  # fmt: skip
