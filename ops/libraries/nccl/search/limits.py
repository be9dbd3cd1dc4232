"""What no attempt of NCCL's search can exceed: channels that links and NICs carry, and links that they cross at least.

An attempt whose limits are no better than the best graph so far finds nothing better: only its steps may matter.
"""

import math
from typing import NamedTuple

from ops.libraries.nccl.search.graphs import ChannelGraph, Pattern, SystemViews, whole
from ops.libraries.nccl.search.system import PathType


class Limits(NamedTuple):
    """The most channels of an attempt, and the fewest links that each of them crosses."""

    most: float
    hops: int

    def may_improve(self, at: ChannelGraph, best: ChannelGraph, *, any_shape: bool) -> bool:
        """Whether an attempt may find more bandwidth than there is, or as much with fewer hops.

        Hops are compared between graphs of one pattern, or of any (before 2.8).
        """
        carried, limit = len(best.channels) * best.bw_intra, self.most * at.bw_intra
        if limit != carried:
            return limit > carried
        alike = at.cross_nic == best.cross_nic and (any_shape or at.pattern == best.pattern)
        return alike and best.hops > self.most * self.hops


def limits_of(views: SystemViews, at: ChannelGraph) -> Limits:
    """The limits of an attempt; there are none for heads, and for devices that are not joined."""
    if at.pattern == Pattern.NVLS or PathType.DIS in (at.type_intra, at.type_inter):
        return Limits(math.inf, 0)
    inter, n = views.system.inter, len(views.gpus)
    out = sum(link.bandwidth // int(at.bw_intra) for link in views.links if link.type <= at.type_intra)
    sent = n if at.pattern == Pattern.RING and not inter else n - 1
    ports = sum(port // max(1, whole(at.bw_inter)) for port in views.wires) if inter else at.most
    hops = sent * views.fewest_hops("GPU", "GPU")
    if inter:
        leaves = 2 if at.pattern == Pattern.BALANCED_TREE else 1
        hops += views.fewest_hops("NIC", "GPU") + leaves * views.fewest_hops("GPU", "NIC")
    return Limits(min(at.most, ports, out // sent if sent else at.most), hops)
