"""What pages without a browser need do but once."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.state.session_state import SessionState
from streamlit.testing.v1 import local_script_runner
from streamlit.testing.v1.local_script_runner import LocalScriptRunner


def look_for_components_once() -> None:
    """Each visit would look through every installed package for components of Streamlit's.

    Nothing is installed meanwhile, and looking takes ten times as long as to draw the page.
    """
    if not hasattr(manifest_scanner.scan_component_manifests, "cache_info"):
        manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


def wait_for_pages() -> None:
    """Wait for the end of a page's run, where Streamlit looks through all its messages a thousand times a second."""
    look = local_script_runner.require_widgets_deltas

    def wait(runner: LocalScriptRunner, timeout: float = 3) -> None:
        thread = runner._script_thread
        assert thread is not None
        thread.join(timeout)
        look(runner, 0 if thread.is_alive() else timeout)  # which fails where the page still runs

    if look.__module__ == local_script_runner.__name__:
        local_script_runner.require_widgets_deltas = wait


class Entries(Mapping[str, Any]):
    """The state of a visit, entry by entry: every widget looks for its own, and Streamlit copies all for each."""

    copied = SessionState.filtered_state

    def __init__(self, state: SessionState) -> None:
        self._state = state

    def __getitem__(self, key: str) -> Any:
        return self._state[key]

    def __iter__(self) -> Iterator[str]:
        return iter(Entries.copied.fget(self._state))  # type: ignore[misc]

    def __len__(self) -> int:
        return len([*self])


def look_at_one_entry() -> None:
    """Look up the entry that a widget asks for, in place of a copy of all, an eighth of a page's time."""
    SessionState.filtered_state = property(Entries)  # type: ignore[assignment]
