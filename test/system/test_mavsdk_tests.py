"""PX4's own integration tests of quadrotors, as its repository has them, against a PX4 that `sim_node fly` flies."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from fetching import environment_of_pip
from processes import program, sim_node
from waiting import until

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "mavsdk_tests"
SPEED = os.environ.get("MAVSDK_TESTS_SPEED", "5")
RUNS = int(os.environ.get("MAVSDK_TESTS_RUNS", "1"))
# Those of a quadrotor.
TAGS = {"multicopter", "offboard", "offboard_attitude"}
NEEDED = ("PX4_DIR", "MAVSDK_DIR")
MISSING = [name for name in NEEDED if name not in os.environ]

pytestmark = [
    pytest.mark.peers,
    pytest.mark.usefixtures("autopilots"),
    pytest.mark.skipif(
        bool(MISSING), reason="set PX4_DIR to a checkout with a SITL build, MAVSDK_DIR to an installed MAVSDK of C++"
    ),
]


def sources() -> Path:
    return Path(os.environ["PX4_DIR"]) / "test" / "mavsdk_tests"


def cases() -> list[str]:
    """The names of the tests of the files that PX4 compiles, with one of the tags."""
    if MISSING:
        return ["all"]
    compiled = re.findall(r"^\s*(test_\w+\.cpp)", (sources() / "CMakeLists.txt").read_text(), re.MULTILINE)
    found = []
    for file in compiled:
        for name, tags in re.findall(r'TEST_CASE\("([^"]+)",\s*"([^"]+)"\)', (sources() / file).read_text()):
            if TAGS & set(re.findall(r"\[(\w+)\]", tags)):
                found.append(name)
    return found


@pytest.fixture(scope="module")
def tests() -> Path:
    """PX4's tests, compiled beside its checkout."""
    prefix = f"-DCMAKE_PREFIX_PATH={os.environ['MAVSDK_DIR']}"
    commands: list[list[str | Path]] = [["cmake", "-S", sources(), "-B", BUILD, prefix], ["cmake", "--build", BUILD]]
    for command in commands:
        made = subprocess.run(command, env=environment_of_pip(), capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stdout + made.stderr
    return BUILD / "mavsdk_tests"


@pytest.mark.parametrize("run", range(RUNS))
@pytest.mark.parametrize("case", cases())
def test_px4_passes_its_own_test(case: str, run: int, tests: Path) -> None:
    with program(sim_node("fly", "px4", "--no-view", "--no-ros", "--speed", SPEED)) as flown:
        flown.wait_for("in lockstep")
        command: list[str | Path] = [tests, "--url", "udpin://127.0.0.1:14540", "--speed-factor", SPEED, case]
        judged = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
        assert judged.returncode == 0, f"{judged.stdout}\n{judged.stderr}\n{flown.output}"
        assert "All tests passed" in judged.stdout
        flown.stop()
        until(lambda: flown.process.poll() is not None, "its end")
