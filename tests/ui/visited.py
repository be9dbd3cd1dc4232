"""The state of a page that a test draws without a browser, read and changed between two runs."""

from dataclasses import replace


def state_of(at, owner):
    """Return the visit's state of a class."""
    return at.session_state[owner.__name__] if owner.__name__ in at.session_state else owner()


def change_state(at, owner, **changes):
    """Change fields of a state."""
    at.session_state[owner.__name__] = replace(state_of(at, owner), **changes)
