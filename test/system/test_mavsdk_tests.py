"""PX4's own integration tests of quadrotors, as its repository has them, against a PX4 that `sim_node fly` flies."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from processes import program, sim_node

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "mavsdk_tests"
# Of real time: the tests send setpoints and sticks by the wall clock, which is late on a busy machine. PX4 is told it,
# as PX4's own runner does, and then waits as much longer, in its own time, before it takes them for lost. Their
# missions, of 37 simulated seconds, are given 500 s divided by the speed of that moment: a run that catches up on a
# busy machine is faster than it is set, and at ten times real time some fail.
SPEED = os.environ.get("MAVSDK_TESTS_SPEED", "2")
RUNS = int(os.environ.get("MAVSDK_TESTS_RUNS", "1"))
# Those of a quadrotor.
TAGS = {"multicopter", "offboard", "offboard_attitude"}
# Errors of sensors as PX4's own simulators have them (modules/simulation/sensor_gps_sim: 2.5 cm): its tests ask for
# heights within 0.3 m, which a receiver with the errors of a real one does not give.
WORLD = """
origin: {latitude: 47.397742, longitude: 8.545594, altitude: 488.0}
time: {step: 0.004}
physics: {integrator: euler, timestep: 0.001}
bodies: [{name: ground, geometry: [{plane: true}]}]
vehicles:
  - {name: v, model: iris, sensors: false, pose: {position: [0, 0, 0.13], rpy_deg: [0, 0, 90]}, autopilot: {type: px4}}
sensors:
  - {name: v/IMU, type: imu, rate: 250, gyroscope: {turn_on_bias: 0}, accelerometer: {turn_on_bias: 0}}
  - {name: v/MAG, type: magnetometer, rate: 50}
  - {name: v/BARO, type: barometer, rate: 50, noise: {deviation: 1, bias_instability: 0}}
  - name: v/GPS
    type: gps
    rate: 10
    horizontal: {deviation: 0, bias_instability: 0.025, correlation_time: 0.46}
    vertical: {deviation: 0, bias_instability: 0.037, correlation_time: 0.46}
    velocity: {deviation: 0.02}
"""
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
        text = re.sub(r"^#if 0$.*?^#endif", "", (sources() / file).read_text(), flags=re.MULTILINE | re.DOTALL)
        for name, tags in re.findall(r'TEST_CASE\("([^"]+)",\s*"([^"]+)"\)', text):
            if TAGS & set(re.findall(r"\[(\w+)\]", tags)):
                found.append(name)
    return found


@pytest.fixture(scope="module")
def tests() -> Path:
    """PX4's tests, compiled beside its checkout."""
    prefix = f"-DCMAKE_PREFIX_PATH={os.environ['MAVSDK_DIR']}"
    commands: list[list[str | Path]] = [["cmake", "-S", sources(), "-B", BUILD, prefix], ["cmake", "--build", BUILD]]
    for command in commands:
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stdout + made.stderr
    return BUILD / "mavsdk_tests"


@pytest.mark.parametrize("run", range(RUNS))
@pytest.mark.parametrize("case", cases())
def test_px4_passes_its_own_test(case: str, run: int, tests: Path, tmp_path: Path) -> None:
    world = tmp_path / "quadrotor.yaml"
    world.write_text(WORLD)
    # A folder of its own, as PX4's runner gives each: PX4 keeps there what a test has set.
    folders = {"XDG_STATE_HOME": str(tmp_path / "state"), "ROS_LOG_DIR": str(tmp_path / "log")}
    fly = sim_node("fly", "px4", world, "--no-view", "--no-ros", "--speed", SPEED)
    with program(fly, **folders, PX4_SIM_SPEED_FACTOR=SPEED) as flown:
        flown.wait_for("in lockstep")
        command: list[str | Path] = [tests, "--url", "udpin://127.0.0.1:14540", "--speed-factor", SPEED, case]
        judged = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
        assert judged.returncode == 0, f"{judged.stdout}\n{judged.stderr}\n{flown.output}"
        assert "All tests passed" in judged.stdout
        assert flown.stop() in (0, 130)
