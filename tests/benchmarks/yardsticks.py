"""Two SimPy programs of the ring allreduce, to measure a computer by."""

import time

import simpy

ALPHA, BETA, SIZE = 2e-6, 1 / 25e9, 1 << 30


def naive(n: int) -> int:
    """One SimPy process per rank; links are resources that a message holds while it crosses them."""
    env = simpy.Environment()
    up = [simpy.Resource(env) for _ in range(n)]
    down = [simpy.Resource(env) for _ in range(n)]
    inbox = [simpy.Store(env) for _ in range(n)]

    def message(src, dst):
        with up[src].request() as first, down[dst].request() as second:
            yield first & second
            yield env.timeout(ALPHA + BETA * SIZE / n)
        yield inbox[dst].put(1)

    def rank(r):
        for _ in range(2 * (n - 1)):
            env.process(message(r, (r + 1) % n))
            yield inbox[r].get()

    for r in range(n):
        env.process(rank(r))
    env.run()
    return 2 * n * (n - 1)


def lean(n: int) -> int:
    """The least SimPy can do: a generator per rank, one Timeout and one Event per message, no links at all."""
    env = simpy.Environment()
    steps = 2 * (n - 1)
    arrived = [{} for _ in range(n)]

    def arrival(r, k):
        """The event of rank r's k-th message, made by whoever needs it first and forgotten by the second."""
        event = arrived[r].pop(k, None)
        if event is None:
            event = arrived[r][k] = env.event()
        return event

    def rank(r):
        for k in range(steps):
            yield env.timeout(ALPHA + BETA * SIZE / n)
            arrival((r + 1) % n, k).succeed()
            yield arrival(r, k)

    for r in range(n):
        env.process(rank(r))
    env.run()
    return n * steps


def rate(program, n: int) -> float:
    """Transfers per second of the processor's time that one of them makes."""
    begun = time.process_time()
    return program(n) / (time.process_time() - begun)
