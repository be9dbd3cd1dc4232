"""Times by system and number of GPUs of one host, as CSV: `system, nccl, collective, gpus, size_bytes, time_us`.

The columns are those of the measurements that NVIDIA took for github.com/ai-dynamo/aiconfigurator (Apache-2.0).
"""

from ops.measured.formats import reader
from ops.measured.formats.columns import has_columns, rows_of
from ops.measured.rows import Measured, Table
from sim.base.numbers import real, whole
from sim.errors import InputError
from sim.units import us

NEEDED = ("system", "collective", "gpus", "size_bytes", "time_us")


def matches(text: str) -> bool:
    """Whether the first line names these columns."""
    return has_columns(text, NEEDED)


@reader("by_gpus", "times by system and GPUs (CSV)", matches=matches, endings=("csv",), precedence=1)
def read(text: str, *, name: str) -> list[Table]:
    """A table for every system, collective and number of GPUs, in the order of the file. Raises InputError."""
    tables: dict[tuple[str, str, str, int], list[Measured]] = {}
    for number, row in rows_of(text, name, NEEDED, ("nccl",)):
        gpus, size, time = whole(row["gpus"]), whole(row["size_bytes"]), real(row["time_us"])
        if gpus is None or size is None or time is None:
            raise InputError("csv.gpus_number", file=name, line=number)
        if gpus < 2 or size <= 0 or time <= 0:
            raise InputError("csv.no_measurement", file=name, line=number, gpus=gpus, size=size, time=time)
        key = (row["system"], row["nccl"], row["collective"], gpus)
        tables.setdefault(key, []).append(Measured(row["collective"], gpus, size, time * us, line=number))
    if not tables:
        raise InputError("csv.no_row_of_size", name=name)
    return [
        Table(name, "nccl-tests", tuple(rows), gpus, gpus, (system,), forced={"nccl": nccl} if nccl else {})
        for (system, nccl, _, gpus), rows in tables.items()
    ]
