"""A bar for what takes long, drawn where a person is looking."""

import sys
from itertools import count
from typing import Any

import click


class Bar:
    """Call it with how many are done, and of how many (0 where nobody knows): `cells  [##----]  512/2000  00:01:12`."""

    def __init__(self, what: str) -> None:
        self._what, self._done = what, 0
        self._bar: Any = None

    def __call__(self, done: int, of: int) -> None:
        """Draw, if standard error is a terminal. The line ends when the command does, however it does."""
        if self._bar is None:
            self._bar = click.progressbar(
                count() if of == 0 else None,
                length=of or None,
                label=self._what,
                show_pos=True,
                show_eta=of > 0,
                file=sys.stderr,
                hidden=not sys.stderr.isatty(),
                update_min_steps=max(1, of // 500),
            )
            self._bar.render_progress()
            click.get_current_context().call_on_close(self._end)
        self._bar.update(done - self._done)
        self._done = done

    def _end(self) -> None:
        """Draw what came last, and give the cursor back."""
        self._bar.render_progress()
        self._bar.render_finish()
