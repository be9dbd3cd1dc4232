"""How a machine keeps NCCL's constants: the parameters that layers and own numbers give."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """How machines keep NCCL's constants: what a generation of GPUs and a kind of network cost, layer upon layer."""

    launch: float = 0.0
    """Seconds before anything moves, beside the protocol's base latency; below zero where that is too long."""
    ll128_start: float = 0.0
    """Further seconds with LL128."""
    simple_start: float = 0.0
    """Further seconds with Simple."""
    ll: float = 1.0
    """Factor on every hop with LL."""
    ll128: float = 1.0
    """Factor on every hop with LL128."""
    simple: float = 1.0
    """Factor on every hop with Simple."""
    nvls_hop: float = 1.0
    """Factor on the way to an NVSwitch that adds, and back."""
    net_hop: float = 0.0
    """Seconds that a hop between nodes takes beyond NCCL's constant, whatever the protocol."""
    net_ll128: float = 0.0
    """Further seconds of a hop between nodes with LL128."""
    net_simple: float = 0.0
    """Further seconds of a hop between nodes with Simple."""
    amd_post: float = 1.0
    """Factor on the time in which an AMD CPU posts a message: 2 in NCCL's tuner, but two DGX A100 sum 8 B in 38.6 µs
    with 30 steps."""
    nvlink: float = 1.0
    """Share of what links inside a node carry that rings and trees reach."""
    net: float = 1.0
    """Share of what NICs carry that is reached."""
    net_slot: float = 0.0
    """Share of a slot's copying that a hop between nodes waits for: a message leaves when its slot is full."""
    nvls: float = 0.92
    """Share of NVLinks that in-switch adding reaches with chunks that are long."""
    nvls_gap: float = 0.0
    """Bytes that a channel could have moved from one chunk to an adding switch to the next."""
    peer: float = 0.0
    """Seconds before sends to peers begin, beside all else."""
    peer_share: float = 1.0
    """Share of what rings reach that sends to many peers at once do."""
    own: float = 1.0
    """Factor on the time in which a rank's own block of an alltoall is copied."""
    ends: float = 0.0
    """Factor on `ENDS` with Simple: copying from buffer to buffer before the first step and after the last; 0 for no
    such copying whatever the protocol."""
    slot: float = 0.0
    """Share of a half-full slot that every step with Simple waits for."""

    def as_dict(self) -> dict[str, float]:
        """By name."""
        return asdict(self)
