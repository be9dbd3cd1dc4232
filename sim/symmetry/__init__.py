"""Equal ranks once: a schedule that looks the same from every rank is proved and timed as that of one rank."""
