"""An installation that nobody can write to, run by somebody without a home, as in a hardened container."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import sim_node

PACKAGE = Path(sim_node.__file__).parent
NOWHERE = "/proc/nonexistent"
MAINS = """
import json, sys
from sim_node.cli.main import main
print([main(command) for command in json.loads(sys.argv[1])])
"""

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def read_only(tmp_path: Path) -> Run:
    """Runs a command that sees the package on a read-only mount, and no place of a user's."""
    mount = f"mount --bind '{PACKAGE}' '{PACKAGE}' && mount -o remount,bind,ro '{PACKAGE}' && exec \"$@\""
    namespace = ("unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]))
    before = (*namespace, "sh", "-c", mount, "sh")
    homeless = {name: f"{NOWHERE}/{name}" for name in ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")}
    environment = {
        name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "ROS_LOG_DIR", "ROS_HOME")
    }
    # What is compiled anew here need not be fast.
    environment |= homeless | {"TMPDIR": str(tmp_path), "NUMBA_OPT": "0"}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*before, *command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    if shutil.which("unshare") is None or run("true").returncode:
        pytest.skip("this machine allows no mount in a namespace")
    assert run("touch", str(PACKAGE / "written")).returncode != 0
    return run


CONVERT = ["convert", "--from", "LLA", "--to", "ECEF", "47,8,400"]
ALL = [
    ["run", "quadrotor", "--no-ros", "--speed", "max", "--duration", "0.1"],
    ["snap", "four_bar"],
    ["lookup", "orbit", "map", "drone/base_link", "--at", "1"],
    CONVERT,
    ["render", "cart_pole", "-o", "cart.png"],
]


# All of them compile for half a minute; this one for three seconds.
# make test runs the node there, below, and a kernel without a folder to keep it in, in test/geometry/test_kernel.py.
@pytest.mark.nightly
@pytest.mark.parametrize("commands", [[CONVERT], ALL], ids=["convert", "all"])
def test_the_command_line_works(commands: list[list[str]], read_only: Run, tmp_path: Path) -> None:
    """In one process, which compiles what it needs once: bodies, links, mates, sensors, keyframes, a picture."""
    ran = read_only(sys.executable, "-c", MAINS, json.dumps(commands))
    assert ran.stdout.splitlines()[-1] == str([0] * len(commands)), ran.stderr
    assert ran.stderr.count("compiled kernels cannot be cached") == 1
    assert (tmp_path / "cart.png").exists() == (commands is ALL)


def test_the_node_works(read_only: Run, ros_domain: int, tmp_path: Path) -> None:
    ran = read_only(sys.executable, "-m", "sim_node.cli.main", "run", "orbit", "--duration", "0.1")
    assert ran.returncode == 0, ran.stderr
    assert f"{NOWHERE}/HOME/.ros/log is not writable; ROS logs go to {tmp_path}/" in ran.stderr


# Takes seconds: make test has the node there.
@pytest.mark.nightly
def test_a_log_folder_that_was_asked_for_is_not_replaced(read_only: Run, ros_domain: int) -> None:
    ran = read_only(
        "env",
        f"ROS_LOG_DIR={NOWHERE}/log",
        sys.executable,
        "-m",
        "sim_node.cli.main",
        "run",
        "orbit",
        "--duration",
        "0.1",
    )
    assert ran.returncode == 2
    assert f"{NOWHERE}/log" in ran.stderr
    assert "Traceback" not in ran.stderr
