"""Charts are put together once for all who look at them, and anew for other answers and languages."""

import pytest
from altair import Chart, InlineData

from ui.charts import kept


@pytest.fixture
def bars(monkeypatch):
    """A chart, and what it was made of."""
    made = []

    def chart(rows):
        made.append(rows)
        return Chart(InlineData(values=[{"x": row} for row in rows])).mark_bar().encode(x="x:Q")

    kept._words.cache_clear()
    monkeypatch.setattr(kept, "spoken", lambda: "en")
    return chart, made


def test_a_chart_is_made_once_for_each_answer_and_language(bars, monkeypatch):
    chart, made = bars
    first = kept.words(chart, [1, 2])
    assert kept.words(chart, [1, 2]) is first
    assert kept.words(chart, [1, 3]) != first
    monkeypatch.setattr(kept, "spoken", lambda: "zh")
    kept.words(chart, [1, 2])
    assert made == [[1, 2], [1, 3], [1, 2]]


def test_words_are_what_streamlit_would_make_of_the_chart(bars):
    from streamlit.elements.vega_charts import _convert_altair_to_vega_lite_spec

    chart, _ = bars
    theirs = _convert_altair_to_vega_lite_spec(chart([1, 2]))
    assert kept.words(chart, [1, 2]) == {name: words for name, words in theirs.items() if name != "datasets" or words}
