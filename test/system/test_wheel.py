"""The built wheel in an empty environment, alone and with each extra: every command works, or names what it lacks.

`make test-wheel` runs it; it takes minutes, and it is the only test that downloads packages.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from claims import free_domain
from installing import copy_sources
from waiting import PATIENCE

from sim_node.cli.commands import SHIPPED
from sim_node.simulation.requests import REQUESTS

# To make an environment and compile its kernels takes long on a busy machine.
pytestmark = [pytest.mark.wheel, pytest.mark.timeout(7200)]
EXTRAS = tuple(metadata.metadata("sim_node").get_all("Provides-Extra") or ())
SCRIPT = "import sim_node.extensions.elodin as el\nworld = el.World()\nworld.run(None)\n"
MODEL = "Yard is Physics3D.System:\n    ball is Physics3D.Bodies.RigidBody\n"
# Each command as it is run, and the extras that it needs, in the order in which it misses them; of A|B either, and a
# message names A. They run in this order, in one folder.
COMMANDS: tuple[tuple[str, str], ...] = (
    ("worlds", ""),
    ("check orbit", ""),
    ("check ball.openplx", ""),
    ("schema", ""),
    ("new world yard", ""),
    ("run guided --no-ros --duration 0.5 --speed max --record bag", ""),
    ("tree orbit", ""),
    ("tree bag", ""),
    ("lookup delivery map drone/base_link --at 5", ""),
    ("lookup bag map drone/base_link --at 0.2", ""),
    ("info bag", ""),
    ("diff bag bag", ""),
    ("repair bag -o repaired", ""),
    ("plot bag /drone/truth/odom.pose.pose.position.z -o plot.png", ""),
    ("export bag --csv csv", ""),
    ("export bag --parquet parquet", "export"),
    ("export bag -o bag.rrd", "export"),
    ("render orbit -o picture.png", ""),
    ("render orbit --video film.mp4 --duration 0.2", ""),
    ("rviz orbit -o orbit.rviz", ""),
    ("snap four_bar", ""),
    ("convert 1,2,3 --from NED --to ENU", ""),
    ("urdf arm -o arm.urdf", ""),
    ("scene orbit -o scene.json", ""),
    ("check scene.json", ""),
    ("completion bash", ""),
    ("run script.py --no-ros --duration 0.1 --speed max", "elodin"),
    ("sweep double_pendulum --runs 2 --duration 0.1 -o sweep", "learn|elodin"),
    ("build tf2_msgs", "ros"),
    ("run orbit --duration 0.2", "ros"),
    ("topics", "ros"),
    ("mcp", "ros mcp"),
    # With what `build` has added.
    ("doctor", ""),
)
# Commands that act on a graph, with ROS 2 as their only need, as `topics`; and those that a file before them covers.
SAME_NEEDS = {
    "replay",
    "record",
    "bridge",
    "echo",
    "pub",
    "call",
    "teleop",
    *REQUESTS.shipped(),
}
BEGUN_ONLY = {"view", "autopilot"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    words = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(folder),
        # A build in place packs what former builds left in build/, such as modules that have moved.
        str(copy_sources(folder / "sources")),
    ]
    subprocess.run(words, check=True, timeout=PATIENCE)
    return next(folder.glob("*.whl"))


def test_every_command_is_listed() -> None:
    assert {words.split()[0] for words, _ in COMMANDS} | SAME_NEEDS | BEGUN_ONLY == set(SHIPPED)


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_every_command_with_one_extra(extra: str, wheel: Path, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("PIP_NO_INDEX", "PYTHONPATH")}
    environment.update(ROS_DOMAIN_ID=str(free_domain()), ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True)
    python = tmp_path / "env" / "bin" / "python"
    wanted = f"{wheel}[{extra}]" if extra else str(wheel)
    subprocess.run([python, "-m", "pip", "install", "-q", wanted], check=True, env=environment)
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "ball.openplx").write_text(MODEL, encoding="utf-8")
    faults = []
    for words, needs in COMMANDS:
        ran = subprocess.run(
            [python.parent / "sim_node", *words.split()],
            cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE,
            check=False,
        )  # fmt: skip
        lacking = [each for each in needs.split() if extra not in each.split("|") and (extra != "all" or each == "ros")]
        if lacking:
            named = f"sim_node[{lacking[0].partition('|')[0]}]" in ran.stderr
            right = ran.returncode in (1, 2) and named and "internal error" not in ran.stderr
        else:
            # There is no graph to list, and without ROS 2 nodes cannot run.
            failing = words == "topics" or (words == "doctor" and extra != "ros")
            right = ran.returncode == int(failing)
        if not right:
            faults.append(f"{words}: {ran.returncode}: {ran.stderr[-500:]}")
    assert not faults, "\n".join(faults)
