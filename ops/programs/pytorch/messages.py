"""Messages of torch.distributed between two ranks."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ops.programs.pytorch.groups import DistGroup, Groups
from ops.programs.runtime.messages import ANY_SOURCE, Mailbox, Message, Receive
from ops.programs.runtime.tasks import Pending
from ops.programs.runtime.transport import Transport

Array = NDArray[Any]


class AsyncWork:
    """A call under way, as `async_op=True` returns it."""

    def __init__(self, world: Transport, pending: Pending, result: Any = None) -> None:
        self._world, self._pending, self._result = world, pending, result

    def wait(self, timeout: Any = None) -> bool:  # noqa: ARG002
        """Stop until it is done."""
        self._world.wait((self._pending,), "wait")
        if self._pending.problem is not None:
            raise self._pending.problem
        return True

    def is_completed(self) -> bool:
        """Whether it is done."""
        if not self._pending.done:
            self._world.ask_again(self._pending)
        return self._pending.done

    is_success = is_completed

    def result(self) -> Any:
        """The tensors that it fills."""
        self.wait()
        return self._result

    def source_rank(self) -> int:
        """The sender's rank in its group."""
        message = self._pending.message if isinstance(self._pending, Receive) else None
        return -1 if message is None else message.source

    def synchronize(self) -> None:
        """Stop until it is done."""
        self.wait()


class Letters(Groups):
    """Sending and receiving."""

    def isend(
        self, tensor: Any, dst: int | None = None, group: DistGroup | None = None, tag: int = 0,
        group_dst: int | None = None,
    ) -> AsyncWork:  # fmt: skip
        """Begin to send a tensor."""
        data = flat(tensor).copy()
        here, place = self.place(group, self.world.me.rank), self.place(group, dst, group_dst)
        if here == place:
            raise ValueError(
                "Invalid destination rank: destination rank should not be the same as the rank of the current process."
            )
        message = Message(here, place, tag, data, data.nbytes)
        return AsyncWork(self.world, self._box(group, place).post(message, "isend"), [tensor])

    def irecv(
        self, tensor: Any, src: int | None = None, group: DistGroup | None = None, tag: int = 0,
        group_src: int | None = None,
    ) -> AsyncWork:  # fmt: skip
        """Begin to receive a tensor, from any rank unless one is named."""
        anyone = src is None and group_src is None
        into, place = flat(tensor), self.place(group, self.world.me.rank)

        def take(message: Message) -> None:
            try:
                fill([into], [message.data])
            except ValueError as error:
                assert message.receive is not None
                message.receive.problem = error

        receive = Receive(ANY_SOURCE if anyone else self.place(group, src, group_src), tag, take)
        return AsyncWork(self.world, self._box(group, place).receive(receive), [tensor])

    def send(
        self, tensor: Any, dst: int | None = None, group: DistGroup | None = None, tag: int = 0,
        group_dst: int | None = None,
    ) -> None:  # fmt: skip
        """Send a tensor."""
        self.isend(tensor, dst, group, tag, group_dst).wait()

    def recv(
        self, tensor: Any, src: int | None = None, group: DistGroup | None = None, tag: int = 0,
        group_src: int | None = None,
    ) -> int:  # fmt: skip
        """Receive a tensor, from any rank unless one is named; the sender's rank."""
        work = self.irecv(tensor, src, group, tag, group_src)
        work.wait()
        return self.get_global_rank(group, work.source_rank())

    def batch_isend_irecv(self, p2p_op_list: Sequence[Any]) -> list[AsyncWork]:
        """Begin all of them."""
        if not p2p_op_list or not all(hasattr(op, "peer") for op in p2p_op_list):
            raise ValueError("Invalid ``p2p_op_list``: each op is expected to be ``torch.distributed.P2POp``")
        return [op.op(op.tensor, op.peer, op.group, op.tag) for op in p2p_op_list]

    def _box(self, group: DistGroup | None, place: int) -> Mailbox:
        members = self.members(group)
        box: Mailbox = members.boxes.setdefault(place, Mailbox(members, place))
        return box


class P2POp:
    """A send or a receive for `batch_isend_irecv`."""

    def __init__(self, op: Any, tensor: Any, peer: int, group: DistGroup | None = None, tag: int = 0) -> None:
        if getattr(op, "__name__", "") not in ("isend", "irecv"):
            raise ValueError("Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or ``irecv``.")
        self.op, self.tensor, self.peer, self.group, self.tag = op, tensor, peer, group, tag


def flat(tensor: Any) -> Array:
    """The elements in a row, without copying. Raises ValueError or TypeError where that cannot be."""
    if isinstance(tensor, (list, tuple, str, bytes, int, float)) or tensor is None:
        raise TypeError(f"Invalid function argument. Expected a tensor, not {type(tensor).__name__}")
    plain = tensor.detach() if hasattr(tensor, "detach") else tensor
    array = plain if isinstance(plain, np.ndarray) else np.asarray(plain)
    if not array.flags.c_contiguous:
        raise ValueError("Tensors must be contiguous")
    return array.reshape(-1).view(np.ndarray)


def fill(targets: Sequence[Array], items: Sequence[Array], share: int = 1) -> None:
    """Put items into tensors. Raises ValueError where one does not fit."""
    for target, item in zip(targets, items, strict=True):
        if item.nbytes != target.nbytes:
            raise ValueError(f"a tensor of {item.nbytes} bytes came, but {target.nbytes} bytes are expected")
        values = item if item.dtype == target.dtype else item.view(np.uint8).view(target.dtype)
        target[:] = values if share == 1 else values / share
