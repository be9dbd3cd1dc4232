"""What goes wrong inside an MPI call, as mpi4py raises it over MPICH."""

from functools import total_ordering
from typing import Any, NoReturn

STRINGS = {
    "SUCCESS": (0, "No MPI error"), "ERR_BUFFER": (1, "Invalid buffer pointer"), "ERR_COUNT": (2, "Invalid count"),
    "ERR_TYPE": (3, "Invalid datatype"), "ERR_TAG": (4, "Invalid tag"), "ERR_COMM": (5, "Invalid communicator"),
    "ERR_RANK": (6, "Invalid rank"), "ERR_ROOT": (7, "Invalid root"), "ERR_GROUP": (8, "Invalid group"),
    "ERR_OP": (9, "Invalid MPI_Op"), "ERR_TOPOLOGY": (10, "Invalid topology"),
    "ERR_DIMS": (11, "Invalid dimension argument"), "ERR_ARG": (12, "Invalid argument"),
    "ERR_UNKNOWN": (13, "Unknown error"), "ERR_TRUNCATE": (14, "Message truncated"),
    "ERR_OTHER": (15, "Other MPI error"), "ERR_INTERN": (16, "Internal MPI error!"),
    "ERR_IN_STATUS": (17, "See the MPI_ERROR field in MPI_Status for the error code"),
    "ERR_PENDING": (18, "Pending request (no error)"), "ERR_REQUEST": (19, "Invalid MPI_Request"),
    "ERR_ACCESS": (20, "Access denied to file"), "ERR_AMODE": (21, "Invalid amode value"),
    "ERR_BAD_FILE": (22, "Invalid file name"), "ERR_CONVERSION": (23, "An error occurred in a data conversion"),
    "ERR_DUP_DATAREP": (24, "The datarep name has already been specified"), "ERR_FILE_EXISTS": (25, "File exists"),
    "ERR_FILE_IN_USE": (26, "File in use by some process"), "ERR_FILE": (27, "Invalid MPI_File"),
    "ERR_INFO": (28, "Invalid MPI_Info"), "ERR_INFO_KEY": (29, "Invalid key for MPI_Info"),
    "ERR_INFO_VALUE": (30, "Invalid MPI_Info value"), "ERR_INFO_NOKEY": (31, "MPI_Info key is not defined"),
    "ERR_IO": (32, "Other I/O error"), "ERR_NAME": (33, "Invalid service name"),
    "ERR_NO_MEM": (34, "Unable to allocate memory for MPI_Alloc_mem"),
    "ERR_NOT_SAME": (35, "Inconsistent arguments to collective routine"), "ERR_NO_SPACE": (36, "Not enough space"),
    "ERR_NO_SUCH_FILE": (37, "File does not exist"), "ERR_PORT": (38, "Invalid port"),
    "ERR_QUOTA": (39, "Quota exceeded for files"), "ERR_READ_ONLY": (40, "Read-only file or filesystem name"),
    "ERR_SERVICE": (41, "Attempt to lookup an unknown service name"), "ERR_SPAWN": (42, "Error in spawn call"),
    "ERR_UNSUPPORTED_DATAREP": (43, "Unsupported datarep"),
    "ERR_UNSUPPORTED_OPERATION": (44, "Unsupported file operation"), "ERR_WIN": (45, "Invalid MPI_Win"),
    "ERR_BASE": (46, "Invalid base address"), "ERR_LOCKTYPE": (47, "Invalid locktype argument"),
    "ERR_KEYVAL": (48, "Invalid keyval"), "ERR_RMA_CONFLICT": (49, "Conflicting accesses to window"),
    "ERR_RMA_SYNC": (50, "Wrong synchronization of RMA calls"), "ERR_SIZE": (51, "Invalid size argument in RMA call"),
    "ERR_DISP": (52, "Invalid displacement argument in RMA call"), "ERR_ASSERT": (53, "Invalid assert argument"),
    "ERR_RMA_RANGE": (55, "Target memory is not contained within the window"),
    "ERR_RMA_ATTACH": (56, "Memory cannot be attached"), "ERR_RMA_SHARED": (57, "Memory cannot be shared"),
    "ERR_RMA_FLAVOR": (58, "Incorrect window flavor"), "ERR_SESSION": (75, "Invalid MPI_Session handle"),
    "ERR_PROC_ABORTED": (76, "Process was aborted"), "ERR_VALUE_TOO_LARGE": (77, "Value is too large to store"),
    "ERR_ERRHANDLER": (80, "Invalid errhandler"),
}  # fmt: skip
"""Error classes by name, numbered and called as MPICH 5 does (src/mpi/errhan/errnames.txt of MPICH)."""
CLASSES = {name: number for name, (number, _) in STRINGS.items()}
TEXTS = dict(STRINGS.values())
SAME = dict.fromkeys(("ERR_PROC_FAILED", "ERR_PROC_FAILED_PENDING", "ERR_REVOKED"), CLASSES["ERR_UNKNOWN"])
"""Classes that MPICH has only where it tolerates faults: mpi4py calls them unknown."""


@total_ordering
class MPIError(RuntimeError):
    """`MPI.Exception`: an error class and what happened."""

    def __init__(self, code: int | str = 0, message: str = "") -> None:
        self.error_code = CLASSES[code] if isinstance(code, str) else int(code)
        self.error_class = self.error_code
        text = text_of(self.error_code)
        self.error_string = f"{text}, error stack:\n{message}" if message else text
        super().__init__(self.error_code)

    def __str__(self) -> str:
        return self.error_string

    def __repr__(self) -> str:
        return f"MPI.Exception({self.error_code})"

    def __int__(self) -> int:
        return self.error_code

    def __bool__(self) -> bool:
        return self.error_code != 0

    def __hash__(self) -> int:
        return hash(self.error_code)

    def __eq__(self, other: object) -> bool:
        return self.error_code == other if isinstance(other, int) else _code(other) == self.error_code

    def __lt__(self, other: object) -> bool:
        return self.error_code < (other if isinstance(other, int) else _code(other) or 0)

    def Get_error_class(self) -> int:  # noqa: N802
        """Its MPI error class."""
        return self.error_class

    def Get_error_code(self) -> int:  # noqa: N802
        """The same: classes have no subdivision here."""
        return self.error_code

    def Get_error_string(self) -> str:  # noqa: N802
        """What happened."""
        return self.error_string


def _code(error: object) -> int | None:
    return error.error_code if isinstance(error, MPIError) else None


def text_of(code: int) -> str:
    """What MPICH says of an error class. Raises MPI.Exception for a number that is none."""
    if code not in TEXTS:
        wrong("ERR_ARG", f"{code} is no error code")
    return TEXTS[code]


def wrong(name: str, message: str) -> NoReturn:
    """Raise an error of a class in the rank that calls."""
    raise MPIError(name, message)


def whole(value: Any) -> int:
    """A rank, tag, root or count as Cython takes it: floats are cut. Raises TypeError for what is no number."""
    if isinstance(value, int):
        return int(value)
    if not hasattr(value, "__int__"):
        raise TypeError("an integer is required")
    return int(value)
