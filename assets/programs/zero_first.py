"""`torch_distributed_zero_first`: the first process of a host prepares, the others wait and find it done."""

import os
import time
from contextlib import contextmanager

import torch.distributed as dist


@contextmanager
def torch_distributed_zero_first(local_rank):
    """Make all processes in distributed training wait for each local_master to do something."""
    if local_rank not in (-1, 0):
        dist.barrier()
    yield
    if local_rank == 0:
        dist.barrier()


dist.init_process_group("gloo")
local_rank = int(os.environ["LOCAL_RANK"])
cache = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cache.txt")
time.sleep(0.1 * local_rank)  # processes do not start at once
begin = time.time()
with torch_distributed_zero_first(local_rank):
    found = os.path.exists(cache)
    if not found:
        time.sleep(2.0)  # a download
        with open(cache, "w", encoding="utf-8") as file:
            file.write("data")
seconds = time.time() - begin
dist.barrier()
if local_rank == 0:
    os.remove(cache)
print(dist.get_rank(), "found" if found else "prepared", round(seconds, 1))
