"""What goes wrong inside an MPI call, as mpi4py raises it."""

from typing import NoReturn

CLASSES = {
    "SUCCESS": 0, "ERR_BUFFER": 1, "ERR_COUNT": 2, "ERR_TYPE": 3, "ERR_TAG": 4, "ERR_COMM": 5, "ERR_RANK": 6,
    "ERR_REQUEST": 7, "ERR_ROOT": 8, "ERR_GROUP": 9, "ERR_OP": 10, "ERR_TOPOLOGY": 11, "ERR_DIMS": 12, "ERR_ARG": 13,
    "ERR_UNKNOWN": 14, "ERR_TRUNCATE": 15, "ERR_OTHER": 16, "ERR_INTERN": 17,
}  # fmt: skip
"""Error classes, numbered as the MPI 5.0 ABI numbers them."""


class MPIError(RuntimeError):
    """`MPI.Exception`: an error class and what happened."""

    def __init__(self, code: int | str = "ERR_UNKNOWN", message: str = "") -> None:
        self.name = code if isinstance(code, str) else next((k for k, v in CLASSES.items() if v == code), "ERR_UNKNOWN")
        self.error_code = CLASSES[self.name]
        self.error_class = self.error_code
        self.error_string = f"MPI_{self.name}: {message}" if message else f"MPI_{self.name}"
        super().__init__(self.error_string)

    def Get_error_class(self) -> int:  # noqa: N802
        """Its MPI error class."""
        return self.error_class

    def Get_error_code(self) -> int:  # noqa: N802
        """The same: classes have no subdivision here."""
        return self.error_code

    def Get_error_string(self) -> str:  # noqa: N802
        """What happened."""
        return self.error_string

    def __int__(self) -> int:
        return self.error_code


def wrong(name: str, message: str) -> NoReturn:
    """Raise an error of a class in the rank that calls."""
    raise MPIError(name, message)
