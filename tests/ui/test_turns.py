"""Pages are drawn by few threads at once, and one that waits for a worker keeps nobody from drawing."""

import threading

import pytest

from ui.workers.turns import AT_ONCE, aside, turn

PATIENCE = 60


def drawing(held, begun):
    """A thread that has a turn until it is told to end."""

    def draw():
        with turn():
            begun.release()
            held.wait(PATIENCE)

    thread = threading.Thread(target=draw)
    thread.start()
    return thread


def test_so_many_pages_are_drawn_at_once():
    held, begun = threading.Event(), threading.Semaphore(0)
    threads = [drawing(held, begun) for _ in range(AT_ONCE + 1)]
    try:
        assert all(begun.acquire(timeout=PATIENCE) for _ in range(AT_ONCE))
        assert not begun.acquire(blocking=False)
    finally:
        held.set()
    assert begun.acquire(timeout=PATIENCE)
    for thread in threads:
        thread.join()


def test_who_waits_lets_others_draw_and_goes_on_afterwards():
    held, begun = threading.Event(), threading.Semaphore(0)
    with turn():
        with aside():
            threads = [drawing(held, begun) for _ in range(AT_ONCE)]
            assert all(begun.acquire(timeout=PATIENCE) for _ in range(AT_ONCE))
            held.set()
        for thread in threads:
            thread.join()
    with aside():  # without a turn nothing is given away
        pass


def test_a_page_that_ends_with_an_error_leaves_its_turn():
    for _ in range(AT_ONCE + 1):
        with pytest.raises(ZeroDivisionError), turn(), aside():
            raise ZeroDivisionError
