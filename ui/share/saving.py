"""Files for a visitor: a click notes which file, the page makes it, and the browser saves it by itself, once.

A click cannot be lost, unlike one on Streamlit's deferred downloads, whose address a page drawn again takes back.
"""

import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from sim.errors import InputError, StalledError
from ui.player.page_script import page_script
from ui.state import become, callback, change, fragment, state, value
from ui.text import plain, prose, retold, tell
from ui.visit import VisitState

SCRIPT = "script_save"


@dataclass(frozen=True)
class FileRequest:
    """A file that somebody asked for: its name and media type, and the function that makes it in a run of the page."""

    name: str
    media: str
    make: Callable[[], str | bytes]


@dataclass(frozen=True)
class MadeFile:
    """A file on its way to the browser, which saves it once for each `number`."""

    number: str
    name: str
    media: str
    data: bytes


def packed(files: Sequence[MadeFile]) -> bytes:
    """Return what the browser is sent: a line of JSON about all files, and then the files."""
    about = [{"number": it.number, "name": it.name, "media": it.media, "size": len(it.data)} for it in files]
    return json.dumps(about, ensure_ascii=False).encode() + b"\n" + b"".join(it.data for it in files)


@dataclass(frozen=True)
class SavingState:
    """The files of a visit that are still to be made, and those that its browser has not saved yet."""

    requests: tuple[FileRequest, ...] = ()
    made: tuple[MadeFile, ...] = ()

    def requested(self, request: FileRequest) -> "SavingState":
        """Note another file; a second click on the same button asks for nothing more."""
        others = [it for it in self.requests if (it.name, it.media) != (request.name, request.media)]
        return replace(self, requests=(*others, request))

    def dropped(self, request: FileRequest) -> "SavingState":
        """Forget a file that cannot be made."""
        return replace(self, requests=tuple(it for it in self.requests if it is not request))

    def finished(self, request: FileRequest, data: bytes) -> "SavingState":
        """Keep a file that has been made until it is saved."""
        made = MadeFile(secrets.token_hex(8), request.name, request.media, data)
        return replace(self.dropped(request), made=(*self.made, made))

    def saved(self, numbers: object) -> "SavingState":
        """Forget files that the browser has saved."""
        gone = numbers if isinstance(numbers, list) else []
        return replace(self, made=tuple(it for it in self.made if it.number not in gone))


def button(label: str, name: str, media: str, make: Callable[[], str | bytes], *, key: str, **looks: Any) -> None:
    """Draw a button that makes a file of this name and saves it; `looks` are further arguments of `st.button`.

    `make` runs while the page is drawn, so it may `ask` a worker. Where it raises InputError or StalledError, the page
    shows that sentence.
    """

    @callback
    def clicked() -> None:
        become(state(SavingState).requested(FileRequest(name, media, make)))

    st.button(label, on_click=clicked, key=key, **looks)


def deliver() -> None:
    """Make what somebody has asked for, and send it to the browser; called where the page ends."""
    place = st.container(key="making").empty()
    for request in state(SavingState).requests:
        with place.container():
            st.markdown(tell("page.share.file", name=plain(request.name)))
            try:
                data = request.make()
            except (InputError, StalledError) as error:
                become(state(SavingState).dropped(request))
                if state(VisitState).stopped is None:
                    st.toast(prose(retold(error)), icon=":material/error:", duration="infinite")
                change(VisitState, stopped=None)
                continue
            except Exception:
                become(state(SavingState).dropped(request))
                raise
        become(state(SavingState).finished(request, data.encode() if isinstance(data, str) else data))
    place.empty()
    _send()


@fragment
def _send() -> None:
    """Send files to the browser until it says that it has saved them.

    What it says can be lost where the page is drawn again meanwhile: so later files do not wait for earlier ones.
    """

    @callback
    def saved() -> None:
        become(state(SavingState).saved(value(SCRIPT).saved))

    made = state(SavingState).made
    page_script("save", "share")(key=SCRIPT, data=packed(made) if made else b"", on_saved_change=saved)
