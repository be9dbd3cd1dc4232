"""What workers are copies of once kernels are on disk: importing this loads them."""

from ui.workers.warm import load

load()
