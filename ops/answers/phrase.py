"""A part of an answer as data: an id and its values, which a language puts into words."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Phrase:
    """Words by id; a value may be a phrase itself.

    Parameters
    ----------
    id : str
        The text, like `answer.slower`.
    values : mapping
        What fills its places.
    shows : str
        What a click on it shows: `link:SRC>DST`, `rank:N` or `part:NAME`; nothing where there is no picture of it.
    """

    id: str
    values: Mapping[str, "str | Phrase"] = field(default_factory=dict)
    shows: str = ""
