"""What the runtimes of MSCCL XML take."""

RUNTIMES = {"microsoft/msccl": (256, 216), "ROCm/rccl": (64, 64)}
"""Lines per thread block and thread blocks per GPU that each takes; `MSCCL_MAX_NUM_STEPS` and following."""
MOST_COUNT, MOST_PER_CHANNEL = 71, 32
"""Of both runtimes: largest cnt, and thread blocks of a GPU that send, or that receive, on one channel."""
MOST_CHANNELS = 32
"""NCCL's `MAXCHANNELS` where MSCCL is built in, `src/include/devcomm.h`; a parser refuses a `chan` beyond."""

SLOTS = 8
"""Messages that a connection holds until they are received; NCCL's `NCCL_STEPS`."""
HELD_UP = {
    runtime: f"{runtime} takes {SLOTS} messages under way on a connection at most, and more wait for each other here"
    for runtime in RUNTIMES
}
"""What thread blocks break that would deadlock there."""


def broken(steps: int, blocks: int, channels: int) -> dict[str, str]:
    """The limit that so many steps per thread block, thread blocks per GPU and channels break, by runtime."""
    limits = {}
    for runtime, (most_steps, most_blocks) in RUNTIMES.items():
        if steps > most_steps:
            limits[runtime] = f"{runtime} takes {most_steps} steps per thread block at most, not {steps}"
        elif blocks > most_blocks:
            limits[runtime] = f"{runtime} takes {most_blocks} thread blocks per GPU at most, not {blocks}"
        elif channels > MOST_CHANNELS:
            limits[runtime] = f"{runtime} takes {MOST_CHANNELS} channels at most, not {channels}"
    return limits
