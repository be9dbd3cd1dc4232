"""The player under a cell of a notebook: `from ringside.notebook import show`."""

from ui.notebook import show

__all__ = ["show"]
