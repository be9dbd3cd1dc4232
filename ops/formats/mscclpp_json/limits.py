"""What the executor of MSCCL++ takes; `src/core/include/execution_common.hpp` of microsoft/mscclpp."""

from sim.errors import Message

MOST_OPERATIONS = 64
"""Of a thread block; `MAX_OPERATION`."""
MOST_CHANNELS = 16
"""Of a thread block, by type; as many buffers of others; `MAX_CHANNEL`."""
MOST_AT_ONCE, MOST_SEMAPHORES = 8, 16
"""Channels and semaphores that one operation names; `MAX_CHANNEL_PER_OPERATION`, `MAX_DEVICE_SEMAPHORES`."""
MOST_BLOCKS = 108
"""Of a GPU. They wait for each other, so that all must run at once: one on every multiprocessor of an A100 (NVIDIA A100
Tensor Core GPU architecture, 2020: 108 of them)."""


def broken(operations: int, channels: int, buffers: int, blocks: int) -> Message | None:
    """The limit that the largest of these break, or nothing."""
    for count, most, why in (
        (operations, MOST_OPERATIONS, "mscclpp.most_operations"),
        (channels, MOST_CHANNELS, "mscclpp.most_channels"),
        (buffers, MOST_CHANNELS, "mscclpp.most_buffers"),
        (blocks, MOST_BLOCKS, "mscclpp.most_blocks"),
    ):
        if count > most:
            return Message(why, most=most, count=count)
    return None
