"""Connections of this server: what it has to say leaves at once."""

import os
import socket
from contextlib import suppress
from pathlib import Path

OPEN = Path("/dev/fd")
"""What this process has open, where a system tells."""


def send_at_once() -> None:
    """Have whoever connects to this process from now on sent everything as it is written.

    By default the second of two writes waits until the first has been acknowledged, and whoever acknowledges waits
    40 ms for something to say along with it: for every file of a page, and every message (RFC 896, RFC 1122). asyncio
    switches that off for sockets that were made for TCP by name, which Streamlit's is not; connections inherit it.
    """
    for name in os.listdir(OPEN) if OPEN.exists() else ():
        with suppress(OSError), socket.socket(fileno=os.dup(int(name))) as opened:  # most are no sockets, or closed
            if opened.family in (socket.AF_INET, socket.AF_INET6) and opened.type == socket.SOCK_STREAM:
                opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
