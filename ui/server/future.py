"""What a player asks by itself: runs leave as soon as they are there, and the page follows.

Before Streamlit's page had as much as begun to draw its own answer a browser would lay all of it out twice.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from starlette.requests import Request as Asked
from starlette.responses import Response

from ops.plan import Plan
from ops.plan.link import from_link
from ops.plan.notation import entries
from sim.errors import InputError, StalledError
from ui.controls import answer as answer_line
from ui.controls import compare, fork
from ui.server.guard import is_same
from ui.text import languages, speaking
from ui.workers import tasks
from ui.workers.one import the_pool
from ui.workers.process import Call

LONGEST = 1 << 16
"""Bytes of what is asked."""
LARGEST = 8 << 20
"""Bytes of what is answered: packing more would keep the server's one process from everybody else."""
REMEDY = "remedy"
"""What is asked of a plan that is slower than the one beside it: what would win the time back."""
NOTHING = b"null"
"""What is answered where the page tells more."""
SECONDS = 1.0
"""How long a future may take here; the page shows how far it is."""
PATIENCE = 30.0
"""How long the search for what wins a loss back may take."""
AT_ONCE, AFTERWARDS = ThreadPoolExecutor(2, "future"), ThreadPoolExecutor(1, "remedy")
"""Who waits for runs here: whoever asks for a thousand keeps no thread from what else the server does."""
MOST = 8
"""Questions that wait for that; who comes then asks the page."""
_QUESTIONS: set[Asked] = set()
NO_QUESTION, NOT_HERE, TOO_LONG = 400, 403, 413
"""What is answered to what no player asks, to another site's page, and to more than can be meant."""


async def future(request: Asked) -> Response:
    """Runs of a plan, or what it is with what is asked, as a player shows them; null where the page tells why not."""
    if not is_same(request.headers.get("origin"), request.headers.get("host", "")):
        return Response(status_code=NOT_HERE)
    text = bytearray()
    async for part in request.stream():
        text += part
        if len(text) > LONGEST:
            return Response(status_code=TOO_LONG)
    whose = request.client.host if request.client else ""
    try:
        named, specs, language = _read(bytes(text))
    except (ValueError, RecursionError):  # the latter for what is nested deeply
        return Response(status_code=NO_QUESTION)
    if specs == REMEDY:
        return await in_turn(request, _remedied, named, language, whose, waits=AFTERWARDS)
    return await in_turn(request, _packed, named, specs, language, whose)


async def in_turn(
    request: Asked, answered: Callable[..., bytes], *words: Any, waits: ThreadPoolExecutor = AT_ONCE
) -> Response:
    """What is answered to these words, by one of few threads; null where the page has more to say, or many ask."""
    if len(_QUESTIONS) >= MOST:
        return answer(NOTHING)
    _QUESTIONS.add(request)
    try:
        return answer(await asyncio.get_running_loop().run_in_executor(waits, answered, *words))
    except (InputError, StalledError, TimeoutError):
        return answer(NOTHING)
    finally:
        _QUESTIONS.discard(request)


def answer(text: bytes) -> Response:
    """An answer in JSON."""
    return Response(text, media_type="application/json")


def runs_of(plan: Plan, language: str, whose: str, largest: int) -> list[compare.Run]:
    """A plan's runs as soon as workers have them, none where they are `largest` bytes or more.

    Raises InputError, StalledError, and TimeoutError after `SECONDS`.
    """
    pool = the_pool()
    calls = [Call(tasks.run, (replace(each, against=""), language)) for each in (plan, *plan.others())]
    jobs = [pool.ask(whose, call) for call in calls]
    try:
        titled = list(compare.titled(plan))
        results = [job.result(SECONDS) for job in jobs]
    finally:
        for job in jobs:
            pool.leave(job)
    if sum(len(result.value) for result in results) > largest:
        return []
    return [(each, result.read(), name) for (name, each), result in zip(titled, results, strict=True)]


def written(packed: Any) -> bytes:
    """What a player gets, as JSON."""
    return json.dumps(packed, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _packed(named: Mapping[str, str], specs: str, language: str, whose: str) -> bytes:
    """What is answered, as JSON. Raises InputError, StalledError or TimeoutError for what the page tells."""
    with speaking(language):
        plan = fork.applied(from_link(named), specs)
        runs = runs_of(plan, language, f"future {whose}", LARGEST)
        return written({"runs": fork.packed(runs), "answer": answer_line.of(runs)}) if runs else NOTHING


def _remedied(named: Mapping[str, str], language: str, whose: str) -> bytes:
    """What a plan's change did to the run beside it, and what would win a loss back, as JSON."""
    plan = from_link(named)
    if len(plan.others()) != 1:
        return NOTHING
    pool, call = the_pool(), Call(tasks.answered, (plan.others()[0], replace(plan, against=""), language))
    job = pool.ask(f"remedy {whose}", call)
    try:
        return written(job.result(PATIENCE).read())
    finally:
        pool.leave(job)


def _read(text: bytes) -> tuple[Mapping[str, str], str, str]:
    """The words of a link, what is asked of it, and the language. Raises ValueError for anything else."""
    match json.loads(text):
        case {"plan": dict(named), "asked": str(specs), "language": str(language)} if (
            language in languages()
            and (specs == REMEDY or entries(specs) or not specs)
            and all(isinstance(word, str) for word in named.values())
        ):
            return named, specs, language
    raise ValueError("nothing that a player asks")
