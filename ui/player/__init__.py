"""The canvas player: its modules as one text, the data it shows, what the browser remembers."""
