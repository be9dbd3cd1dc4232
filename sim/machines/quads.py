"""Hosts with four GPUs, as supercomputers and clouds have them."""

from sim.machines import called, server
from sim.registry import titled
from sim.topology.host import AMPERE, GRACE, Place, gpu, nic
from sim.topology.servers import Server, all_to_all, numbered
from sim.units import GBps


@called("polaris")
@server(AMPERE)
@titled("4 A100")
def a100_quad() -> Server:
    """4 A100 with 4 NVLinks between each pair and no switch, each GPU on a NUMA node of its own; 2 NICs.

    As in Polaris, whose `nvidia-smi topo -m` has GPU 0 on NUMA node 3 and GPU 3 on node 0; two 200 Gbit/s NICs.
    """
    leaves = [gpu(i, Place(domain=3 - i)) for i in range(4)]
    leaves += [nic(k, Place(domain=3 * k, bridge=1)) for k in range(2)]
    return Server(leaves, all_to_all(4, 4))


@called("gh200", "alps")
@server(GRACE)
@titled("4 GH200")
def gh200_quad() -> Server:
    """4 GH200 with 6 NVLinks between each pair and no switch, each with its Grace and a 200 Gbit/s NIC.

    As in Alps: 150 GB/s nominal per pair, 6 of 20.6 in NCCL `src/graph/topo.h` (SM90).
    """
    leaves = [gpu(i, Place(domain=i)) for i in range(4)]
    leaves += [nic(k, Place(domain=k, bridge=1)) for k in range(4)]
    return Server(leaves, all_to_all(4, 6))


@called("NC96ads", "Standard_NC96ads_A100_v4")
@server(AMPERE, nic=10 * GBps)
@titled("4 A100 PCIe in pairs")
def a100_pcie_pairs() -> Server:
    """4 A100 PCIe, NVLink bridges on two pairs, each GPU on a NUMA node of its own; one 80 Gbit/s NIC.

    Azure NC96ads v4: NV12 between GPU 0 and 1 and between 2 and 3 by Azure/azhpc-images topology/ncv4-topo.xml,
    although the two of a pair are on different NUMA nodes; 80 Gbit/s by Azure's page of the size.
    """
    leaves = [gpu(i, Place(domain=i)) for i in range(4)]
    leaves.append(nic(0, Place(domain=0, bridge=1)))
    return Server(leaves, numbered({(0, 1): 12, (2, 3): 12}))
