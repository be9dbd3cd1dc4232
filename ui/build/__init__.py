"""The board on which a schedule is drawn: what the browser is sent, and the words it is told in."""
