"""What `nvidia-smi topo -m` prints, as people paste it."""

from sim.formats.nvidia_smi import reader

__all__ = ["reader"]
