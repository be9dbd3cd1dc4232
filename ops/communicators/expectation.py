"""What programs and workloads say of NCCL's collectives in them: whose tables chose, and what error to expect."""

from collections.abc import Iterable
from typing import TypedDict

from ops.communicators.records import CallRecord
from ops.libraries.nccl.releases import NEWEST


class Expectation(TypedDict):
    """`nccl` is the release whose tables chose, None where NCCL had nothing to do.

    `expected_error` is None: collectives that share links with others are timed by the links and a library's usual
    costs, not by the layers that measurements were fitted with, so that no measurement tells how far off they are.
    """

    nccl: str | None
    expected_error: float | None


def expectation(calls: Iterable[CallRecord]) -> Expectation:
    """That of the collectives among `calls`.

    >>> expectation([CallRecord(name="allreduce", algorithm="allreduce.ring", ranks=(0, 1), size=8, protocol="LL")])
    {'nccl': '2.30', 'expected_error': None}
    >>> expectation([CallRecord(name="allreduce", algorithm="allreduce.ring", ranks=(0, 1), size=8)])["nccl"]
    """
    return {"nccl": NEWEST if any(call.protocol for call in calls) else None, "expected_error": None}
