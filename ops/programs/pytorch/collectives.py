"""The collectives of torch.distributed.

Tensors are numpy arrays, or anything `numpy.asarray` makes a view of, as of PyTorch's on the processor. Algorithms are
those of the backend that was asked for, unless a person asks for another's.
"""
# ruff: noqa: ARG002  arguments are called as torch calls them

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ops.programs.mpi4py.reductions import OPS
from ops.programs.pytorch.groups import DistGroup
from ops.programs.pytorch.messages import Array, AsyncWork, Letters, fill, flat
from ops.programs.runtime.rendezvous import Contribution


class ReduceOp:
    """How tensors are combined."""

    SUM, PRODUCT, MAX, MIN, BAND, BOR, BXOR = "SUM", "PROD", "MAX", "MIN", "BAND", "BOR", "BXOR"
    AVG = "AVG"


_SIDE = {"gather": "destination", "scatter": "source"}


class Collectives(Letters):
    """The collectives, on tensors."""

    def barrier(self, group: DistGroup | None = None, async_op: bool = False, **_: Any) -> AsyncWork | None:
        """Stop until all ranks are there."""
        if self._outside(group):
            return None
        part = Contribution("barrier", "barrier", [], library=self.library(group))
        return self.run("barrier", part, group, async_op)

    def monitored_barrier(
        self, group: DistGroup | None = None, timeout: Any = None, wait_all_ranks: bool = False
    ) -> None:
        """Stop until all ranks are there; who does not come is told at the end of the run."""
        self.barrier(group)

    def broadcast(
        self, tensor: Any, src: int | None = None, group: DistGroup | None = None, async_op: bool = False,
        group_src: int | None = None,
    ) -> AsyncWork | None:  # fmt: skip
        """The tensor of rank `src` goes to all."""
        root, here = self.root(group, src, group_src)
        return self._one(
            "broadcast", "broadcast", [tensor], [] if here else [tensor], group, async_op, root=root, room=[tensor]
        )

    def all_reduce(
        self, tensor: Any, op: str = ReduceOp.SUM, group: DistGroup | None = None, async_op: bool = False
    ) -> AsyncWork | None:
        """All tensors combined, in place, everywhere."""
        return self._one("all_reduce", "allreduce", [flat(tensor).copy()], [tensor], group, async_op, op=op)

    def reduce(
        self, tensor: Any, dst: int | None = None, op: str = ReduceOp.SUM, group: DistGroup | None = None,
        async_op: bool = False, group_dst: int | None = None,
    ) -> AsyncWork | None:  # fmt: skip
        """All tensors combined, in place, at rank `dst`."""
        root, here = self.root(group, dst, group_dst)
        into = [tensor] if here else []
        return self._one("reduce", "reduce", [flat(tensor).copy()], into, group, async_op, op=op, root=root)

    def all_gather(
        self, tensor_list: Sequence[Any], tensor: Any, group: DistGroup | None = None, async_op: bool = False
    ) -> AsyncWork | None:
        """Everyone's tensor comes to all, each into one of a list."""
        return self._one("all_gather", "allgather", [tensor], tensor_list, group, async_op)

    def all_gather_into_tensor(
        self, output_tensor: Any, input_tensor: Any, group: DistGroup | None = None, async_op: bool = False
    ) -> AsyncWork | None:
        """Everyone's tensor comes to all, one after the other."""
        into = self._shares("all_gather_into_tensor", output_tensor, group)
        return self._one("all_gather_into_tensor", "allgather", [input_tensor], into, group, async_op)

    def reduce_scatter(
        self, output: Any, input_list: Sequence[Any], op: str = ReduceOp.SUM, group: DistGroup | None = None,
        async_op: bool = False,
    ) -> AsyncWork | None:  # fmt: skip
        """Lists of tensors combined, tensor r at rank r."""
        return self._one("reduce_scatter", "reduce_scatter", input_list, [output], group, async_op, op=op)

    def reduce_scatter_tensor(
        self, output: Any, input: Any, op: str = ReduceOp.SUM, group: DistGroup | None = None,
        async_op: bool = False,
    ) -> AsyncWork | None:  # fmt: skip
        """Tensors combined, share r at rank r."""
        sends = self._shares("reduce_scatter_tensor", input, group)
        return self._one("reduce_scatter_tensor", "reduce_scatter", sends, [output], group, async_op, op=op)

    def all_to_all(
        self, output_tensor_list: Sequence[Any], input_tensor_list: Sequence[Any], group: DistGroup | None = None,
        async_op: bool = False,
    ) -> AsyncWork | None:  # fmt: skip
        """Everyone's tensors go to one rank each."""
        return self._one("all_to_all", "alltoall", input_tensor_list, output_tensor_list, group, async_op)

    def all_to_all_single(
        self, output: Any, input: Any, output_split_sizes: Sequence[int] | None = None,
        input_split_sizes: Sequence[int] | None = None, group: DistGroup | None = None, async_op: bool = False,
    ) -> AsyncWork | None:  # fmt: skip
        """The shares of everyone's tensor go to one rank each."""
        name = "all_to_all_single"
        sends = self._shares(name, input, group, input_split_sizes)
        return self._one(
            name, "alltoall", sends, self._shares(name, output, group, output_split_sizes), group, async_op
        )

    def gather(
        self, tensor: Any, gather_list: Sequence[Any] | None = None, dst: int | None = None,
        group: DistGroup | None = None, async_op: bool = False, group_dst: int | None = None,
    ) -> AsyncWork | None:  # fmt: skip
        """Everyone's tensor comes to rank `dst`."""
        root, here = self.root(group, dst, group_dst)
        self._one_list("gather", "gather_list", gather_list, here, group)
        return self._one("gather", "gather", [tensor], gather_list or [], group, async_op, root=root)

    def scatter(
        self, tensor: Any, scatter_list: Sequence[Any] | None = None, src: int | None = None,
        group: DistGroup | None = None, async_op: bool = False, group_src: int | None = None,
    ) -> AsyncWork | None:  # fmt: skip
        """The tensors of rank `src` go to one rank each."""
        root, here = self.root(group, src, group_src)
        self._one_list("scatter", "scatter_list", scatter_list, here, group)
        return self._one("scatter", "scatter", scatter_list or [], [tensor], group, async_op, root=root)

    def all_reduce_coalesced(
        self, tensors: Sequence[Any], op: str = ReduceOp.SUM, group: DistGroup | None = None, async_op: bool = False
    ) -> AsyncWork | None:
        """As `all_reduce`, on one tensor after the other."""
        for tensor in tensors[:-1]:
            self.all_reduce(tensor, op, group)
        return self.all_reduce(tensors[-1], op, group, async_op)

    def all_gather_coalesced(
        self, output_tensor_lists: Sequence[Sequence[Any]], input_tensor_list: Sequence[Any],
        group: DistGroup | None = None, async_op: bool = False,
    ) -> AsyncWork | None:  # fmt: skip
        """As `all_gather`, on one tensor after the other."""
        columns = [[row[i] for row in output_tensor_lists] for i in range(len(input_tensor_list))]
        for column, tensor in zip(columns[:-1], input_tensor_list[:-1], strict=True):
            self.all_gather(column, tensor, group)
        return self.all_gather(columns[-1], input_tensor_list[-1], group, async_op)

    def _one_list(self, name: str, what: str, tensors: Any, here: bool, group: DistGroup | None) -> None:
        """Only the root names a list. Raises ValueError where it stands elsewhere, or is missing."""
        if self._outside(group) or bool(tensors) == here:
            return
        if here:
            raise ValueError(f"Argument ``{what}`` must be specified on the {_SIDE[name]} rank.")
        raise ValueError(f"Argument ``{what}`` must NOT be specified on non-{_SIDE[name]} ranks.")

    def _shares(
        self, name: str, tensor: Any, group: DistGroup | None, sizes: Sequence[int] | None = None
    ) -> list[Array]:
        if self._outside(group):
            return []
        n, whole = self.get_world_size(group), flat(tensor)
        if not sizes:
            if len(whole) % n:
                raise ValueError(f"{name}: {len(whole)} elements are no {n} equal shares")
            return np.split(whole, n)
        rows = np.shape(tensor)[0] or 1
        ends = np.cumsum(sizes) * (len(whole) // rows)
        if len(sizes) != n or ends[-1] != len(whole):
            raise ValueError(f"{name}: split sizes {list(sizes)} do not make up {rows} rows for {n} ranks")
        return np.split(whole, ends[:-1])

    def _one(
        self, name: str, collective: str, sends: Sequence[Any], into: Sequence[Any], group: DistGroup | None,
        async_op: bool,
        *, op: str | None = None, root: int = 0, room: Sequence[Any] | None = None,
    ) -> AsyncWork | None:  # fmt: skip
        if self._outside(group):
            return None
        members = self.members(group)
        items, targets = [flat(x) for x in sends], [flat(x) for x in into]
        for what, some in (("inputs", items), ("outputs", targets)):
            if len(some) not in (0, 1, members.size):
                raise ValueError(f"{name}: {len(some)} {what} for {members.size} ranks: give one each")
        expected = [flat(x).nbytes for x in (into if room is None else room)]
        part = Contribution(
            name, collective, items, root=root, room=expected or None, library=self.library(group),
            same={"op": op} if op else None,
            length=sum(item.nbytes for item in items) if op else None, fold=_fold(op) if op else None,
            counted=sum(len(item) for item in items) or np.inf,
            write=(lambda gets: fill(targets, gets, members.size if op == ReduceOp.AVG else 1)) if targets else None,
        )  # fmt: skip
        return self.run(name, part, group, async_op, list(into))

    def run(
        self, name: str, part: Contribution, group: DistGroup | None, async_op: bool, result: Any = None
    ) -> AsyncWork | None:
        """Bring a part to a collective, and wait for its end unless told not to."""
        self.members(group).join(part)
        if async_op:
            return AsyncWork(self.world, part, result)
        self.world.wait((part,), name)
        return None


def _fold(op: str) -> Callable[[Array, Array], Array]:
    name = "SUM" if op == ReduceOp.AVG else op
    if name not in OPS:
        raise ValueError(f"Invalid ReduceOp {op!r}")
    return OPS[name].arrays
