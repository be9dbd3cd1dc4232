"""`python -m tests.other_python PYTHON`: another interpreter installs the requirements and prints what this one does.

PYTHON is the path of one that is 3.11 or newer, 3.14 say, on a system that has it beside this one; it needs no pip.
Files of tests that follow it are run there, too. What is installed goes to a temporary folder.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from sim.base.machine_code.notices import QUIET

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = (
    "run allreduce.ring --machine dgx_h100 --size 64MiB",
    "workload ddp --machine switch:ranks=4",
    "topology --machine gb200_nvl72",
    "run allreduce.ring --machine switch:ranks=64 --size 1GiB --unfolded --fault slow_link:src=GPU0,dst=SW,start=1us",
)
"""The last one is so large that kernels are compiled."""
TOOLS = ("pytest>=8,<10", "hypothesis>=6.130,<7")


def main(words):
    """0 where both print the same and the tests pass, 1 where not, 2 where there is no such interpreter."""
    if not words or not os.access(words[0], os.X_OK):
        print("tests.other_python: give the path of a Python interpreter, and files of tests", file=sys.stderr)
        return 2
    other, *tests = words
    with tempfile.TemporaryDirectory() as folder:
        listed = ["-r", str(ROOT / "requirements-build.txt"), *(TOOLS if tests else ())]
        install = [sys.executable, "-m", "pip", "--python", other, "install", "--quiet", "--target", folder, *listed]
        if subprocess.run(install, check=False, cwd=ROOT).returncode:
            print(f"tests.other_python: {other} does not get what requirements-build.txt lists", file=sys.stderr)
            return 1
        environment = {**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1", QUIET: "1"}
        failed = sum(not _is_alike(other, line.split(), environment) for line in COMMANDS)
        if tests:
            run = [other, "-m", "pytest", "-p", "no:cacheprovider", *tests]
            failed += bool(subprocess.run(run, check=False, cwd=ROOT, env=environment).returncode)
    return int(failed > 0)


def _is_alike(other, words, environment):
    """Whether a command ends and prints alike in both; the verdict is printed."""
    here = _answer(sys.executable, words, {**os.environ, QUIET: "1"})
    there = _answer(other, words, environment)
    is_alike = here == there and here[0] == 0
    print(f"{'ok' if is_alike else 'DIFFERENT'}: {' '.join(words)}", flush=True)
    if not is_alike:
        print(f"here: {here}\nthere: {there}")
    return is_alike


def _answer(python, words, environment):
    ran = subprocess.run(
        [python, "cli.py", *words], check=False, cwd=ROOT, env=environment, capture_output=True, text=True
    )
    return ran.returncode, ran.stdout, ran.stderr


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
