"""Processes of PyTorch programs, forked from one that has imported torch: that takes seconds, a fork none."""

import atexit
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
from contextlib import suppress

from ops.programs.pytorch.processes import SITE, Process

HERE = os.path.abspath(__file__)
PLAIN = ".plain"


class ForkedProcess(Process):
    """A process of a script, forked by a server."""

    def __init__(self, server, command, environment, rank, echo):
        self.rank = rank
        read, write = os.pipe()
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._line.connect(server)
        request = json.dumps({"argv": list(command[1:]), "environment": dict(environment)}).encode()
        socket.send_fds(self._line, [len(request).to_bytes(4, "big")], [write])
        self._line.sendall(request)
        os.close(write)
        self._answers = self._line.makefile("rb", buffering=0)  # a status that came already stays for `_take`
        self._pid = int(self._answers.readline())
        self._status = None
        self._listen(os.fdopen(read, "rb"), echo)

    @property
    def status(self):
        if self._status is None:
            self._take(0.0)
        return self._status

    def _take(self, seconds):
        with selectors.DefaultSelector() as selector:
            selector.register(self._line, selectors.EVENT_READ)
            if selector.select(seconds):
                self._status = int(self._answers.readline() or b"-9")

    def wait(self, seconds):
        if self._status is None:
            self._take(seconds)
        if self._status is None:
            self.end()
        self._reader.join()
        self._answers.close()
        self._line.close()

    def end(self):
        if self._status is not None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)
        self._take(10.0)


class Server:
    """A process that has imported torch, and forks others with the simulator's parts or, `plain`, without."""

    def __init__(self, folder):
        self.address = os.path.join(str(folder), "fork")
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(HERE))))
        environment = {**os.environ, "PYTHONPATH": root, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, HERE, self.address]
        self._popen = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, start_new_session=True)
        assert [self._popen.stdout.readline() for _ in range(2)] == [b"ready\n"] * 2

    def start(self, command, environment, rank, echo, *, plain=False):
        return ForkedProcess(self.address + PLAIN * plain, command, environment, rank, echo)

    def close(self):
        os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen.communicate()


def serve(address):
    import torch.distributed.fsdp  # what scripts import is imported once
    import torch.distributed.optim
    import torch.distributed.pipelining
    import torch.distributed.tensor.parallel  # noqa: F401

    if os.fork():
        address += PLAIN
    else:
        runpy.run_path(os.path.join(SITE, "sitecustomize.py"))
        for part in ("distributed", "devices", "compute"):  # what follows the import of torch
            importlib.import_module(f"ringside_rank.{part}").install()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(address)
    listener.listen(64)
    listener.settimeout(0.02)
    gc.freeze()
    print("ready", flush=True)
    lines = {}
    while True:
        with suppress(TimeoutError):
            line, _ = listener.accept()
            pid, line = fork(line, [listener, *lines.values()])
            if not pid:
                return line
            lines[pid] = line
        with suppress(ChildProcessError):
            pid, status = os.waitpid(-1, os.WNOHANG)
            while pid:
                with suppress(OSError):
                    lines[pid].sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
                lines.pop(pid).close()
                pid, status = os.waitpid(-1, os.WNOHANG)


def fork(line, others):
    """0 and what to run in the child, its number and the connection in the server."""
    line.setblocking(True)
    size, (output,), *_ = socket.recv_fds(line, 4, 1)
    data = b""
    while len(data) < int.from_bytes(size, "big"):
        data += line.recv(1 << 16)
    request = json.loads(data)
    pid = os.fork()
    if pid:
        os.close(output)
        with suppress(ProcessLookupError, PermissionError):
            os.setpgid(pid, pid)
        line.sendall(b"%d\n" % pid)
        return pid, line
    for other in (line, *others):
        other.close()
    os.setpgid(0, 0)
    os.dup2(output, 1)
    os.environ.clear()
    os.environ.update(request["environment"])
    if "ringside_rank.compute" in sys.modules:  # which looked at another environment
        sys.modules["ringside_rank.compute"].install()
    return 0, request["argv"]


def run_script():
    """Run it as Python does, but leave without taking all of torch apart, which costs more than the script."""
    status = 0
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException as error:  # noqa: BLE001  as Python does at its top
        sys.excepthook(type(error), error, error.__traceback__)
        status = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(status)


if __name__ == "__main__":
    sys.argv = serve(sys.argv[1])
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    run_script()
