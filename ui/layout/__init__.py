"""Where everything stands at an instant, and what is said of it: layouts, lines, colours and captions."""
