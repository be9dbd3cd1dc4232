"""Collectives and messages of torch.distributed on objects, pickled."""
# ruff: noqa: ARG002  arguments are called as torch calls them

import pickle
from typing import Any

import numpy as np

from ops.programs.pytorch.collectives import Collectives
from ops.programs.pytorch.groups import DistGroup
from ops.programs.pytorch.messages import Array
from ops.programs.runtime.messages import ANY_SOURCE, Message, Receive
from ops.programs.runtime.rendezvous import Contribution


class Distributed(Collectives):
    """The functions of torch.distributed."""

    def all_gather_object(self, object_list: list[Any], obj: Any, group: DistGroup | None = None) -> None:
        """Everyone's object comes to all."""
        if not self._outside(group):
            object_list[:] = self._objects("all_gather_object", "allgather", [obj], group)

    def gather_object(
        self, obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None,
        group: DistGroup | None = None, group_dst: int | None = None,
    ) -> None:  # fmt: skip
        """Everyone's object comes to rank `dst`."""
        root, here = self.root(group, dst, group_dst)
        self._one_list("gather", "object_gather_list", object_gather_list, here, group)
        if not self._outside(group):
            objects = self._objects("gather_object", "gather", [obj], group, root)
            if object_gather_list:
                object_gather_list[:] = objects

    def broadcast_object_list(
        self, object_list: list[Any], src: int | None = None, group: DistGroup | None = None, device: Any = None,
        group_src: int | None = None,
    ) -> None:  # fmt: skip
        """The objects of rank `src` go to all."""
        root, here = self.root(group, src, group_src)
        if not self._outside(group):
            sends = [list(object_list)] if here else []
            (objects,) = self._objects("broadcast_object_list", "broadcast", sends, group, root)
            object_list[:] = objects

    def scatter_object_list(
        self, scatter_object_output_list: list[Any], scatter_object_input_list: list[Any] | None = None,
        src: int | None = None, group: DistGroup | None = None, group_src: int | None = None,
    ) -> None:  # fmt: skip
        """The objects of rank `src` go to one rank each."""
        root, here = self.root(group, src, group_src)
        if self._outside(group):
            return
        if not scatter_object_output_list:
            raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
        sends = list(scatter_object_input_list or []) if here else []
        if here and len(sends) != self.get_world_size(group):
            raise ValueError(f"{len(sends)} objects for {self.get_world_size(group)} ranks: give one each")
        (scatter_object_output_list[0],) = self._objects("scatter_object_list", "scatter", sends, group, root)

    def send_object_list(
        self, object_list: list[Any], dst: int | None = None, group: DistGroup | None = None, device: Any = None,
        group_dst: int | None = None,
    ) -> None:  # fmt: skip
        """Send objects."""
        self.send(np.frombuffer(pickle.dumps(list(object_list)), np.uint8), dst, group, 0, group_dst)

    def recv_object_list(
        self, object_list: list[Any], src: int | None = None, group: DistGroup | None = None, device: Any = None,
        group_src: int | None = None,
    ) -> int:  # fmt: skip
        """Receive objects, from any rank unless one is named; the sender's rank."""
        came: list[Array] = []

        def take(message: Message) -> None:
            came.append(message.data)

        anyone = src is None and group_src is None
        receive = Receive(ANY_SOURCE if anyone else self.place(group, src, group_src), 0, take)
        self.world.wait((self._box(group, self.place(group, self.world.me.rank)).receive(receive),), "recv_object_list")
        object_list[:] = pickle.loads(came[0].tobytes())
        assert receive.message is not None
        return self.get_global_rank(group, receive.message.source)

    def _objects(
        self, name: str, collective: str, sends: list[Any], group: DistGroup | None, root: int = 0
    ) -> list[Any]:
        """What this rank gets of a collective on objects."""
        items = [pickle.dumps(thing) for thing in sends]
        part = Contribution(name, collective, items, root=root, library=self.library(group), uneven=True)
        self.run(name, part, group, False)
        return [pickle.loads(item) for item in part.gets]
