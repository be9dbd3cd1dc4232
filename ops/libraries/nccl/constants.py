"""What NCCL's tuner knows of hardware: NCCL 2.30 `src/graph/tuning.cc`; times in µs, rates in GB/s, as there."""

from typing import Literal

Protocol = Literal["LL", "LL128", "Simple"]
Generation = Literal["Volta", "Ampere", "Hopper", "Blackwell"]
Kind = Literal["NVLINK", "PCI", "NET"]
PROTOCOLS: tuple[Protocol, ...] = ("LL", "LL128", "Simple")
GENERATIONS: tuple[Generation, ...] = ("Volta", "Ampere", "Hopper", "Blackwell")
ALGORITHMS = ("Tree", "Ring", "NVLS", "NVLSTree", "CollNetDirect", "CollNetChain", "PAT")

ABLE = {
    "allreduce": ("Tree", "Ring", "NVLS", "NVLSTree", "CollNetDirect", "CollNetChain"),
    "allgather": ("Ring", "NVLS", "PAT"),
    "reduce_scatter": ("Ring", "NVLS", "PAT"),
    "broadcast": ("Ring",),
    "reduce": ("Ring",),
}
"""Which algorithms a collective has; CollNetDirect's own allgather needs a plugin that few have."""

BASE_LATENCY: dict[str, tuple[float, float, float]] = {
    "Tree": (6.8, 14.0, 8.4),
    "Ring": (6.6, 14.0, 8.4),
    "PAT": (8.0, 8.0, 8.0),
}
"""By protocol, `PROTOCOLS` order; zero for the others."""

HOP_LATENCY: dict[str, dict[Kind, tuple[float, float, float]]] = {
    "Tree": {"NVLINK": (0.6, 1.25, 4.0), "PCI": (1.0, 1.9, 4.0), "NET": (5.0, 8.5, 14.0)},
    "Ring": {"NVLINK": (0.6, 1.9, 3.4), "PCI": (1.0, 2.5, 5.7), "NET": (2.7, 4.0, 14.0)},
    "CollNetDirect": {"NVLINK": (0.0, 0.0, 3.7), "PCI": (0.0, 0.0, 3.7), "NET": (0.0, 0.0, 31.0)},
    "CollNetChain": {"NVLINK": (0.0, 0.0, 2.8), "PCI": (0.0, 0.0, 2.8), "NET": (0.0, 0.0, 30.0)},
    "NVLS": {"NVLINK": (0.0, 0.0, 25.0), "PCI": (0.0, 0.0, 0.0), "NET": (0.0, 0.0, 18.0)},
    "NVLSTree": {"NVLINK": (0.0, 0.0, 25.0), "PCI": (0.0, 0.0, 0.0), "NET": (0.0, 0.0, 20.9)},
    "PAT": {"NVLINK": (0.0, 0.0, 4.0), "PCI": (0.0, 0.0, 4.0), "NET": (0.0, 0.0, 14.0)},
}
"""hwLatencies: what one step costs over each kind of link."""
TREE_LL = 1.8
"""How many times a ring's hop with LL a tree's takes inside nodes, where a rank adds up what two sent it.

Between nodes either is one message, though NCCL's tuner reckons with 5 µs for a tree's and 2.7 for a ring's: 4 nodes of
4 H100 sum 256 bytes in 23 µs, 2 nodes of 8 in 30, 2 nodes of 4 GH200 in 18 and 2 nodes of 8 A100 in 39.
"""

