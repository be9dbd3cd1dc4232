"""Plans as MSCCL++ wrote them before 0.8, in drafts of that release too: known by names that have changed since.

Source: `execution_plan.cc` of microsoft/mscclpp at v0.6.0, v0.7.0 and v0.8.0.
"""

from collections.abc import Iterator
from typing import Any

CHUNKS = ("input_chunks", "output_chunks", "scratch_chunks")
KEYS = ("inputChunks", "outputChunks", "scratchChunks", "chunkGroups", "nvls_channels")
OPERATIONS = ("rpkt", "rrc", "rrcs", "rs", "rspkt", "tpkt", "ucpkt")
OPERANDS = ("i_buff", "o_buff", "srcbuff", "dstbuff", "cids", "i_cids", "o_cids", "ctype")


def age_of(plan: Any) -> str:
    """Return what shows that a plan is older than 0.8; nothing for one that is not, or is no plan."""
    gpus = [gpu for gpu in _list(plan, "gpus") if isinstance(gpu, dict)]
    return next((sign for gpu in gpus for sign in _signs(gpu)), "")


def _signs(gpu: dict[str, Any]) -> Iterator[str]:
    yield from (f"{key} in a gpu" for key in KEYS if key in gpu)
    if "threadblocks" in gpu:
        yield from (f"no {key} in a gpu" for key in CHUNKS if key not in gpu)
    for channel in _list(gpu, "channels"):
        if isinstance(channel, dict):
            yield from ("connectedTo in a channel" for _ in range("connectedTo" in channel))
            yield from ("no channel_type in a channel" for _ in range("channel_type" not in channel))
            if channel.get("channel_type") == "switch" and "rank_groups" not in channel:
                yield "no rank_groups in a switch channel"
    for block in _list(gpu, "threadblocks"):
        for op in _list(block, "ops"):
            if isinstance(op, dict):
                yield from (f"the operation {name}" for name in OPERATIONS if op.get("name") == name)
                yield from (f"{key} in an operation" for key in OPERANDS if key in op)


def _list(value: Any, key: str) -> list[Any]:
    """Return a member that is a list; an empty one where there is none."""
    member = value.get(key) if isinstance(value, dict) else None
    return member if isinstance(member, list) else []
