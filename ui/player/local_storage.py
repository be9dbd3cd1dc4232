"""What the browser keeps for a person between visits: a list of words, nowhere else."""

from collections.abc import Container

from ui.player.page_script import page_script


def remembered(name: str, words: set[str], allowed: Container[str]) -> set[str]:
    """The words kept under a name, with those of `words` added; only such that are `allowed`.

    On the first run of a visit the browser has not answered yet; it does so with a rerun.
    """
    data = {"name": f"ringside.{name}", "words": sorted(words)}
    mount = page_script("memory")
    answer = mount(key=f"script_memory_{name}", data=data, default={"words": []}, on_words_change=lambda: None)
    stored = answer.words if isinstance(answer.words, list) else []
    return {word for word in (*stored, *words) if isinstance(word, str) and word in allowed}
