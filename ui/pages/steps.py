"""The steps of a run for phones: picture, caption, back and forward. The address contains the step."""

from dataclasses import replace

import streamlit as st

from ops.plan.link import from_link
from sim.base.numbers import whole
from sim.errors import InputError, StalledError
from ui.pages import page
from ui.plan.beginning import explaining
from ui.player import component
from ui.player.views import VIEWS
from ui.text import prose, retold, spoken
from ui.workers import tasks
from ui.workers.asking import ask


@page(order=80, listed=False)
def steps() -> None:
    """Draw the page once."""
    words = dict(st.query_params)
    try:
        plan = replace(from_link(words), against="")
        picture = ask(tasks.run, plan, spoken())
    except (InputError, StalledError) as error:
        st.error(prose(retold(error)), icon=":material/link_off:")
        return
    view = words.get("view", "")
    start = component.Start(view=view if view in VIEWS else explaining(plan, [picture.shaped]))
    data = component.player_data([picture.payload["packed"]], spoken(), start, at=whole(words.get("step", "")) or 0)
    component.show_steps(data | {"steps": True}, key="steps_player")
