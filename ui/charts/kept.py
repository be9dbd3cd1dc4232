"""Charts as pages send them, put together once: most of what a page draws anew with every change is what it was."""

import pickle
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ui.text import spoken

MOST = 32
"""Charts that are kept, whoever looks at them."""


def words(chart: Callable[..., Any], *shown: Any) -> dict[str, Any]:
    """What a function makes of what is to be shown, in Vega-Lite's words for `st.vega_lite_chart`; not to be changed.

    To have Altair make them takes as long as several pages do, most of it to hold each word against a schema.
    """
    return _words(chart, spoken(), pickle.dumps(shown))


@lru_cache(MOST)
def _words(chart: Callable[..., Any], _language: str, shown: bytes) -> dict[str, Any]:
    import altair as alt  # takes a second to load, which no page need wait for that draws nothing

    alt.theme.enable("none")  # the usual one says how large charts are, and pages know better
    made: dict[str, Any] = chart(*pickle.loads(shown)).to_dict(validate=False)
    return made
