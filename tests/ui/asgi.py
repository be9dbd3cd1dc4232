"""What an application answers, without a server."""

import asyncio
from concurrent.futures import ThreadPoolExecutor


def messages_of(app, scope, body=b""):
    """The messages that `app` sends for one request, with a body, or socket.

    It runs in a thread of its own: Playwright keeps a loop running in the thread of browser tests, where no other may.
    """
    sent = []

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        sent.append(message)

    with ThreadPoolExecutor(1) as own:
        own.submit(asyncio.run, app(scope, receive, send)).result()
    return sent
