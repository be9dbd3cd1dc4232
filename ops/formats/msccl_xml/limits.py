"""What the runtimes of MSCCL XML take."""

from sim.errors import Message

RUNTIMES = {"microsoft/msccl": (256, 216), "ROCm/rccl": (64, 64)}
"""Lines per thread block and thread blocks per GPU that each takes; `MSCCL_MAX_NUM_STEPS` and following."""
MOST_COUNT, MOST_PER_CHANNEL = 71, 32
"""Of both runtimes: largest cnt, and thread blocks of a GPU that send, or that receive, on one channel."""
MOST_CHANNELS = 32
"""NCCL's `MAXCHANNELS` where MSCCL is built in, `src/include/devcomm.h`; a parser refuses a `chan` beyond."""

SLOTS = 8
"""Messages that a connection holds until they are received; NCCL's `NCCL_STEPS`."""
HELD_UP = {runtime: Message("limit.under_way", runtime=runtime, most=SLOTS) for runtime in RUNTIMES}
"""What thread blocks break that would deadlock there."""


def broken(steps: int, blocks: int, channels: int) -> dict[str, Message]:
    """The limit that so many steps per thread block, thread blocks per GPU and channels break, by runtime."""
    limits = {}
    for runtime, (most_steps, most_blocks) in RUNTIMES.items():
        for why, count, most in (
            ("limit.steps", steps, most_steps),
            ("limit.blocks", blocks, most_blocks),
            ("limit.channels", channels, MOST_CHANNELS),
        ):
            if count > most:
                limits[runtime] = Message(why, runtime=runtime, most=most, count=count)
                break
    return limits
