"""A process group with a clock: gloo moves the data, the simulator says when each call ends.

Every call of `torch.distributed.ProcessGroup` is here, under all of its names. A method that a release has beside
these goes to gloo untimed, and is counted.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch._C._distributed_c10d as c10d
import torch.distributed as dist

from .link import EAGER, LINK
from .operations import for_gloo, name_of, op_of, scaled
from .work import RingsideWork, Together

Tensors = Sequence[torch.Tensor]
SHORT = int(os.environ.get(EAGER, "65536"))
"""Bytes of a message that is copied, so that its sender may go on at once."""
PLAIN = {
    "BackendType", "CUSTOM", "GLOO", "MPI", "NCCL", "UCC", "UNDEFINED", "XCCL", "boxed", "unbox", "rank", "size",
    "name", "group_name", "group_desc", "bound_device_id", "get_group_store", "abort", "shutdown", "set_timeout",
    "merge_remote_group", "split_group", "use_pg_for_symm_mem_rendezvous",
}  # fmt: skip
"""What a process group has and that moves nothing. Names that begin with _ are its own too, but for these two."""
BASES = ("_allgather_base", "_reduce_scatter_base")


class RingsideGroup(dist.ProcessGroup):
    """A process group whose calls take simulated time."""

    backend = "nccl"
    """The backend that the script asked for."""

    def __init__(self, options: Any) -> None:
        rank, size = options.group_rank, options.group_size
        super().__init__(rank, size)
        self.gloo = dist.ProcessGroupGloo(dist.PrefixStore("data", options.store), rank, size, options.timeout)
        self.key = str(options.group_id)
        self.ranks = list(options.global_ranks_in_group) or list(range(size))
        self._introduced = False
        self._batch: list[Any] | None = None
        self._register_backend(torch.device("cpu"), dist.ProcessGroup.BackendType.CUSTOM, self.gloo)
        self._register_backend(
            torch.device("cuda"), dist.ProcessGroup.BackendType.GLOO, self.gloo
        )  # which DDP asks for

    @classmethod
    def create(cls, options: Any, _: Any = None) -> "RingsideGroup":
        """Return the group that `init_process_group` or `new_group` asks for."""
        return cls(options)

    def getBackendName(self) -> str:  # noqa: N802  as torch calls it
        """Return the backend's name."""
        return self.backend

    def _call(self, name: str, collective: str, sends: Sequence[int], **what: Any) -> int:
        """Tell the simulator of a call; returns the number of its work."""
        self._introduce()
        number = LINK.number()
        ready = LINK.stream.ready(number, self.key) if LINK.stream is not None else 0.0
        LINK.tell(
            "collective", group=self.key, name=name, collective=collective, sends=list(sends), work=number,
            ready=ready, **what,
        )  # fmt: skip
        return number

    def _introduce(self) -> None:
        if not self._introduced:
            LINK.tell("group", group=self.key, ranks=self.ranks, backend=self.backend)
            self._introduced = True

    def _done(self, work: Any) -> Any:
        if self._batch is not None:
            self._batch.append(work)
        return work

    # Everyone to everyone

    def allreduce(self, tensors: Any, opts: Any = None, timeout: Any = None) -> Any:  # noqa: ARG002
        """Combine all tensors everywhere, in place."""
        return self._reduced("all_reduce", "allreduce", _listed(tensors), opts, self.gloo.allreduce)

    def allreduce_coalesced(self, tensors: Any, opts: Any = None) -> Any:
        """Combine several tensors everywhere, in place, in one call."""
        return self._reduced("all_reduce_coalesced", "allreduce", _listed(tensors), opts, self.gloo.allreduce)

    def reduce(self, tensors: Any, opts: Any = None, op: Any = None, timeout: Any = None) -> Any:  # noqa: ARG002
        """Combine all tensors at the root, in place."""
        if not isinstance(opts, c10d.ReduceOptions):
            opts = _options(c10d.ReduceOptions(), rootRank=opts, reduceOp=op or dist.ReduceOp.SUM)
        root = opts.rootRank
        return self._reduced("reduce", "reduce", _listed(tensors), opts, self.gloo.reduce, root=root)

    def _reduced(
        self, name: str, collective: str, tensors: Tensors, opts: Any, move: Callable[..., Any], root: int = 0
    ) -> Any:
        op = op_of(opts)
        options: Any = c10d.ReduceOptions() if collective == "reduce" else c10d.AllreduceOptions()
        options.reduceOp, scale = for_gloo(op, self.size())
        if collective == "reduce":
            options.rootRank = root
        size = sum(tensor.nbytes for tensor in tensors)
        number = self._call(
            name, collective, [size], root=root, length=size, counted=sum(t.numel() for t in tensors),
            same={"op": name_of(op), "dtype": _dtype(tensors[0])},
        )  # fmt: skip
        here = collective == "allreduce" or self.rank() == root
        then = scaled(tensors, scale) if scale is not None and here else None
        return self._done(
            RingsideWork(number, tensors, lambda _: [move([_plain(one)], options) for one in tensors], then, opts)
        )

    def allgather(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        """Gather everyone's tensor everywhere, each into a tensor of a list."""
        if isinstance(inputs, torch.Tensor):
            outputs, inputs = [outputs], [inputs]
        works = [self._gathered("all_gather", list(row), one, opts) for row, one in zip(outputs, inputs, strict=True)]
        return works[0] if len(works) == 1 else Together(works)

    def allgather_coalesced(self, output_lists: Any, input_list: Any, opts: Any = None) -> Any:
        """Gather several tensors of everyone everywhere."""
        columns = [[row[i] for row in output_lists] for i in range(len(input_list))]
        pairs = zip(columns, input_list, strict=True)
        return Together([self._gathered("all_gather_coalesced", column, one, opts) for column, one in pairs])

    def all_gather_single(self, output: Any, input: Any, opts: Any = None) -> Any:
        """Gather everyone's tensor everywhere, one after the other in one tensor."""
        flat = output.view(-1) if output.is_contiguous() else output.reshape(-1)
        parts = list(flat.chunk(self.size())) if flat.numel() else [flat] * self.size()
        return self._gathered("all_gather_into_tensor", parts, input.reshape(-1), opts, whole=output)

    _allgather_base = all_gather_single

    def all_gather_single_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        """As `all_gather_single`, on several tensors in one call."""
        works = [self.all_gather_single(out, one, opts) for out, one in zip(outputs, inputs, strict=True)]
        return works[0] if len(works) == 1 else Together(works)

    allgather_into_tensor_coalesced = all_gather_single_coalesced

    def _gathered(self, name: str, outputs: list[torch.Tensor], one: torch.Tensor, opts: Any, whole: Any = None) -> Any:
        number = self._call(
            name, "allgather", [one.nbytes], length=one.nbytes, counted=one.numel(), same={"dtype": _dtype(one)}
        )
        rows = [[_plain(out) for out in outputs]]
        move = lambda _: [self.gloo.allgather(rows, [_plain(one)], c10d.AllgatherOptions())]  # noqa: E731
        return self._done(RingsideWork(number, outputs if whole is None else [whole], move, opts=opts))

    def reduce_scatter(self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None) -> Any:  # noqa: ARG002
        """Combine lists of tensors, tensor r at rank r."""
        if isinstance(outputs, torch.Tensor):
            outputs, inputs = [outputs], [inputs]
        works = [
            self._scattered("reduce_scatter", out, list(row), opts) for out, row in zip(outputs, inputs, strict=True)
        ]
        return works[0] if len(works) == 1 else Together(works)

    def reduce_scatter_single(self, output: Any, input: Any, opts: Any = None) -> Any:
        """Combine tensors, share r at rank r."""
        flat = input.reshape(-1)
        parts = list(flat.chunk(self.size())) if flat.numel() else [flat] * self.size()
        return self._scattered("reduce_scatter_tensor", output, parts, opts)

    _reduce_scatter_base = reduce_scatter_single

    def reduce_scatter_single_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        """As `reduce_scatter_single`, on several tensors in one call."""
        works = [self.reduce_scatter_single(out, one, opts) for out, one in zip(outputs, inputs, strict=True)]
        return works[0] if len(works) == 1 else Together(works)

    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

    def _scattered(self, name: str, output: torch.Tensor, parts: list[torch.Tensor], opts: Any) -> Any:
        op = op_of(opts)
        sizes = [part.nbytes for part in parts]
        number = self._call(
            name, "reduce_scatter", sizes, length=sum(sizes), counted=sum(part.numel() for part in parts),
            room=[output.nbytes], same={"op": name_of(op), "dtype": _dtype(output)},
        )  # fmt: skip
        whole = _joined(parts)  # which gloo sums up for all
        options = c10d.AllreduceOptions()
        options.reduceOp, scale = for_gloo(op, self.size())
        begin = sum(part.numel() for part in parts[: self.rank()])

        def then() -> None:
            own = whole[begin : begin + output.numel()].view_as(output)
            with torch.no_grad():
                output.copy_(own if scale is None else scale(own))

        return self._done(RingsideWork(number, [output], lambda _: [self.gloo.allreduce([whole], options)], then, opts))

    def alltoall_base(
        self, output: Any, input: Any, output_split: Any = None, input_split: Any = None, opts: Any = None,
        timeout: Any = None,  # noqa: ARG002
    ) -> Any:  # fmt: skip
        """Send a share of everyone's tensor to each rank."""
        wants, gives = (self._split(output, output_split), self._split(input, input_split))
        number = self._all_to_all("all_to_all_single", gives, wants, input)
        splits = [list(output_split or []), list(input_split or [])]

        def move(_: Any) -> Sequence[Any]:
            return [self.gloo.alltoall_base(_plain(output), _plain(input), *splits, c10d.AllToAllOptions())]

        return self._done(RingsideWork(number, [output], move, opts=opts))

    all_to_all_single = alltoall_base

    def alltoall(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        """Send one of everyone's tensors to each rank."""
        outputs, inputs = list(outputs), list(inputs)
        gives, wants = ([one.nbytes for one in some] for some in (inputs, outputs))
        number = self._all_to_all("all_to_all", gives, wants, inputs[0])
        sent = _joined(inputs)
        received = _joined(outputs)
        splits = [[one.numel() for one in some] for some in (outputs, inputs)]

        def move(_: Any) -> Sequence[Any]:
            return [self.gloo.alltoall_base(received, sent, *splits, c10d.AllToAllOptions())]

        def then() -> None:
            with torch.no_grad():
                for out, part in zip(outputs, received.split(splits[0]), strict=True):
                    out.copy_(part.view_as(out))

        return self._done(RingsideWork(number, outputs, move, then, opts))

    def _split(self, tensor: torch.Tensor, sizes: Any) -> list[int]:
        """Bytes of every share."""
        if not sizes:
            return [tensor.nbytes // self.size()] * self.size()
        row = tensor.nbytes // max(tensor.shape[0], 1)
        return [int(size) * row for size in sizes]

    def _all_to_all(self, name: str, gives: list[int], wants: list[int], tensor: torch.Tensor) -> int:
        return self._call(
            name, "alltoall", gives, room=wants, uneven=len({*gives, *wants}) > 1, counted=tensor.numel(),
            same={"dtype": _dtype(tensor)},
        )  # fmt: skip

    def barrier(self, opts: Any = None, timeout: Any = None) -> Any:  # noqa: ARG002
        """Stop until all ranks are there."""
        return self._done(RingsideWork(self._call("barrier", "barrier", []), []))

    def monitored_barrier(self, timeout: Any = None, wait_all_ranks: bool = False) -> None:  # noqa: ARG002
        """Stop until all ranks are there; a rank that never comes is named."""
        RingsideWork(self._call("monitored_barrier", "barrier", []), []).wait()

    # From one rank, or to one

    def broadcast(self, tensors: Any, opts: Any = None, timeout: Any = None) -> Any:  # noqa: ARG002
        """Send the root's tensor to all."""
        some = _listed(tensors)
        root = _root(opts)
        size = sum(tensor.nbytes for tensor in some)
        number = self._call(
            "broadcast", "broadcast", [size] if self.rank() == root else [], root=root, length=size,
            counted=sum(t.numel() for t in some), same={"dtype": _dtype(some[0])},
        )  # fmt: skip
        options = _options(c10d.BroadcastOptions(), rootRank=root, rootTensor=0)
        move = lambda _: [self.gloo.broadcast([_plain(one)], options) for one in some]  # noqa: E731
        return self._done(RingsideWork(number, some, move, opts=opts))

    def gather(self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None) -> Any:  # noqa: ARG002
        """Gather everyone's tensor at the root."""
        if isinstance(inputs, torch.Tensor):
            outputs, inputs = ([outputs] if outputs else []), [inputs]
        root, one = _root(opts), inputs[0]
        number = self._call(
            "gather", "gather", [one.nbytes], root=root, length=one.nbytes, counted=one.numel(),
            same={"dtype": _dtype(one)},
        )  # fmt: skip
        rows = [[_plain(out) for out in row] for row in outputs]
        options = _options(c10d.GatherOptions(), rootRank=root)
        move = lambda _: [self.gloo.gather(rows, [_plain(one)], options)]  # noqa: E731
        return self._done(RingsideWork(number, outputs[0] if outputs else [], move, opts=opts))

    def scatter(self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None) -> Any:  # noqa: ARG002
        """Send one of the root's tensors to each rank."""
        if isinstance(outputs, torch.Tensor):
            outputs, inputs = [outputs], ([inputs] if inputs else [])
        root, one = _root(opts), outputs[0]
        sends = [part.nbytes for part in inputs[0]] if self.rank() == root else []
        number = self._call(
            "scatter", "scatter", sends, root=root, length=one.nbytes, counted=one.numel(),
            room=[one.nbytes], same={"dtype": _dtype(one)},
        )  # fmt: skip
        rows = [[_plain(part) for part in row] for row in inputs]
        options = _options(c10d.ScatterOptions(), rootRank=root)
        move = lambda _: [self.gloo.scatter([_plain(one)], rows, options)]  # noqa: E731
        return self._done(RingsideWork(number, [one], move, opts=opts))

    # Messages

    def send(self, tensors: Any, dst: int, tag: int = 0) -> Any:
        """Send a tensor to one rank of the group."""
        (one,) = _listed(tensors)
        self._introduce()
        number = LINK.number()
        LINK.tell("send", group=self.key, dst=dst, tag=tag, bytes=one.nbytes, work=number, dtype=_dtype(one))
        eager = one.nbytes <= SHORT
        with LINK.quietly():
            copy = one.detach().clone() if eager else one
        inner = self.gloo.send([_plain(copy)], dst, tag)
        if not eager:
            return self._done(RingsideWork(number, [one], lambda _: [inner]))
        _ON_THEIR_WAY.append((inner, copy))
        return self._done(RingsideWork(number, [one]))

    def recv(self, tensors: Any, src: int, tag: int = 0) -> Any:
        """Receive a tensor from one rank of the group."""
        return self._received(_listed(tensors)[0], src, tag)

    def recv_anysource(self, tensors: Any, tag: int = 0) -> Any:
        """Receive a tensor from any rank of the group."""
        return self._received(_listed(tensors)[0], -1, tag)

    def _received(self, one: torch.Tensor, src: int, tag: int) -> Any:
        self._introduce()
        number = LINK.number()
        LINK.tell("recv", group=self.key, src=src, tag=tag, bytes=one.nbytes, work=number, dtype=_dtype(one))
        move = lambda answer: [self.gloo.recv([_plain(one)], answer.get("source", src), tag)]  # noqa: E731
        return self._done(RingsideWork(number, [one], move, late=src < 0))

    # Several calls at once

    def _start_coalescing(self, device: Any) -> None:  # noqa: ARG002
        self._batch = []

    def _end_coalescing(self, device: Any) -> Any:  # noqa: ARG002
        works, self._batch = self._batch or [], None
        return Together(works)


_ON_THEIR_WAY: list[Any] = []
"""Short messages whose senders have gone on: gloo keeps them until they are received."""


def _listed(tensors: Any) -> Tensors:
    return [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach() if tensor.requires_grad else tensor


def _joined(parts: Tensors) -> torch.Tensor:
    with LINK.quietly():
        return torch.cat([_plain(part).reshape(-1) for part in parts])


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _options(options: Any, **values: Any) -> Any:
    for name, value in values.items():
        setattr(options, name, value)
    return options


def _root(opts: Any) -> int:
    return int(opts) if isinstance(opts, int) else 0 if opts is None else int(opts.rootRank)


def _counted(name: str) -> Callable[..., Any]:
    """A method that goes past the clock, and is counted."""
    real = getattr(dist.ProcessGroup, name)

    def untimed(self: RingsideGroup, *args: Any, **kwargs: Any) -> Any:
        LINK.untimed[name] += 1
        return real(self, *args, **kwargs)

    return untimed


for _method in dir(dist.ProcessGroup):
    if _method in RingsideGroup.__dict__ or _method in PLAIN or (_method.startswith("_") and _method not in BASES):
        continue
    setattr(RingsideGroup, _method, _counted(_method))
