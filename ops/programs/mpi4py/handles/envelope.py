"""How a datatype was made, as `Get_envelope` and `Get_contents` tell it: MPI 4.1, section 5.1.13."""
# ruff: noqa: N802  methods are called as mpi4py calls them

from typing import Any, NamedTuple

from ops.programs.mpi4py.handles.constants import CONSTANTS
from ops.programs.mpi4py.handles.errors import wrong

INTEGERS = {
    "DUP": (), "CONTIGUOUS": ("count",), "VECTOR": ("count", "blocklength", "stride"),
    "HVECTOR": ("count", "blocklength"), "INDEXED": ("+", "blocklengths", "displacements"),
    "HINDEXED": ("+", "blocklengths"), "INDEXED_BLOCK": ("+", "blocklength", "displacements"),
    "HINDEXED_BLOCK": ("+", "blocklength"), "STRUCT": ("+", "blocklengths"),
    "SUBARRAY": ("+", "sizes", "subsizes", "starts", "order"), "RESIZED": (),
}  # fmt: skip
"""By what made it, the arguments that are integers, in their order; + is how many entries the lists have."""
ADDRESSES = {
    "HVECTOR": ("stride",), "HINDEXED": ("displacements",), "HINDEXED_BLOCK": ("displacements",),
    "STRUCT": ("displacements",), "RESIZED": ("lb", "extent"),
}  # fmt: skip
"""The arguments that are addresses."""
LISTS = ("blocklengths", "displacements", "sizes")


class DatatypeContents(NamedTuple):
    """Arguments of what made a datatype, by their kind."""

    integers: list[int]
    addresses: list[int]
    counts: list[int]
    datatypes: list[Any]


class Enveloped:
    """What made a datatype; `made` is as `Datatype` has it."""

    made: tuple[Any, str, dict[str, Any]] | None

    def decode(self) -> tuple[Any, str, dict[str, Any]]:
        """What it was made of, how, and with which arguments."""
        return (self, "NAMED", {}) if self.made is None else recipe(*self.made)

    def original(self) -> Any:
        """What it is a copy of, however often it was copied."""
        datatype: Any = self
        while datatype.made is not None and datatype.made[1] == "DUP":
            datatype = datatype.made[0]
        return datatype

    def Get_envelope(self) -> tuple[int, int, int, int, int]:
        """How many integers, addresses, counts and datatypes made it, and how."""
        if self.made is None:
            return 0, 0, 0, 0, CONSTANTS["COMBINER_NAMED"]
        integers, addresses, counts, datatypes = map(len, self.Get_contents())
        return integers, addresses, counts, datatypes, CONSTANTS[f"COMBINER_{self.made[1]}"]

    def Get_contents(self) -> DatatypeContents:
        """The integers, addresses, counts and datatypes that made it. Raises MPI.Exception for a predefined one."""
        if self.made is None:
            wrong("ERR_TYPE", "a predefined datatype was made of nothing: ask for its envelope first")
        base, how, arguments = self.made
        length = next((len(arguments[name]) for name in LISTS if name in arguments), 0)
        numbers = {name: _numbers(value) for name, value in arguments.items()} | {"+": [length]}
        integers, addresses = (
            [number for name in names.get(how, ()) for number in numbers[name]] for names in (INTEGERS, ADDRESSES)
        )
        return DatatypeContents(integers, addresses, [], [*map(_handle, arguments.get("datatypes", [base]))])

    @property
    def envelope(self) -> tuple[int, int, int, int, int]:
        """How many integers, addresses, counts and datatypes made it, and how."""
        return self.Get_envelope()

    @property
    def contents(self) -> DatatypeContents:
        """The integers, addresses, counts and datatypes that made it."""
        return self.Get_contents()


def recipe(base: Any, how: str, arguments: dict[str, Any]) -> tuple[Any, str, dict[str, Any]]:
    """What made a datatype, with lists and handles of its own, so that others may be changed or freed."""
    own = {name: [*value] if isinstance(value, list) else value for name, value in arguments.items()}
    if "datatypes" in own:
        own["datatypes"] = [*map(_handle, own["datatypes"])]
    return _handle(base), how, own


def _handle(datatype: Any) -> Any:
    """A handle that may be freed by itself; a predefined type has but one."""
    if datatype.made is None:
        return datatype
    other = type(datatype)(datatype)
    other.__dict__.pop("_attributes", None)
    return other


def _numbers(value: Any) -> list[int]:
    return list(value) if isinstance(value, (list, tuple)) else [value]
