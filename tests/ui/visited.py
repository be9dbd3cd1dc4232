"""The state of a page that a test draws without a browser, read and changed between two runs, and clicks in scripts."""

import json
from dataclasses import replace
from unittest.mock import patch

from streamlit.components.v2.bidi_component.main import _make_trigger_id
from streamlit.proto.WidgetStates_pb2 import WidgetState


def state_of(at, owner):
    """Return the visit's state of a class."""
    return at.session_state[owner.__name__] if owner.__name__ in at.session_state else owner()


def change_state(at, owner, **changes):
    """Change fields of a state."""
    at.session_state[owner.__name__] = replace(state_of(at, owner), **changes)


def script_of(at, name):
    """Return the one script of a name that the page has mounted."""
    mounted = [each.proto for each in at.main if each.type == "bidi_component"]
    (script,) = [each for each in mounted if each.component_name == f"ringside_{name}"]
    return script


def click_in(at, name, event, word):
    """Run the page as after a click that its script of a name tells as an event with a word, as JSON has it."""
    told = json.dumps([{"event": event, "value": word}])
    states, proto = at._tree.get_widget_states, script_of(at, name)

    def states_then():
        kept = states()
        kept.widgets.append(WidgetState(id=_make_trigger_id(proto.id, "events"), json_trigger_value=told))
        return kept

    with patch.object(at._tree, "get_widget_states", states_then):
        return at.run()
