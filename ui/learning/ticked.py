"""A choice among things of which some are done, as a tick behind their names says."""

from collections.abc import Callable, Collection, Iterable

TICK = " ✓"


def ticked(title: Callable[[str], str], done: Collection[str]) -> Callable[[str], str]:
    """What stands at each of these names."""
    return lambda name: title(name) + TICK * (name in done)


def meant(word: str | None, names: Iterable[str], title: Callable[[str], str]) -> str | None:
    """The name that a browser has chosen; None where it is none of them.

    It sends the words that it has shown, and Streamlit passes them on as they are where the list has others by now: the
    tick has come meanwhile, or another language.
    """
    names = list(names)
    if word is None or word in names:
        return word
    return next((name for name in names if title(name) == word.removesuffix(TICK)), None)
