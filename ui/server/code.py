"""The player's code as browsers fetch it: once, and while Streamlit's own is still being read."""

from starlette.requests import Request
from starlette.responses import Response

from ui.player.component import player_file

STORED = "public, max-age=31536000, immutable"
"""What is said of a file whose name changes with what is in it."""


async def code(request: Request) -> Response:
    """The file, packed for whoever can unpack it."""
    file, packs = player_file(), "gzip" in request.headers.get("accept-encoding", "")
    headers = {"cache-control": STORED, "vary": "accept-encoding"} | ({"content-encoding": "gzip"} if packs else {})
    return Response(file.packed if packs else file.text, media_type="text/javascript", headers=headers)
