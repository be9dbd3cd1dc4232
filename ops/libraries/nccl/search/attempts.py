"""One attempt of NCCL's search: channels of one speed over paths of certain types (`src/graph/search.cc`)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ops.libraries.nccl.search.graphs import HOPS, Channel, ChannelGraph, Pattern, SystemViews, TryOrder, whole
from ops.libraries.nccl.search.limits import Limits

STEPS, STEPS_SAME, STEPS_FIRST = 1 << 14, 1 << 8, 1 << 10
"""Devices that one attempt looks at, one with channels alike, and one in the order of PCIe."""


@dataclass(slots=True)
class _Budget:
    """Steps that are left; -1 once nothing better is possible."""

    steps: int


Loads = tuple[tuple[int, int], ...]
"""By link what a path takes of it, and as `HOPS` the number of its links, taken off."""
Search = Iterator["Search"]
"""A part of the search: what it yields is searched before it goes on."""


class SearchAttempt:
    """One attempt on a system: depth first, taking and giving back bandwidth on the way (ncclTopoSearchRec)."""

    def __init__(self, views: SystemViews, aim: ChannelGraph, best: ChannelGraph, limits: Limits | None = None) -> None:
        system = views.system
        self.system, self.views, self.at, self.best = system, views, aim, best
        self.newest = system.newest
        self.left, self.ports = [*(edge.bandwidth for edge in system.edges), -1000, aim.hops], dict(views.ports)
        self.loads: dict[tuple[int, int, int], Loads | None] = {}
        self.failed: dict[tuple[int, ...], int] = {}
        self.count, n = 0, len(system.gpus)
        self.intra, self.inter = int(aim.bw_intra), int(aim.bw_inter)
        self.is_over = False
        self.orders = [[-1] * n for _ in range(aim.most + 1)]
        self.enters, self.leaves = [-1] * (aim.most + 1), [-1] * (aim.most + 1)
        ring = aim.pattern == Pattern.RING
        self.to_net = (n - 1 if ring else 1 if aim.pattern == Pattern.SPLIT_TREE else 0) if system.inter else -1
        self.to_first = n - 1 if ring and not system.inter else -1
        self.limits = limits

    def run(self) -> tuple[ChannelGraph, int | None]:
        """The best graph so far, and the steps that were left; None where limits ended the attempt before.

        A ring that reaches its limits counts as if it had taken all steps.
        """
        budget = _Budget(STEPS_SAME if self.at.same else STEPS)
        stack: list[Search] = [self._channel(budget)]
        while stack:
            deeper = next(stack[-1], None)
            if deeper is None:
                stack.pop()
            elif self.is_over:
                return self.best, None if budget.steps else 0
            else:
                stack.append(deeper)
        return self.best, budget.steps

    def _take(self, src: int, dst: int, amount: int) -> Loads | None:
        """The loads of the path between two devices, taken; None where it is too far or too full."""
        ends = src, dst, amount
        if ends not in self.loads:
            self.loads[ends] = self._load(*ends)
        loads, left = self.loads[ends], self.left
        if loads is None:
            return None
        for i, load in loads:
            if left[i] < load:
                return None
        for i, load in loads:
            left[i] -= load
        return loads

    def _load(self, src: int, dst: int, amount: int) -> Loads | None:
        """What a path takes of each link, and a hop for each; None where it is too far."""
        ways, inside = self.views.ways, self.views.inside
        farthest = self.at.type_intra if inside[src] and inside[dst] else self.at.type_inter
        path = ways[src][dst]
        back = self.system.newest and self.at.pattern <= Pattern.TREE
        if max(path.type, ways[dst][src].type if back else path.type) > farthest:
            return None
        loads = [(i, amount) for i in path.plain] + [(i, amount * weight // 40) for i, weight in path.weighted]
        return (HOPS, -len(path.links)), *loads

    def _give(self, loads: Loads) -> None:
        """Give back what was taken."""
        left = self.left
        for i, load in loads:
            left[i] += load

    def _channel(self, budget: _Budget) -> Search:
        """Begin a channel: at a NIC, or at a GPU where there is one node."""
        if self.system.inter:
            yield self._from_net(budget)
            return
        gpus = self.system.gpus
        if self.at.pattern == Pattern.NVLS:
            yield self._gpu(gpus[self.count], 0, self.to_net, -1, TryOrder.FREE, budget)
            return
        if self.count == 0:
            yield self._gpu(gpus[0], 0, -1, self.to_first, TryOrder.BUS, budget)
        else:
            yield self._gpu(self.orders[self.count - 1][0], 0, -1, self.to_first, TryOrder.REPLAY, budget)
        if not self.at.same or self.count == 0:
            for gpu in gpus:
                yield self._gpu(gpu, 0, -1, self.to_first, TryOrder.FREE, budget)

    def _from_net(self, budget: _Budget) -> Search:
        """Enter by every NIC that has bandwidth left (ncclTopoSearchRecNet)."""
        c, at = self.count, self.at
        amount, nets = whole(at.bw_inter), self.views.nets_of(at.type_inter)
        for i in range(len(nets)):
            net = nets[(c + i) % len(nets)] if self.newest else nets[i]
            turns_back = at.pattern == Pattern.RING and at.cross_nic == 2 and c % 2 == 1
            if self.ports[net] < amount or (turns_back and net != self.leaves[c - 1]):
                continue
            self.enters[c] = net
            self._add_port(net, -amount)
            tries = [*(self._entries(net, len(nets), budget) if self.newest else self._old_entries(net, budget))]
            for gpu, order, own in tries:
                if own.steps > 0 and (loads := self._take(net, gpu, self.inter)):
                    yield self._gpu(gpu, 0, self.to_net, self.to_first, order, own)
                    self._give(loads)
                if own is not budget and own.steps == -1:
                    budget.steps = -1
            self._add_port(net, amount)
            if at.pattern == Pattern.NVLS and tries:
                return

    def _add_port(self, net: int, amount: int) -> None:
        """NICs of one card share its bandwidth."""
        for other in self.views.on_card[net]:
            self.ports[other] += amount

    def _old_entries(self, net: int, budget: _Budget) -> Iterator[tuple[int, TryOrder, _Budget]]:
        """GPUs that a channel may enter from a NIC before 2.18: as the last channel, by PCIe, or the closest.

        Of these the ones come first whose PCIe links no channel fills.
        """
        if self.count > 0:
            yield self.orders[self.count - 1][0], TryOrder.REPLAY, budget
            if self.at.same:
                return
        else:
            yield self.system.gpus[0], TryOrder.BUS, _Budget(STEPS_FIRST)
        closest = self.views.closest(net)
        for gpu in sorted(closest, key=lambda gpu: self.views.left_of_pcie(gpu, self.left) <= 0):
            if self.views.ways[net][gpu].bandwidth >= whole(self.at.bw_inter):
                yield gpu, TryOrder.FREE, budget

    def _entries(self, net: int, most: int, budget: _Budget) -> Iterator[tuple[int, TryOrder, _Budget]]:
        """GPUs that a channel may enter from a NIC, how they go on, and the steps for it."""
        c, local = self.count, self.system.near.gpu_of(net)
        if self.at.pattern == Pattern.NVLS:
            if c < most and local >= 0 and local not in (self.orders[k][0] for k in range(c)):
                yield local, TryOrder.FREE, budget
            return
        if c > 0 and self.at.same:
            yield self.orders[c - 1][0], TryOrder.REPLAY, budget
            return
        if c == 0 and not self.views.has_switch:
            yield self.system.gpus[0], TryOrder.BUS, _Budget(STEPS_FIRST)
        if local >= 0:
            yield local, TryOrder.FREE, budget
        for gpu in self.system.near.gpus_of(net):
            if gpu != local:
                yield gpu, TryOrder.FREE, budget

    def _gpu(self, gpu: int, step: int, to_net: int, to_first: int, order: TryOrder, budget: _Budget) -> Search:
        """Go on from a GPU: to a NIC, the next GPU or back to the first one (ncclTopoSearchRecGpu)."""
        if budget.steps <= 0:
            return
        budget.steps -= 1
        n, c, at = len(self.system.gpus), self.count, self.at
        if step == n:
            yield from self._finished(budget)
            return
        self.orders[c][step] = gpu
        if step == to_net:
            yield from self._to_net(gpu, step, to_first, order, budget)
        elif at.pattern == Pattern.NVLS:
            yield from self._pulling(gpu, budget)
        elif step < n - 1 or step == to_first:
            closes = step == n - 1
            for peer in self.orders[c][:1] if closes else self._following(gpu, step, to_net, order):
                if loads := self._take(gpu, peer, self.intra):
                    yield self._gpu(peer, step + 1, to_net, -1 if closes else to_first, order, budget)
                    self._give(loads)
        else:
            yield self._gpu(gpu, n, -1, -1, order, budget)

    def _finished(self, budget: _Budget) -> Search:
        """Keep the channels so far where they are better, and look for one more."""
        self.count += 1
        if self._is_better():
            ends = zip(self.orders[: self.count], self.enters, self.leaves, strict=False)
            channels = tuple(Channel(tuple(order), *nets) for order, *nets in ends)
            self.best = replace(self.at, hops=self.left[HOPS], channels=channels)
            self.failed.clear()
            if self.count == self.at.most:
                budget.steps = -1
            elif self.limits:
                self.is_over = not self.limits.may_improve(self.at, self.best, any_shape=self.views.any_shape)
                if self.is_over and self.at.pattern == Pattern.RING:
                    budget.steps = 0
        if self.count < self.at.most:
            yield from self._another(budget)
        self.count -= 1

    def _another(self, budget: _Budget) -> Search:
        """Look for one more channel, unless nothing came of it in the same state before: then its steps count."""
        state, best, steps = self._state(), self.best, budget.steps
        if state in self.failed:
            budget.steps = max(0, steps - self.failed[state])
            return
        yield self._channel(budget)
        if budget.steps > 0 and self.best is best:
            self.failed[state] = steps - budget.steps

    def _state(self) -> tuple[int, ...]:
        """All that further channels depend on: what is left, and of channels so far what is looked up in them."""
        c, at = self.count, self.at
        heads = sorted(order[0] for order in self.orders[:c]) if at.pattern == Pattern.NVLS else []
        last = self.orders[c - 1] if at.same or not (self.newest and self.system.inter) else []
        ends = [self.enters[c - 1], self.leaves[c - 1]] if at.cross_nic == 2 and c % 2 else []
        return (c, *self.left, *self.ports.values(), *heads, *ends, *last)

    def _is_better(self) -> bool:
        """More bandwidth altogether, then fewer hops (ncclTopoCompareGraphs)."""
        at, best, count = self.at, self.best, self.count
        if count < at.least:
            return False
        if at.pattern == Pattern.NVLS:
            more = len(best.channels) < count <= len(self.system.gpus)
            return more or count * at.bw_inter > len(best.channels) * best.bw_inter
        bandwidth, other = count * at.bw_intra, len(best.channels) * best.bw_intra
        of_shape = at.pattern == best.pattern or self.views.any_shape
        alike = of_shape and at.cross_nic == best.cross_nic
        return bandwidth > other or (bandwidth == other and alike and self.left[HOPS] < best.hops)

    def _to_net(self, gpu: int, step: int, to_first: int, order: TryOrder, budget: _Budget) -> Search:
        """Leave by a NIC. A balanced tree leaves by half from each of its first two GPUs."""
        balanced, c = self.at.pattern == Pattern.BALANCED_TREE, self.count
        amount = self.inter // 2 if balanced else self.inter
        for net in self.views.nets_of(self.at.type_inter, gpu):
            if budget.steps <= 0:
                return
            if self._may_leave(net, step) and (loads := self._take(gpu, net, amount)):
                self.leaves[c] = net
                yield self._gpu(gpu, step, 1 if balanced and step == 0 else -1, to_first, order, budget)
                self._give(loads)

    def _may_leave(self, net: int, step: int) -> bool:
        """Whether a channel may leave by a NIC (ncclTopoSearchCheckNet)."""
        at, c = self.at, self.count
        if at.pattern == Pattern.TREE and net != self.enters[c]:
            return False
        if at.pattern == Pattern.RING and at.cross_nic == 2:
            if c % 2 == 1 and net != self.enters[c - 1]:
                return False
        elif at.cross_nic == 0 and self.views.card_of[net] != self.views.card_of[self.enters[c]]:
            return False
        return at.pattern != Pattern.BALANCED_TREE or step == 0 or net == self.leaves[c]

    def _following(self, gpu: int, step: int, to_net: int, order: TryOrder) -> list[int]:
        """GPUs to try after a GPU, the most promising first (ncclTopoSearchNextGpuSort)."""
        gpus, c = self.system.gpus, self.count
        if order == TryOrder.BUS:
            return [gpus[step + 1]]
        if order == TryOrder.REPLAY:
            return [self.orders[c - 1][step + 1]]
        used = {*self.orders[c][: step + 1]}
        if self.views.has_switch:
            k, n = self.views.place[gpu], len(gpus)
            before, after = gpus[k - 1], gpus[(k + 1) % n]
            first = {Pattern.RING: (before, after), Pattern.TREE: (after,)}.get(self.at.pattern, (after, before))
            return [peer for peer in dict.fromkeys(first) if peer not in used]
        left = [peer for peer in self._ranked(gpu, to_net) if peer not in used]
        scores = self.views.scores[gpu]
        away = to_net not in (-1, step + 1) and len({scores[peer] for peer in left}) == 1
        return left[::-1] if away else left

    def _ranked(self, gpu: int, to_net: int) -> list[int]:
        return self.views.ranked(gpu, -1 if to_net == -1 else self.enters[self.count], self.left)

    def _pulling(self, head: int, budget: _Budget) -> Search:
        """A channel to an NVSwitch crosses every GPU's NVLinks each way, its head's twice (ncclTopoSearchTryNvls)."""
        switch, amount = self.system.of_kind("NVS")[0], self.intra
        ways = [(switch, gpu) for gpu in self.system.gpus] + [(gpu, switch) for gpu in self.system.gpus]
        taken: list[Loads] = []
        for src, dst in ways:
            loads = self._take(src, dst, amount * (2 if head in (src, dst) else 1))
            if loads is None:
                break
            taken.append(loads)
        else:
            yield self._gpu(head, len(self.system.gpus), -1, -1, TryOrder.FREE, budget)
        for loads in taken:
            self._give(loads)
