"""What runs are called: the sentence above a picture, and the words of runs that stand beside each other."""

import re
import zlib
from itertools import chain

from ops.answers.change import described
from ops.answers.names import called, machine_called
from ops.collectives import COLLECTIVES
from ops.libraries import LIBRARIES
from ops.plan import Plan
from ops.plan.examples import example_captures
from ops.plan.library_choice import collective_of
from ops.plan.notation import differences, entries
from ops.registry import ALGORITHMS
from sim.trace import Trace
from sim.units import fmt_size, parse_size
from ui.text import ENGLISH, say, speaking, spoken, tell, titled, worded

BETWEEN = re.compile(r"(?<=[\u4e00-\u9fff）]) (?=[\u4e00-\u9fff])")
"""A space between Chinese letters, where a page has a word of its own."""


def heading(trace: Trace, language: str, plan: Plan | None = None) -> str:
    """Return the sentence above a run's picture, as the page's title has it; `plan` is where it comes from."""
    spec = plan.algorithm if plan and not plan.schedule else trace.schedule.name
    return heading_of(spec, trace.topology.name, fmt_size(trace.size) if trace.size else "", language)


def heading_of(spec: str, machine_spec: str, size: str, language: str) -> str:
    """Return the sentence above the picture of an algorithm on a machine, with a size in words if it has one."""
    with speaking(language):
        name, machine = spec.partition(":")[0], worded(machine_called(machine_spec))
        before, _, own = name.partition(".")
        collective = own if before in LIBRARIES else before
        if collective not in COLLECTIVES or not (before in LIBRARIES or name in ALGORITHMS):
            return " · ".join(filter(None, [name, machine, size]))
        words = {"collective": begun(titled("collective", collective)), "algorithm": worded(called(name))}
        said = say("title.plan" if size else "title.barrier", language, **words, machine=machine, size=size)
        return BETWEEN.sub("", said)


def run_titles(plan: Plan) -> list[str]:
    """What every run is called, its own first: the words in which they differ."""
    runs = [plan, *plan.others()]
    mentioned = dict.fromkeys(chain.from_iterable(differences(plan.against)))
    names = [*dict.fromkeys("machine" if name == "capture" else name for name in mentioned)]
    several = len({collective_of(run.algorithm) for run in runs}) > 1
    said = {name: [_shown_as(run, name, several=several) for run in runs] for name in names}
    differing = [words for words in said.values() if len(set(words)) > 1] or [*said.values()][:3]
    usual = tell("page.compare.usual")
    return [" · ".join(filter(None, words)) or usual for words in zip(*differing, strict=True)] or [""]


def _shown_as(run: Plan, name: str, *, several: bool) -> str:
    """A word of a run as a person reads it; an algorithm with its collective where there are `several`."""
    if name == "algorithm":
        return begun(algorithm_title(run.algorithm, whole=several))
    if name == "machine" and run.capture:
        example = next((key for key, text in example_captures().items() if text == run.capture), "")
        return example or tell("page.compare.capture", number=f"{zlib.crc32(run.capture.encode()) % 1000:03}")
    value = getattr(run, name)
    if name in ("rates", "counts", "root", "lockstep", "blocking", "ranks") and not value:
        return ""
    return _words(name, str(value) if not isinstance(value, bool) else name)


def _words(name: str, value: str) -> str:
    if name == "size" and value:
        return fmt_size(parse_size(value))
    if name == "machine":
        return machine_title(value)
    if name in ("ranks", "root"):
        return f"{tell(f'page.{name}')} {value}"
    if name in ("fault", "edits"):
        words = [worded(described(name, spec)) for spec in entries(value)]
        return "; ".join(words) or tell("page.compare.faultless" if name == "fault" else "page.compare.unedited")
    if name == "network":
        return value or tell("page.network.own")
    return value or tell("page.compare.usual")


def begun(words: str) -> str:
    """Return words as a sentence begins with them."""
    return words[:1].upper() + words[1:] if spoken() == ENGLISH else words


def algorithm_title(spec: str, *, whole: bool = False) -> str:
    """Return what people call an algorithm, and its collective if it is `whole`, in the language of this visit."""
    return worded(called(spec, beside="." * whole))


def machine_title(machine: str) -> str:
    """Return what people call a machine, and the parameters it is given.

    >>> machine_title("switch:ranks=8"), machine_title("dgx_a100")
    ('ideal switch (ranks=8)', 'DGX A100')
    """
    return worded(machine_called(machine))
