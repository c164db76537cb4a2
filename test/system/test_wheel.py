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
from waiting import PATIENCE

from sim_node.cli.commands import SHIPPED

pytestmark = pytest.mark.wheel
ROOT = Path(__file__).parents[2]
EXTRAS = tuple(metadata.metadata("sim_node").get_all("Provides-Extra") or ())
SCRIPT = "import sim_node.ecs as el\nworld = el.World()\nworld.run(None)\n"
# Each command as it is run, and the extra that it needs; they run in this order, in one folder.
COMMANDS: tuple[tuple[str, str | None], ...] = (
    ("worlds", None),
    ("check orbit", None),
    ("schema", None),
    ("new world yard", None),
    ("run guided --no-ros --duration 0.5 --speed max --record bag", None),
    ("tree orbit", None),
    ("tree bag", None),
    ("lookup delivery map drone/base_link --at 5", None),
    ("lookup bag map drone/base_link --at 0.2", None),
    ("info bag", None),
    ("diff bag bag", None),
    ("repair bag -o repaired", None),
    ("plot bag /drone/truth/odom.pose.pose.position.z -o plot.png", None),
    ("export bag --csv csv", None),
    ("export bag --parquet parquet", "export"),
    ("export bag -o bag.rrd", "export"),
    ("render orbit -o picture.png", None),
    ("render orbit --video film.mp4 --duration 0.2", None),
    ("rviz orbit -o orbit.rviz", None),
    ("snap four_bar", None),
    ("convert all_joints -o all_joints.yaml", None),
    ("urdf arm -o arm.urdf", None),
    ("scene orbit -o scene.json", None),
    ("completion bash", None),
    ("run script.py --no-ros --duration 0.1 --speed max", "elodin"),
    ("sweep double_pendulum --runs 2 --duration 0.1 -o sweep", "learn"),
    ("build tf2_msgs", "ros"),
    ("run orbit --duration 0.2", "ros"),
    ("topics", "ros"),
    ("mcp", "mcp"),
    # With what `build` has added.
    ("doctor", None),
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
    "spawn",
    "remove",
    "attach",
    "detach",
    "set",
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
        str(ROOT),
    ]
    subprocess.run(words, check=True, timeout=PATIENCE)
    return next(folder.glob("*.whl"))


def test_every_command_is_listed() -> None:
    assert {words.split()[0] for words, _ in COMMANDS} | SAME_NEEDS | BEGUN_ONLY == set(SHIPPED)


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_every_command_with_one_extra(extra: str, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("PIP_NO_INDEX", "PYTHONPATH")}
    environment.update(ROS_DOMAIN_ID=str(free_domain()), ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True)
    python = tmp_path / "env" / "bin" / "python"
    wanted = f"{wheel}[{extra}]" if extra else str(wheel)
    subprocess.run([python, "-m", "pip", "install", "-q", wanted], check=True, env=environment)
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    faults = []
    for words, needs in COMMANDS:
        ran = subprocess.run(
            [python.parent / "sim_node", *words.split()],
            cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE,
            check=False,
        )  # fmt: skip
        lines = ran.stderr.splitlines()
        if needs is None or extra in (needs, "all" if needs != "ros" else ""):
            right = ran.returncode == 0 or (words == "doctor" and extra != "ros")
        else:
            named = f"sim_node[{needs}]" if words != "mcp" or extra == "ros" else "sim_node[ros]"
            right = ran.returncode in (1, 2) and named in lines[-1] and "internal error" not in ran.stderr
        if not right:
            faults.append(f"{words}: {ran.returncode}: {ran.stderr[-500:]}")
    assert not faults, "\n".join(faults)
