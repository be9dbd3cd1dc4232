"""Servers of eight RTX PRO 6000 on PCIe."""

from dataclasses import replace

from sim.machines import called, server
from sim.registry import titled
from sim.topology.host import HOPPER, Place, gpu, nic
from sim.topology.servers import Server
from sim.units import GBps


@called("rtx-pro-6000-blackwell")
@server(replace(HOPPER, generation="Blackwell"), ("pcie", "sys", "nic", "nic_latency"), sys=40 * GBps)
@titled("8 RTX PRO 6000")
def rtx_pro_6000() -> Server:
    """8 RTX PRO 6000 Blackwell on PCIe gen5 x16, four on each of two EPYC Turin, no NVLink; a 400 Gbit/s NIC a socket.

    `pcie` is 48 GB/s by NCCL `src/graph/topo.h` (gen5); `sys` what peers of two sockets reach, as nccl-tests on eight
    tuned cards have a bus bandwidth of 37.6 GB/s (22.2 untuned) and 41.1 under one CPU's switches.
    """
    gpus = [gpu(i, Place(domain=i // 4, bridge=i % 4)) for i in range(8)]
    return Server(gpus + [nic(k, Place(domain=k, bridge=4)) for k in range(2)])
