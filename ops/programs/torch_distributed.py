"""`torch.distributed` as the ranks import it, on numpy arrays; made anew for every run.

Tensors are numpy arrays, or anything `numpy.asarray` makes a view of. Algorithms are NCCL's choice unless a person
asks for another's. `torch` itself is an empty package around it.
"""
# ruff: noqa: ARG002  arguments are called as torch calls them

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ops.programs.mpi4py.reductions import OPS
from ops.programs.runtime.messages import Mailbox, Message, Receive
from ops.programs.runtime.rendezvous import Contribution, ProcessGroup
from ops.programs.runtime.tasks import Pending
from ops.programs.runtime.transport import Transport

Array = NDArray[Any]


class ReduceOp:
    """How tensors are combined."""

    SUM, PRODUCT, MAX, MIN, BAND, BOR, BXOR = "SUM", "PROD", "MAX", "MIN", "BAND", "BOR", "BXOR"
    AVG = "AVG"


class AsyncWork:
    """A call under way, as `async_op=True` returns it."""

    def __init__(self, world: Transport, pending: Pending) -> None:
        self._world, self._pending = world, pending

    def wait(self, timeout: Any = None) -> bool:
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


class _GroupMember:
    """What `new_group` gives to ranks that are not in it."""

    NON_GROUP_MEMBER = object()


def serve(world: Transport) -> dict[str, ModuleType]:
    """The modules that stand in for torch.distributed during a run."""
    dist = ModuleType("torch.distributed")
    dist.__dict__.update(_Distributed(world).names())
    torch = ModuleType("torch")
    torch.__dict__.update(__path__=[], distributed=dist, __getattr__=_no_torch)
    return {"torch": torch, "torch.distributed": dist}


def _no_torch(name: str) -> NoReturn:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"torch.{name} is not simulated: use numpy arrays with torch.distributed")


