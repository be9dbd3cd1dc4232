"""What attacks have found, made anew and small: each is read, or refused in a sentence of its reader's own."""

import pytest

from ops.formats import read_schedule
from ops.measured.files import read_tables
from ops.plan import plan_file
from ops.training.layers import parse_layers
from sim.errors import LONGEST, InputError
from sim.formats import read_topology
from sim.machines import build
from sim.units import parse_time
from tests.tables import each_row

MANY = "9" * 5000
HWLOC = (
    '<topology version="2.0"><object type="Machine" gp_index="{0}"><object type="Package" gp_index="2">'
    '<info name="CPUModelNumber" value="{0}"/><object type="PCIDev" gp_index="²" pci_busid="0000:06:00.0"'
    ' pci_type="0302 [10de:06d2] [00de:0030] a3 00" pci_link_speed="{1}">'
    '<object type="OSDev" gp_index="9" name="cuda0" subtype="CUDA" osdev_type="5"/></object></object></object>'
    "</topology>"
)
NCCL = (
    '<system version="1"><cpu numaid="0" affinity="ff" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="{}">'
    '<pci busid="0000:01:00.0" class="0x030200" link_speed="16 GT/s" link_width="16">'
    '<gpu dev="0" sm="{}" rank="0"><nvlink target="fffffff:ffff:ff" count="4" tclass="0x068000"/></gpu></pci>'
    "</cpu></system>"
)
TESTS = (
    "#       size         count      type   redop     time   algbw   busbw  error\n"
    "#        (B)    (elements)                       (us)  (GB/s)  (GB/s)\n"
    "{}  {}  float  sum  10.0  0.10  0.20  0e+00\n 2048  512  float  sum  20.0  0.10  0.20  0e+00\n"
)
OSU = "# OSU MPI Allreduce Latency Test v5.9\n# Size       Avg Latency(us)\n{}    {}\n8     2.5\n"
NAMED = "Collective, Algorithm,bytes,median_us\nallgather,ring,{},{}\n"

READ = {
    "hwloc: ² for a number": lambda: read_topology(HWLOC.format("²", "15.75"), "it").n == 1,
    "NCCL: ² for a CPU's model": lambda: read_topology(NCCL.format("²", "80"), "it").n == 1,
    "nccl-tests: 5,000 digits": lambda: len(read_tables(TESTS.format(MANY, "256"), "it")[0].rows) == 1,
    "nccl-tests: a count of 5,000": lambda: len(read_tables(TESTS.format("1024", MANY), "it")[0].rows) == 1,
    "OSU: 5,000 digits": lambda: len(read_tables(OSU.format(MANY, "1.0"), "it")[0].rows) == 1,
    "OSU: a time of 5,000": lambda: len(read_tables(OSU.format("4", MANY), "it")[0].rows) == 1,
    "OSU: GPUs of 5,000 digits": lambda: (
        len(read_tables(f"# HIP_VISIBLE_DEVICES=0,{MANY}\n" + OSU.format("4", "1.0"), "it")[0].rows) == 2
    ),
    "named: other letters in the header": lambda: (
        read_tables(NAMED.format(8, 1.5), "it")[0].rows[0].algorithm == "ring"
    ),
    "a time too small for Decimal": lambda: parse_time("1e-99999999999999999999s") == 0,
    "a plan: a name that ends with a line": lambda: (
        (plan := plan_file.from_yaml('ringside: scenario-1\nmachine: "dgx_a100\n\n"\n', "it"))
        == plan_file.from_yaml(plan_file.to_yaml(plan), "it")
    ),
}


@each_row("what", READ)
def test_what_can_be_read_is(what):
    assert READ[what]()


REFUSED = {
    "hwloc: NaN": (lambda: read_topology(HWLOC.format("1", "nan"), "it"), "pci_link_speed is 'nan'"),
    "NCCL: 5,000 digits": (lambda: read_topology(NCCL.format("1", MANY), "it"), "sm='9{20}' is no whole number"),
    "named: a field of 140,000": (
        lambda: read_tables(NAMED.format('"' + "x" * 140_000 + '"', 1), "it"),
        r"line 2: no row of CSV \(field larger than field limit",
    ),
    "named: a short row": (
        lambda: read_tables("collective,algorithm,bytes,median_us\nallgather,ring\n", "it"),
        "line 2: bytes or median_us is no number",
    ),
    "columns without a name": (lambda: read_tables("a,b\nring,x,36,allgather,,,8,1\n", "it"), "it is no output of"),
    "nccl-tests: a bandwidth too small for Decimal": (
        lambda: read_tables(TESTS.replace("0.10", "1e-2147483647").format("1024", "256"), "it"),
        "size over time is not algbw: 0.1024 GB/s, not 1e-2147483647, in line 3",
    ),
    "nccl-tests: a bandwidth too large for Decimal": (
        lambda: read_tables(TESTS.replace("0.10", "1e2147483647").format("1024", "256"), "it"),
        "no time in it in line 3",
    ),
    "an exponent beyond Decimal": (
        lambda: build("switch:ranks=2,bandwidth=1e999999999999999999999999999GBps"),
        "is not a finite number",
    ),
    "layers: ²": (lambda: parse_layers("fc ² 1ms 2ms"), "'²' is no shape"),
    "matrix: a negative count": (lambda: read_schedule("0 1\n-1 0\n", "it"), "'-1' is no whole number of 0 or more"),
    "goal: 5,000 digits": (
        lambda: read_schedule(f"num_ranks 2\nrank 0 {{\nl1: send {MANY}b to 1\n}}\n", "it"),
        "send 9{20} is beyond a day or 1 PiB",
    ),
    "a plan: 5,000 digits": (
        lambda: plan_file.from_yaml(f"ringside: scenario-1\nranks: {MANY}\n", "it"),
        "line 2: ranks='9{20}' is not a whole number: correct it",
    ),
}


@each_row("what", REFUSED)
def test_what_cannot_is_told_in_a_sentence_of_its_own(what):
    read, told = REFUSED[what]
    with pytest.raises(InputError, match=told) as refusal:
        read()
    assert len(str(refusal.value)) <= LONGEST
