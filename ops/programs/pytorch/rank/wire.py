"""One line of JSON per message between a process of the script and the simulator, over a socket of this machine."""

import json
import socket
from typing import Any

Message = dict[str, Any]


class Wire:
    """One end of a connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._lines = connection.makefile("rb")

    def write(self, message: Message) -> None:
        """Send a message. Raises OSError where nobody listens any more."""
        self._socket.sendall(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    def read(self) -> Message | None:
        """Return the next message; None when the other end has closed."""
        try:
            line = self._lines.readline()
        except OSError:
            return None
        if not line.endswith(b"\n"):
            return None
        message: Message = json.loads(line)
        return message

    def close(self) -> None:
        """Close this end."""
        self._lines.close()
        self._socket.close()
