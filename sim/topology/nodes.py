"""Which devices make a node: a host, or all hosts that NVLinks join, as in a rack around NVSwitches."""

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import Ints
from sim.topology.devices import LINK_KINDS

NVL = LINK_KINDS.index("NVL")


def nodes_of(hosts: NDArray[np.int64], kinds: NDArray[np.uint8], ends: tuple[Ints, Ints]) -> NDArray[np.int64]:
    """Return the node of each device, shape (devices,), from devices' hosts and links' kinds and ends.

    A node is named by the least of its hosts. A device on host -1 belongs to no host: it joins the node that its
    NVLinks lead to, else it is a node of its own, named by a negative number.
    """
    own = np.where(hosts >= 0, hosts, -1 - np.arange(len(hosts)))
    wires = kinds == NVL
    src, dst = (own[end[wires]] for end in ends)
    if (src == dst).all():
        return own
    names, of_device = np.unique(own, return_inverse=True)
    place = np.argsort(np.argsort(names < 0, kind="stable"))  # hosts come first: the first of a node names it
    a, b = np.unique(place[of_device[np.stack(ends)[:, wires]]], axis=1)
    first = np.arange(len(names))
    while True:
        least = first.copy()
        np.minimum.at(least, a, first[b])
        np.minimum.at(least, b, first[a])
        least = least[least]
        if (least == first).all():
            break
        first = least
    nodes: NDArray[np.int64] = names[np.argsort(place)][first[place[of_device]]]
    return nodes