LL_MOST: dict[Generation, tuple[float, float, float]] = {
    "Volta": (39.0, 39.0, 20.4),
    "Ampere": (87.7, 22.5, 19.0),
    "Hopper": (141.0, 45.0, 35.0),
    "Blackwell": (282.0, 90.0, 70.0),
}
"""llMaxBws, over 1, 2 and more nodes."""
RING_LL128_MOST: dict[Generation, tuple[float, float, float]] = {
    "Volta": (20.0, 20.0, 20.0),
    "Ampere": (20.0, 20.0, 20.0),
    "Hopper": (36.7, 36.7, 36.7),
    "Blackwell": (40.0, 40.0, 40.0),
}
TREE_LL128_MOST: dict[Generation, tuple[float, float, float]] = {
    "Volta": (20.0, 20.0, 20.0),
    "Ampere": (20.0, 20.0, 20.0),
    "Hopper": (36.7, 36.7, 29.0),
    "Blackwell": (55.6, 31.67, 20.0),
}
TREE_MOST: dict[Generation, tuple[float, float, float]] = {
    "Volta": (26.5, 18.5, 10.0),
    "Ampere": (24.0, 23.6, 17.8),
    "Hopper": (38.7, 41.4, 36.0),
    "Blackwell": (70.0, 42.8, 24.0),
}
NVLS_TREE_MOST: dict[Generation, tuple[float, float, float]] = {
    "Volta": (26.5, 18.5, 10.0),
    "Ampere": (24.0, 23.6, 17.8),
    "Hopper": (0.0, 57.7, 45.5),
    "Blackwell": (0.0, 96.0, 80.0),
}
"""perChMax tables: GB/s of one channel."""
NVLS_EFFICIENCY: dict[Generation, float] = {"Volta": 0.0, "Ampere": 0.0, "Hopper": 0.85, "Blackwell": 0.74}

TREE_CORRECTION: dict[Protocol, tuple[float, ...]] = {
    "LL": (1, 1, 1, 1, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1, 1, 1),
    "LL128": (1, 1, 1, 1, 1, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1, 1),
    "Simple": (*(0.9,) * 7, 0.8, 0.7, 0.6, 0.6, 0.5, 0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9),
}
"""treeCorrectionFactor: the share of a tree's rate at 64 B, 128 B … 256 MiB."""

_OLD_SPEEDS = (40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3)
SPEEDS: dict[Generation, tuple[float, ...]] = {
    "Volta": _OLD_SPEEDS,
    "Ampere": _OLD_SPEEDS,
    "Hopper": (60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3),
    "Blackwell": (90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18),
}
"""GB/s one channel may carry inside a node, tried from the top: speedArrayIntra in `src/graph/search.cc`."""
_OLD_NET_SPEEDS = (48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, 0.24, 0.12)
NET_SPEEDS: dict[Generation, tuple[float, ...]] = {
    "Volta": _OLD_NET_SPEEDS,
    "Ampere": _OLD_NET_SPEEDS,
    "Hopper": (48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12),
    "Blackwell": (96, 86, 80, 48, 45.1, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12),
}
"""The same between nodes: speedArrayInter."""

POST: dict[Protocol, float] = {"LL": 1.0, "LL128": 1.0, "Simple": 3.0}
"""µs in which a CPU posts a ring's message to its NIC: getNetOverhead, thrice with Simple (`src/graph/tuning.cc`)."""
POST_AMD = 2.0
"""The factor for AMD CPUs in NCCL's tuner."""

MOST_CHANNELS = 16
"""Channels of a graph; each is used twice (`src/graph/connect.cc`), and NCCL has 32."""

THREADS: dict[Protocol, int] = {"LL": 512, "LL128": 640, "Simple": 512}
THRESHOLD: dict[Protocol, int] = {"LL": 8, "LL128": 8, "Simple": 64}
"""Threads of a channel and the bytes each must find for the channel to be kept; LL on a ring needs n times that."""

