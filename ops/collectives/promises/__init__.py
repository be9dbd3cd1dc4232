"""One file per collective; `ops.collectives.collective` puts its promise on the only list."""
