"""NCCL as it chooses: its tuner's table, the rings and trees it builds on a machine, and what that costs in time."""
