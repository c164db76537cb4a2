"""Ctrl-C at chosen moments of a command that only prints: while it is imported, during its work, and at its end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from nightly import only
from waiting import PATIENCE

# Imports what takes long, and forks a process for each moment, which then sends itself the signal.
PROGRAM = """
import json, os, signal, sys
import mujoco, numba, numpy, scipy.spatial.transform, yaml

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored

def interrupt(*_):
    os.kill(os.getpid(), signal.SIGINT)

class Dying:
    __del__ = interrupt

class Finder:
    def __init__(self, name, act):
        self.name, self.act = name, act
    def find_spec(self, name, path=None, target=None):
        if name == self.name:
            self.name = ""
            self.act()

def started(moment, errors):
    what, name = moment
    if what == "exit":
        import atexit
        atexit.register(interrupt)
    elif what == "import":
        sys.meta_path.insert(0, Finder(name, interrupt))
    elif what == "swallowed":  # in a destructor, where Python prints what is raised
        sys.meta_path.insert(0, Finder(name, lambda: Dying() and None))
    else:  # turned into another error, as numpy's import from C does
        def fail():
            try:
                interrupt()
                for _ in range(1000): pass
            except KeyboardInterrupt:
                raise ImportError("numpy._core.multiarray failed to import") from None
        sys.meta_path.insert(0, Finder(name, fail))
    sys.argv = ["sim_node", "tree", "orbit"]
    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT), 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    from sim_node.cli.main import main
    sys.exit(main())

for row, moment in enumerate(json.load(sys.stdin)):
    child = os.fork()
    if not child:
        started(moment, f"{sys.argv[1]}/{row}")
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
WORKING = "sim_node.simulation.physics.rigid_bodies"
MOMENTS = (
    ("changed", WORKING),
    ("exit", ""),
    *(("import", name) for name in ("sim_node.lazy", "sim_node.cli.commands", "sim_node.cli.tree", WORKING)),
    ("swallowed", WORKING),
)


@pytest.mark.parametrize("moments", only([[*MOMENTS[:3]], [*MOMENTS]], 0))
def test_ctrl_c_at_any_moment_ends_it_quietly_with_130(tmp_path: Path, moments: list[tuple[str, str]]) -> None:
    """From the first line of the package on; before, Python imports its own modules, and says of them what it likes."""
    program = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    ran = subprocess.run(program, input=json.dumps(moments), capture_output=True, text=True, timeout=PATIENCE)
    codes = ran.stdout.split()
    told = [(tmp_path / str(row)).read_text(encoding="utf-8") for row in range(len(moments))]
    assert list(zip(moments, codes, told, strict=True)) == [(moment, "130", "") for moment in moments], ran.stderr
