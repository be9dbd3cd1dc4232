"""Statuses: what is known of a message that came."""
# ruff: noqa: N802  methods and arguments are called as mpi4py calls them

from ops.programs.mpi4py.handles.constants import PROC_NULL, UNDEFINED
from ops.programs.mpi4py.handles.datatypes import Datatype
from ops.programs.runtime.messages import ANY_SOURCE, ANY_TAG, PostedMessage


class Status:
    """Where a message came from, its tag and its bytes."""

    def __init__(self, status: "Status | None" = None) -> None:
        self.source, self.tag, self.error, self._bytes, self.cancelled = ANY_SOURCE, ANY_TAG, 0, 0, False
        if status is not None:
            if not isinstance(status, Status):
                raise TypeError(f"Argument 'status' has incorrect type (got {type(status).__name__})")
            self.__dict__.update(status.__dict__)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Status) and self.__dict__ == other.__dict__

    __hash__ = object.__hash__

    def fill(self, message: PostedMessage | None) -> None:
        """Take over from a message; without one, it is that of an empty request."""
        if message is not None:
            self.source, self.tag, self._bytes = message.source, message.tag, message.size

    def nobody(self) -> None:
        """The status of a receive from no process."""
        self.source, self.tag, self._bytes = PROC_NULL, ANY_TAG, 0

    @property
    def count(self) -> int:
        """Bytes of the message."""
        return self._bytes

    @count.setter
    def count(self, count: int) -> None:
        self._bytes = count

    def Get_source(self) -> int:
        """The sender's rank."""
        return self.source

    def Get_tag(self) -> int:
        """The message's tag."""
        return self.tag

    def Get_error(self) -> int:
        """Zero: errors are raised."""
        return self.error

    def Get_count(self, datatype: Datatype | None = None) -> int:
        """How many of a datatype came; UNDEFINED when the bytes make no whole number of them."""
        size = 1 if datatype is None else datatype.size
        return self._bytes // size if size and self._bytes % size == 0 else UNDEFINED

    def Get_elements(self, datatype: Datatype) -> int:
        """How many basic elements of a datatype came."""
        whole = self.Get_count(datatype)
        if whole != UNDEFINED:
            return whole * datatype.basic
        per = datatype.size // datatype.basic
        return self._bytes // per if self._bytes % per == 0 else UNDEFINED

    def Set_source(self, source: int) -> None:
        """Say who sent it."""
        self.source = source

    def Set_tag(self, tag: int) -> None:
        """Say which tag it has."""
        self.tag = tag

    def Set_error(self, error: int) -> None:
        """Say what went wrong."""
        self.error = error

    def Set_elements(self, datatype: Datatype, count: int) -> None:
        """Say how many of a datatype came."""
        self._bytes = count * datatype.size

    def Set_cancelled(self, flag: bool) -> None:
        """Say whether it was taken back."""
        self.cancelled = flag

    def Is_cancelled(self) -> bool:
        """Whether the request was taken back."""
        return self.cancelled