RCCL_LL = 64 << 10
"""Bytes a rank from which on RCCL does without LL: on eight MI300X allgather and allreduce of 512 KiB start later."""
LAUNCH = 4.2e-6
"""Seconds in which a thread launches NCCL's kernel on one GPU; those of several GPUs come one after the other.

A ring of 2 to 8 A100 in one process sums 8 bytes in 10, 13.8, 16.9, 20.8, 25.2, 29.5 and 33.7 µs: 4.2 for each GPU from
four on (NVIDIA/nccl-tests issue 123).
"""
LINE = 8
"""Bytes of data that a thread sends at once with LL, beside as many of flags."""
PAYLOAD: dict[Protocol, float] = {"LL": 0.5, "LL128": 0.92, "Simple": 1.0}
"""The share of what links carry that is data: LL 8 of 16 B, LL128 120 of 128 B, of which the tuner grants 92%."""
SLOT_DATA: dict[Protocol, float] = {"LL": 16 << 10, "LL128": 576_000}
"""Bytes of data in a slot: LL has 32 KiB and flags in half of them, LL128 600 KiB and flags in a sixteenth."""
SLOTS = 8
"""Slots of a connection's buffer: NCCL_STEPS."""
CHUNK_SLOTS, SLICE_SLOTS = 4, 2
"""Slots that a ring's step moves at once with Simple, and those that go on together (`src/include/collectives.h`)."""
ENDS: dict[Protocol, dict[str, float]] = {
    "LL": {"allreduce": 1.0, "allgather": 1.0, "reduce_scatter": 1.0},
    "LL128": {"allreduce": 0.9, "allgather": 0.9, "reduce_scatter": 0.9},
    "Simple": {"allreduce": 0.4, "allgather": 0.55, "reduce_scatter": 0.5},
}
"""Steps' worth of copying that a ring's first and last primitive take beside its n - 1 sends, or 2(n - 1).

With LL, n ranks run n primitives to send n - 1 blocks, as the last copies out of the buffer. With Simple peers write
where the data belongs, and what is left is the copy from the user's one buffer to the other. Fitted to 2, 4 and 8 GPUs
of three generations.
"""
FIRST_CHUNK = 0.4
"""The share of that copying with Simple which passes beside other steps once the first chunk is on its way."""
ALONE = 1.8
"""How many times its share of the links a channel reaches with LL while the others are idle."""
PEER_LL, PEER_PART = 16 << 10, 64 << 10
"""Bytes to a peer up to which sends use LL, and the least bytes that a channel gets (`src/enqueue.cc`)."""
PEER_EACH = 0.15e-6
"""Seconds that a rank's sends start later for every peer beyond the first.

An alltoall of 512 bytes takes 6.5, 6.5 and 7.4 µs with 2, 4 and 8 H100, 10.5, 12.4 and 12.8 with as many A100, and 10.2
and 10.7 with 4 and 8 B200.
"""
PEER_RATE = 22e9
"""B/s at which one channel sends to a peer with Simple; half of it with LL."""
LOCAL_COPY = 32 * PEER_RATE
"""B/s at which a rank's own block of an alltoall goes from buffer to buffer: the 32 channels of sends, each as fast."""
NVLS_CHANNELS: dict[Generation, tuple[int, int]] = {
    "Volta": (16, 16), "Ampere": (16, 16), "Hopper": (16, 16), "Blackwell": (24, 32)
}  # fmt: skip
"""Channels to an NVSwitch that adds, on one node and on several (`src/transport/nvls.cc`)."""
NVLS_HEADS = 32
"""GPUs of a node at most that head such channels: NCCL_MAX_NVLS_ARITY."""
NVLS_CHUNKS: dict[str, tuple[tuple[int, int], ...]] = {
    "NVLS": ((128 << 10, 64), (64 << 10, 8), (32 << 10, 2), (16 << 10, 0)),
    "NVLSTree": ((128 << 10, 4), (64 << 10, 1), (32 << 10, 0)),
}
"""Bytes that a channel sends for each head at once, and of how many such all of a message consists at least
(`src/enqueue.cc`, calcCollChunking)."""
NVLS_TREE_NODES, NVLS_TREE_CHUNK = 4, 64 << 10
"""From so many nodes on a tree's chunks are of so many bytes at most."""
NVLS_USUAL = 8
"""GPUs of the nodes by which the share that in-switch adding reaches is known."""
NVLS_TREE_GAP = 2
"""How many gaps a chunk waits for that goes on to other nodes: one for its own sum, one for theirs. Two hosts of H100
over InfiniBand, over EFA, and two of B200 agree."""
NVLS_DEPTH = 2 / 3
"""Chunks of all channels in a piece of the simulation, whose last of four stages ends three pieces after the first: as
long as NCCL's three kinds of warps take for two chunks more, one scatters, one adds, one gathers (`all_reduce.h`)."""
