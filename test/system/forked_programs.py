"""Programs as `processes.program` starts them, but forked from a process that has imported what they use.

To import it takes most of the time of a program that a test starts, and to load the compiled kernels of a vehicle most
of what is left: the process has flown one. Where the start itself is tested, use `processes`.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, TextIO

from forked import END, IMPORTED
from processes import SIM_NODE, Program, Started, ended_after

# Each program is the child of a process that waits for it, and tells its id and its exit code.
PARENT = (
    END
    + """
import array, gc, json, os, signal, socket, sys
from importlib import import_module

for name in json.loads(sys.argv[1]):
    import_module(name)
from sim_node.cli.main import main
from sim_node.simulation import Simulation
from sim_node.world import load

simulation = Simulation(load("quadrotor"))
simulation.run(0.02)
simulation.close()
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
orders = socket.socket(fileno=int(sys.argv[2]))
gc.freeze()
while True:
    text, received, *_ = orders.recvmsg(1 << 20, socket.CMSG_SPACE(8))
    if not text:
        sys.exit()
    output, told = array.array("i", received[0][2])
    if os.fork() == 0:
        break
    os.close(output)
    os.close(told)
signal.signal(signal.SIGCHLD, signal.SIG_DFL)
program = os.fork()
if program:
    os.close(output)
    os.write(told, f"{os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])}\\n".encode())
    os._exit(0)
os.setsid()
os.write(told, f"{os.getpid()}\\n".encode())
order = json.loads(text)
for number, file in enumerate((os.open(os.devnull, os.O_RDWR), output, output)):
    os.dup2(file, number)
for file in (orders.fileno(), output, told):
    os.close(file)
orders.detach()
os.chdir(order["folder"])
os.environ.clear()
os.environ.update(order["environment"])
sys.argv[:] = order["words"]
for stream in (sys.stdout, sys.stderr):
    stream.reconfigure(write_through=True)
end(main)
"""
)
# What nodes import beside that. rclpy has no context until it is initialised, and loads no middleware.
NODES = (
    *(f"{each}.msg" for each in ("diagnostic_msgs", "geometry_msgs", "nav_msgs", "rosgraph_msgs", "sensor_msgs")),
    *(f"{each}.msg" for each in ("std_msgs", "tf2_msgs", "visualization_msgs")),
    *("rclpy.node", "std_srvs.srv"),
    *(f"sim_node.{each}" for each in ("mavlink.bridge", "recording.opening", "recording.player", "recording.recorder")),
    *(f"sim_node.{each}" for each in ("cli.run_node", "ros.bridge_beside", "ros.simulation")),
)
# What programs read when they want to know it, or when they import JAX, OpenGL or rclpy: not what forks have imported.
# Several are set by what a test imports, draws or listens with.
READ_LATER = {
    *("PIP_NO_INDEX", "PYTEST_CURRENT_TEST", "PYTHONUNBUFFERED", "ROS_DOMAIN_ID", "ROS_LOG_DIR"),
    *("FASTDDS_DEFAULT_PROFILES_FILE", "FASTRTPS_DEFAULT_PROFILES_FILE", "JAX_ENABLE_X64", "PYOPENGL_PLATFORM"),
}


class Forked:
    """A forked program."""

    def __init__(self, told: TextIO, stdout: TextIO) -> None:
        self.pid = int(told.readline())
        self.stdout: IO[str] | None = stdout
        self.returncode: int | None = None
        self._told = told

    def poll(self) -> int | None:
        return self._ended_within(0.0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._ended_within(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        return code

    def _ended_within(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self._told], [], [], seconds)[0]:
            self.returncode = int(self._told.readline())
            self._told.close()
        return self.returncode

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, sig)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class ForkedProgram(Program):
    """A program that is forked where it is sim_node, and started otherwise."""

    def start(self, command: Sequence[str], environment: dict[str, str]) -> Started:
        if command[0] != str(SIM_NODE):
            return super().start(command, environment)
        orders, _ = parent(frozenset(each for each in environment.items() if each[0] not in READ_LATER))
        (read, output), (told, tell) = os.pipe(), os.pipe()
        order = {"words": command, "environment": environment, "folder": str(Path.cwd())}
        socket.send_fds(orders, [json.dumps(order).encode()], [output, tell])
        os.close(output)
        os.close(tell)
        return Forked(os.fdopen(told, encoding="utf-8"), os.fdopen(read, encoding="utf-8"))


@lru_cache(4)
def parent(environment: frozenset[tuple[str, str]]) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Start the process that programs are forked from; it takes orders by a socket, and ends where that is closed."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    words = [sys.executable, "-c", PARENT, json.dumps(IMPORTED + NODES), str(theirs.fileno())]
    started = subprocess.Popen(
        words, env=dict(environment), pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True
    )
    theirs.close()
    return ours, started


@contextmanager
def program(command: Sequence[str | Path], **environment: str) -> Iterator[Program]:
    """A program that is gone at the end, however the test ends."""
    with ended_after(ForkedProgram(command, **environment)) as running:
        yield running


def finished(command: Sequence[str | Path]) -> tuple[int, str]:
    """Run a program to its end. Return its exit code and its output."""
    with program(command) as running:
        return running.wait(), running.output
