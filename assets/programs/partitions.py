"""ZeRO's updated parameters come back to all ranks: `allgather_partitions`, or a broadcast from every owner."""

import time

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank, n = dist.get_rank(), dist.get_world_size()


def brought_together(allgather_partitions, size=1 << 20):
    whole = torch.zeros(size)
    partitions = list(whole.chunk(n))
    partitions[rank].fill_(rank + 1)  # this rank's optimizer has updated its own partition
    begin = time.time()
    if allgather_partitions:
        dist.all_gather_into_tensor(whole, partitions[rank].clone())
    else:
        for owner, partition in enumerate(partitions):
            dist.broadcast(partition, src=owner)
    return whole, time.time() - begin


(gathered, one), (sent, other) = brought_together(True), brought_together(False)
print(rank, torch.equal(gathered, sent), gathered.sum().item(), "all-gather first:", one < other)
