"""Commands in forks of one process that has imported what they use: starting Python for each takes longer than they do.

For tests of what a command does that must not leave anything in the test's own process, such as a plug-in.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# What forks end with: as Python's own end, but nothing is freed. To free all that was imported copies the pages that it
# is in: 0.14 s for each fork, most of a short command. Nor are libraries told: lttng-ust, which rclpy loads, would
# cancel two threads that only the first process has (lttng_ust_exit, a segmentation fault). What is no exit code, such
# as an error that nothing has handled, ends Python's way.
END = """
import atexit, os, sys, threading

def end(run):
    try:
        code = run()
    except SystemExit as asked:
        code = asked.code
    if code is not None and not isinstance(code, int):
        sys.exit(code)
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit((code or 0) & 0xFF)
"""
FORKS = (
    END
    + """
import gc, json, os, sys
from importlib import import_module

for name in json.loads(sys.argv[1]):
    import_module(name)
from sim_node.cli.main import main
from sim_node import plugins

gc.freeze()
for line in sys.stdin:
    order = json.loads(line)
    child = os.fork()
    if child == 0:
        for number, path in enumerate((os.devnull, order["out"], order["err"])):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC), number)
        os.chdir(order["folder"])
        os.environ.clear()
        os.environ.update(order["environment"])
        sys.path[:0] = [order["site"]]
        plugins.points.cache_clear()
        sys.argv[1:] = order["words"]
        if order["code"]:
            end(lambda: exec(order["code"], {"__name__": "__main__"}))
        end(main)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
)
# What run and check import, and takes long.
IMPORTED = (
    "mujoco",
    "numpy.ma",
    "sim_node.cli.check",
    "sim_node.cli.run",
    "sim_node.simulation.physics.force_kernels",
    "sim_node.simulation.physics.mujoco_model",
    "sim_node.simulation.sensors.kernels",
    "sim_node.simulation",
    "sim_node.world.bodies",
    "sim_node.world.readers.yaml_world",
)


class Forks:
    """The process, and the commands that it runs one after the other."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, folder: Path, *words: str, site: Path) -> tuple[int, str]:
        """Run sim_node to its end in a folder, with a folder of packages that come first; its exit code and errors."""
        return self._run(folder, site, words, "")

    def python(self, folder: Path, code: str, *, site: Path) -> tuple[int, str]:
        """Run code instead."""
        return self._run(folder, site, (), code)

    def _run(self, folder: Path, site: Path, words: tuple[str, ...], code: str) -> tuple[int, str]:
        order = {
            "folder": str(folder),
            "words": words,
            "code": code,
            "site": str(site),
            "environment": dict(os.environ),
        }
        order |= {name: str(folder / name) for name in ("out", "err")}
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline()), (folder / "err").read_text()


@contextmanager
def forks() -> Iterator[Forks]:
    """Start the process; it is gone at the end."""
    words = [sys.executable, "-c", FORKS, json.dumps(IMPORTED)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Forks(process)
        assert process.stdin
        process.stdin.close()
