"""What workers of a cluster are sent that knows nothing of the project."""

import io
import os
import pickle
import pickletools
import subprocess
import sys
import zipfile
from concurrent.futures import Future

import pytest

from ops.lab.cells import rows
from ops.lab.pool import Pool, carried_out
from ops.lab.sent import RemoteCall, packed
from ops.plan import Plan
from sim.errors import InputError

CELL = Plan("allreduce.ring", "switch:ranks=2", size="1MiB")
ELSEWHERE = """
from ops.lab.cells import rows
from ops.plan import Plan
import ops
print(ops.__file__, rows([Plan("allreduce.ring", "dgx_a100:hosts=2", size="1MiB")])[0]["verified"])
"""


def test_a_worker_that_lacks_a_package_is_told_in_one_sentence():
    call = Future()
    call.set_exception(ModuleNotFoundError("No module named 'simpy'", name="simpy"))
    with pytest.raises(InputError, match=r"lacks simpy: install what requirements\.txt lists where it runs"):
        list(carried_out([CELL], Pool(lambda _: call, 1, ())))


def test_what_a_scheduler_unpacks_names_nothing_of_ours():
    task = RemoteCall(rows, [CELL]).task()
    names = [value for _, value, _ in pickletools.genops(pickle.dumps((pickle.loads, task))) if isinstance(value, str)]
    assert names == ["_pickle", "loads"]
    ((row,),) = [pickle.loads(task)]
    assert row == rows([CELL])[0]


def test_what_workers_are_sent_is_all_that_a_cell_needs(tmp_path):
    with zipfile.ZipFile(io.BytesIO(packed(rows.__module__))) as archive:
        archive.extractall(tmp_path)
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    told = subprocess.run(
        [sys.executable, "-c", ELSEWHERE], cwd=tmp_path, env=plain, capture_output=True, text=True, check=False
    )
    assert told.stdout.split() == [str(tmp_path / "ops" / "__init__.py"), "True"], told.stderr


def test_an_installed_package_keeps_its_name():
    names = zipfile.ZipFile(io.BytesIO(packed("ringside.ops.lab.cells"))).namelist()
    assert "ringside/ops/lab/cells.py" in names
    assert all(name.startswith("ringside/") for name in names)
