"""The lab: many runs at once, and the questions they answer. Cells, grids, sweeps, maps, searches."""
