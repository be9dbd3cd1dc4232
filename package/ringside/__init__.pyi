# What `import ringside` offers at its top; all else is in `ringside.sim` and `ringside.ops`.

from ops import ALGORITHMS as ALGORITHMS
from ops import algorithm as algorithm
from ops.collectives import COLLECTIVES as COLLECTIVES
from ops.collectives import allreduce as allreduce
from ops.lab.grid import Grid as Grid
from ops.programs import run_program as run_program
from ops.request import Request as Request
from ops.request.call import run as run
from ops.run import Run as Run
from ops.training.world import World as World
from ops.workloads import WORKLOADS as WORKLOADS
from ops.workloads import workload as workload
from sim import units as units
from sim.engine import simulate as simulate
from sim.errors import InputError as InputError
from sim.formats import FORMATS as FORMATS
from sim.formats import read_topology as read_topology
from sim.formats import reader as reader
from sim.formats import rows as rows
from sim.machines import MACHINES as MACHINES
from sim.machines import build as build
from sim.machines import machine as machine
from sim.metrics import algbw as algbw
from sim.metrics import bottleneck as bottleneck
from sim.metrics import busbw as busbw
from sim.schedule import copy as copy
from sim.schedule import reduce as reduce
from sim.topology import Device as Device
from sim.topology import Link as Link
from sim.topology import Topology as Topology
from sim.topology import both_ways as both_ways
from sim.trace import Trace as Trace
from sim.trouble import TROUBLES as TROUBLES
from sim.units import Bandwidth as Bandwidth
from sim.units import GBps as GBps
from sim.units import MiB as MiB
from sim.units import Size as Size
from sim.units import Time as Time
from sim.units import fmt_bandwidth as fmt_bandwidth
from sim.units import fmt_size as fmt_size
from sim.units import fmt_time as fmt_time
from sim.units import ms as ms
from sim.units import parse_bandwidth as parse_bandwidth
from sim.units import us as us

__version__: str