class _Distributed:
    """The functions of torch.distributed; ranks are global ones, as there."""

    def __init__(self, world: Transport) -> None:
        self.world = world
        self.everyone = ProcessGroup(world, range(world.size), "default_pg")
        self.begun: set[int] = set()

    def names(self) -> dict[str, Any]:
        """What the module holds."""
        public = {name: getattr(self, name) for name in dir(type(self)) if not name.startswith("_") and name != "names"}
        return {
            **public, "ReduceOp": ReduceOp, "Work": AsyncWork, "GroupMember": _GroupMember, "group": _World,
            "ProcessGroup": ProcessGroup,
        }  # fmt: skip

    def init_process_group(self, backend: str = "nccl", **_: Any) -> None:
        """Join the default group; rank and size are the run's own."""
        self.begun.add(self.world.me.rank)
        self._meet("init_process_group", Contribution("init_process_group", "barrier", [], library="nccl"), None)

    def destroy_process_group(self, group: ProcessGroup | None = None) -> None:
        """Leave the default group."""
        if group is None:
            self.begun.discard(self.world.me.rank)

    def is_available(self) -> bool:
        """Always."""
        return True

    def is_initialized(self) -> bool:
        """Whether this rank has joined the default group."""
        return self.world.me.rank in self.begun

    def get_backend(self, group: ProcessGroup | None = None) -> str:
        """The backend's name."""
        return "nccl"

    def get_rank(self, group: ProcessGroup | None = None) -> int:
        """This rank's number in the group, -1 outside of it."""
        return self._group(group).place_of.get(self.world.me.rank, -1)

    def get_world_size(self, group: ProcessGroup | None = None) -> int:
        """How many ranks the group has."""
        return self._group(group).size

    def new_group(self, ranks: Sequence[int] | None = None, **_: Any) -> Any:
        """A group of some ranks; all ranks must call it, in the same order."""
        chosen = tuple(sorted(range(self.world.size) if ranks is None else ranks))
        if not chosen or len(set(chosen)) != len(chosen) or not 0 <= chosen[0] <= chosen[-1] < self.world.size:
            raise ValueError(
                f"a group cannot be of ranks {list(chosen)}: name some of 0..{self.world.size - 1}, once each"
            )
        part = Contribution("new_group", "barrier", [], same={"ranks": chosen}, library="nccl")
        self._meet("new_group", part, None)
        assert part.meeting is not None
        made = part.meeting.made
        if "group" not in made:
            made["group"] = self.everyone.child(chosen, "group")
        return made["group"] if self.world.me.rank in chosen else _GroupMember.NON_GROUP_MEMBER

    def get_process_group_ranks(self, group: ProcessGroup | None = None) -> list[int]:
        """The global ranks of a group."""
        return list(self._group(group).ranks)

    def barrier(self, group: ProcessGroup | None = None, async_op: bool = False, **_: Any) -> AsyncWork | None:
        """Stop until all ranks are there."""
        return self._run("barrier", Contribution("barrier", "barrier", [], library="nccl"), group, async_op)

    def broadcast(
        self, tensor: Any, src: int = 0, group: ProcessGroup | None = None, async_op: bool = False
    ) -> AsyncWork | None:
        """The tensor of rank `src` goes to all."""
        root = self._place(group, src)
        here = self.world.me.rank == src
        return self._one(
            "broadcast", "broadcast", [tensor], [] if here else [tensor], group, async_op, root=root, room=[tensor]
        )

    def all_reduce(
        self, tensor: Any, op: str = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
    ) -> AsyncWork | None:
        """All tensors combined, in place, everywhere."""
        return self._one("all_reduce", "allreduce", [_flat(tensor).copy()], [tensor], group, async_op, op=op)

    def reduce(
        self,
        tensor: Any,
        dst: int = 0,
        op: str = ReduceOp.SUM,
        group: ProcessGroup | None = None,
        async_op: bool = False,
    ) -> AsyncWork | None:
        """All tensors combined, in place, at rank `dst`."""
        into = [tensor] if self.world.me.rank == dst else []
        root = self._place(group, dst)
        return self._one("reduce", "reduce", [_flat(tensor).copy()], into, group, async_op, op=op, root=root)

    def all_gather(
        self, tensor_list: Sequence[Any], tensor: Any, group: ProcessGroup | None = None, async_op: bool = False
    ) -> AsyncWork | None:
        """Everyone's tensor comes to all, each into one of a list."""
        return self._one("all_gather", "allgather", [tensor], tensor_list, group, async_op)

    def all_gather_into_tensor(
        self, output_tensor: Any, input_tensor: Any, group: ProcessGroup | None = None, async_op: bool = False
    ) -> AsyncWork | None:
        """Everyone's tensor comes to all, one after the other."""
        into = self._shares("all_gather_into_tensor", output_tensor, group)
        return self._one("all_gather_into_tensor", "allgather", [input_tensor], into, group, async_op)

    def reduce_scatter(
        self, output: Any, input_list: Sequence[Any], op: str = ReduceOp.SUM, group: ProcessGroup | None = None,
        async_op: bool = False,
    ) -> AsyncWork | None:  # fmt: skip
        """Lists of tensors combined, tensor r at rank r."""
        return self._one("reduce_scatter", "reduce_scatter", input_list, [output], group, async_op, op=op)

    def reduce_scatter_tensor(
        self, output: Any, input: Any, op: str = ReduceOp.SUM, group: ProcessGroup | None = None,
        async_op: bool = False,
    ) -> AsyncWork | None:  # fmt: skip
        """Tensors combined, share r at rank r."""
        sends = self._shares("reduce_scatter_tensor", input, group)
        return self._one("reduce_scatter_tensor", "reduce_scatter", sends, [output], group, async_op, op=op)

    def all_to_all(
        self, output_tensor_list: Sequence[Any], input_tensor_list: Sequence[Any], group: ProcessGroup | None = None,
        async_op: bool = False,
    ) -> AsyncWork | None:  # fmt: skip
        """Everyone's tensors go to one rank each."""
        return self._one("all_to_all", "alltoall", input_tensor_list, output_tensor_list, group, async_op)

    def all_to_all_single(
        self, output: Any, input: Any, output_split_sizes: Sequence[int] | None = None,
        input_split_sizes: Sequence[int] | None = None, group: ProcessGroup | None = None, async_op: bool = False,
    ) -> AsyncWork | None:  # fmt: skip
        """The shares of everyone's tensor go to one rank each."""
        name = "all_to_all_single"
        sends = self._shares(name, input, group, input_split_sizes)
        return self._one(
            name, "alltoall", sends, self._shares(name, output, group, output_split_sizes), group, async_op
        )

    def gather(
        self, tensor: Any, gather_list: Sequence[Any] | None = None, dst: int = 0, group: ProcessGroup | None = None,
        async_op: bool = False,
    ) -> AsyncWork | None:  # fmt: skip
        """Everyone's tensor comes to rank `dst`."""
        into = gather_list or [] if self.world.me.rank == dst else []
        return self._one("gather", "gather", [tensor], into, group, async_op, root=self._place(group, dst))

    def scatter(
        self, tensor: Any, scatter_list: Sequence[Any] | None = None, src: int = 0, group: ProcessGroup | None = None,
        async_op: bool = False,
    ) -> AsyncWork | None:  # fmt: skip
        """The tensors of rank `src` go to one rank each."""
        sends = scatter_list or [] if self.world.me.rank == src else []
        return self._one("scatter", "scatter", sends, [tensor], group, async_op, root=self._place(group, src))

    def isend(self, tensor: Any, dst: int, group: ProcessGroup | None = None, tag: int = 0) -> AsyncWork:
        """Begin to send a tensor."""
        data = _flat(tensor).copy()
        message = Message(self.get_rank(group), self._place(group, dst), tag, data, data.nbytes)
        return AsyncWork(self.world, self._box(group, dst).post(message, "isend"))

    def irecv(self, tensor: Any, src: int, group: ProcessGroup | None = None, tag: int = 0) -> AsyncWork:
        """Begin to receive a tensor."""
        into = _flat(tensor)

        def take(message: Message) -> None:
            _fill([into], [message.data])

        receive = Receive(self._place(group, src), tag, take)
        return AsyncWork(self.world, self._box(group, self.world.me.rank).receive(receive))

    def send(self, tensor: Any, dst: int, group: ProcessGroup | None = None, tag: int = 0) -> None:
        """Send a tensor."""
        self.isend(tensor, dst, group, tag).wait()

    def recv(self, tensor: Any, src: int, group: ProcessGroup | None = None, tag: int = 0) -> int:
        """Receive a tensor; the sender's rank."""
        self.irecv(tensor, src, group, tag).wait()
        return src

    def _box(self, group: ProcessGroup | None, rank: int) -> Mailbox:
        members = self._group(group)
        place = self._place(group, rank)
        box: Mailbox = members.boxes.setdefault(place, Mailbox(members, place))
        return box

    def _group(self, group: ProcessGroup | None) -> ProcessGroup:
        if group is None or group is _World.WORLD:
            return self.everyone
        if not isinstance(group, ProcessGroup):
            raise TypeError("this rank is not a member of the group")
        return group

    def _place(self, group: ProcessGroup | None, rank: int) -> int:
        places = self._group(group).place_of
        if rank not in places:
            raise ValueError(f"global rank {rank} is not part of group {self._group(group).name}")
        return places[rank]

    def _shares(
        self, name: str, tensor: Any, group: ProcessGroup | None, sizes: Sequence[int] | None = None
    ) -> list[Array]:
        n, flat = self.get_world_size(group), _flat(tensor)
        if sizes is None:
            if len(flat) % n:
                raise ValueError(f"{name}: {len(flat)} elements are no {n} equal shares")
            return np.split(flat, n)
        rows = np.shape(tensor)[0] or 1
        ends = np.cumsum(sizes) * (len(flat) // rows)
        if len(sizes) != n or ends[-1] != len(flat):
            raise ValueError(f"{name}: split sizes {list(sizes)} do not make up {rows} rows for {n} ranks")
        return np.split(flat, ends[:-1])

    def _one(
        self, name: str, collective: str, sends: Sequence[Any], into: Sequence[Any], group: ProcessGroup | None,
        async_op: bool,
        *, op: str | None = None, root: int = 0, room: Sequence[Any] | None = None,
    ) -> AsyncWork | None:  # fmt: skip
        members = self._group(group)
        items, targets = [_flat(x) for x in sends], [_flat(x) for x in into]
        for what, some in (("inputs", items), ("outputs", targets)):
            if len(some) not in (0, 1, members.size):
                raise ValueError(f"{name}: {len(some)} {what} for {members.size} ranks: give one each")
        expected = [_flat(x).nbytes for x in (into if room is None else room)]
        part = Contribution(
            name, collective, items, root=root, room=expected or None, library="nccl", same={"op": op} if op else None,
            fold=_fold(op) if op else None, counted=sum(len(item) for item in items) or np.inf,
            write=(lambda gets: _fill(targets, gets, members.size if op == ReduceOp.AVG else 1)) if targets else None,
        )  # fmt: skip
        return self._run(name, part, group, async_op)

    def _run(self, name: str, part: Contribution, group: ProcessGroup | None, async_op: bool) -> AsyncWork | None:
        if self.world.me.rank not in self.begun:
            raise ValueError("the default process group is not there yet: call init_process_group first")
        if async_op:
            self._group(group).join(part)
            return AsyncWork(self.world, part)
        self._meet(name, part, group)
        return None

    def _meet(self, name: str, part: Contribution, group: ProcessGroup | None) -> None:
        self._group(group).join(part)
        self.world.wait((part,), name)


class _World:
    """`torch.distributed.group`."""

    WORLD = None


def _flat(tensor: Any) -> Array:
    """The elements in a row, without copying. Raises ValueError where that cannot be."""
    array = tensor if isinstance(tensor, np.ndarray) else np.asarray(tensor)
    if not array.flags.c_contiguous:
        raise ValueError("Tensors must be contiguous")
    return array.reshape(-1)


def _fold(op: str) -> Callable[[Array, Array], Array]:
    name = "SUM" if op == ReduceOp.AVG else op
    if name not in OPS:
        raise ValueError(f"Invalid ReduceOp {op!r}")
    return OPS[name].arrays


def _fill(targets: Sequence[Array], items: Sequence[Array], share: int = 1) -> None:
    for target, item in zip(targets, items, strict=True):
        values = item if item.dtype == target.dtype else item.view(np.uint8).view(target.dtype)
        target[:] = values if share == 1 else values / share
