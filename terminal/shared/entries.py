"""Options that name an entry of a list; what loads a list is loaded when its names are asked for."""

from collections.abc import Callable, Iterable
from typing import Any

import click


class EntryOption(click.Option):
    """An option for the name of an entry of a list; its help ends with the names there are."""

    def __init__(self, *args: Any, of: Callable[[], Iterable[str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._of = of

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Called by click. Only here is the list loaded."""
        record = super().get_help_record(ctx)
        return record and (record[0], f"{record[1]}: {', '.join(self._of())}")
