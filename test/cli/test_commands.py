"""The subcommands that need no graph: what they print, and that it is right."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim_node.cli.commands import SHIPPED
from sim_node.cli.main import main

TURNING = """
world: turning
motions:
  - frame: base_link
    keyframes:
      - {t: 0, position: [0, 0, 0], rpy_deg: [0, 0, 0]}
      - {t: 2, position: [4, 0, 0], rpy_deg: [0, 0, 90]}
sensors:
  - {name: CAM_FRONT, pose: {position: [1, 0, 0], rpy_deg: [0, 20, 0]}}
"""


@pytest.fixture
def world(tmp_path: Path) -> str:
    path = tmp_path / "turning.yaml"
    path.write_text(TURNING)
    return str(path)


def test_lookup_gives_the_source_in_the_target(world: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Half way: base_link at (2, 0, 0) turned by 45 degrees, the camera a metre ahead of it."""
    assert main(["lookup", world, "map", "CAM_FRONT", "--at", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    turned = Rotation.from_euler("z", 45, degrees=True)
    assert found["stamp"] == 1.0
    assert (found["target_convention"], found["source_convention"]) == ("ENU", "FLU")
    np.testing.assert_allclose(found["translation"], [2 + math.sqrt(0.5), math.sqrt(0.5), 0], atol=1e-12)
    difference = Rotation.from_quat(found["rotation"]).inv() * turned * Rotation.from_euler("y", 20, degrees=True)
    assert difference.magnitude() < 1e-12


def test_lookup_the_other_way_round_is_the_inverse(world: str, capsys: pytest.CaptureFixture[str]) -> None:
    there, back = (
        (main(["lookup", world, *ends, "--at", "0.3", "--json"]), json.loads(capsys.readouterr().out))[1]
        for ends in (("map", "CAM_FRONT"), ("CAM_FRONT", "map"))
    )
    rotation = Rotation.from_quat(there["rotation"])
    np.testing.assert_allclose((rotation * Rotation.from_quat(back["rotation"])).magnitude(), 0, atol=1e-12)
    np.testing.assert_allclose(rotation.apply(back["translation"]), -np.array(there["translation"]), atol=1e-12)


def test_lookup_between_steps_is_exact(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A step of 1 s; 1.25 s lies between two of them, and 5/8 of the way."""
    path = tmp_path / "coarse.yaml"
    path.write_text("time: {step: 1.0}\n" + TURNING.strip())
    assert main(["lookup", str(path), "map", "base_link", "--at", "1.25", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["translation"] == [2.5, 0.0, 0.0]


def test_tree_shows_every_frame_below_its_parent(world: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tree", world, "--at", "2"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "turning at 2 s: 3 frames, 1 moving",
        "map              ENU",
        "└─ base_link     FLU  moving  position [4.000, 0.000, 0.000]  rpy_deg [0.0, 0.0, 90.0]",
        "   └─ CAM_FRONT  FLU  static  position [1.000, 0.000, 0.000]  rpy_deg [0.0, 20.0, 0.0]",
    ]


RANGES = """
<x_xy model="ranges"><worldbody><body name="a" joint="px" pos="9 9 9" pos_min="1 1 1" pos_max="2 1 1">
<geom type="sphere" mass="1" dim="0.1"/></body></worldbody></x_xy>
"""


def test_ranges_are_drawn_from_the_seed_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "ranges.xml"
    path.write_text(RANGES)

    def places(*options: str) -> list[float]:
        assert main(["tree", str(path), *options]) == 0
        line = capsys.readouterr().out.splitlines()[2]
        return [float(number) for number in line.partition("[")[2].partition("]")[0].split(",")]

    assert places() == [9, 9, 9]
    assert main(["tree", str(path), "--seed", "3"]) == 2, "nothing would be drawn"
    drawn = places("--randomised", "--seed", "3")
    assert 1 <= drawn[0] <= 2
    assert drawn[1:] == [1, 1]
    assert places("--randomised", "--seed", "3") == drawn
    assert places("--randomised", "--seed", "4") != drawn
    assert main(["check", str(path), "--randomised"]) == 0
    assert main(["run", str(path), "--randomised", "--no-ros", "--speed", "max", "--duration", "0.1"]) == 0
    assert main(["tree", "--live", "--randomised"]) == 2


@pytest.mark.parametrize("seed", ["-1", "x", "9223372036854775808", "1.5"])
def test_what_is_no_seed_is_refused(world: str, seed: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", world, f"--seed={seed}", "--no-ros"])
    assert ended.value.code == 2
    assert f"{seed!r} is not a seed; a whole number from 0 to 2^63 - 1 is needed" in capsys.readouterr().err


def test_check_says_what_is_sound_and_goes_on_after_what_is_not(
    world: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", world, str(tmp_path / "none.yaml"), world]) == 2
    output = capsys.readouterr()
    assert output.out.splitlines() == [f"{world}: valid, 3 frames, 1 moving"] * 2
    assert "none.yaml" in output.err


def test_check_knows_sensors_and_their_parameters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which it finds where the simulation would, without running it."""
    assert main(["check", "survey"]) == 0
    assert "1 moving, 6 sensors" in capsys.readouterr().out
    path = tmp_path / "wrong.yaml"
    path.write_text("sensors: [{name: IMU, parent: map, type: imu, gyro: none}, {name: B, parent: map, type: baro}]")
    assert main(["check", str(path)]) == 2
    errors = capsys.readouterr().err
    assert "wrong.yaml:1:47: sensors[0].gyro: unknown key; did you mean gyroscope? (known: rate" in errors
    assert "wrong.yaml:1:89: sensors[1].type: 'baro' is no sensor; did you mean barometer? (known: airspeed" in errors


def test_lookup_far_ahead_in_a_world_of_sensors_is_as_quick_as_without(capsys: pytest.CaptureFixture[str]) -> None:
    """Of sensors that would have read two million times an hour."""
    started = time.process_time()
    assert main(["lookup", "survey", "map", "drone/IMU_MAIN", "--at", "36000"]) == 0
    assert time.process_time() - started < 2.0
    assert "at 36000 s" in capsys.readouterr().out


def test_check_prints_warnings_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "short.yaml"
    path.write_text("frames:\n  - {name: a, pose: {quaternion: [0, 0, 0.7071, 0.7071]}}\n")
    assert main(["check", str(path)]) == 0
    warning = capsys.readouterr().err
    assert warning.startswith(f"warning: {path}:2:")
    assert warning.count("\n") == 1


def test_run_without_ros_ends_at_its_duration(capsys: pytest.CaptureFixture[str], world: str) -> None:
    assert main(["run", world, "--no-ros", "--speed", "max", "--duration", "30"]) == 0
    assert "simulated 30 s" in capsys.readouterr().out


def test_runs_without_ros_say_that_triggers_follow_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "keys.yaml"
    sent = "outputs: [{topic: /stopped, type: std_msgs/msg/Bool}]"
    path.write_text(f"triggers:\n  - {{name: stop, topic: /keys, type: std_msgs/msg/Int32, {sent}}}\n")
    assert main(["run", str(path), "--no-ros", "--speed", "max", "--duration", "0.1"]) == 0
    assert "triggers 'stop': nothing follows on messages in a run without ROS" in capsys.readouterr().err


def test_doctor_names_the_ros_in_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    output = capsys.readouterr().out
    assert "rmw_" in output
    assert output.splitlines()[-1] == "nodes can run"


@pytest.mark.parametrize("command", SHIPPED)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert len(capsys.readouterr().out.splitlines()) > 3


def test_a_run_that_blows_up_is_reported_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A spring of 1e9 N/m on a kilogram at 10 ms; a failure of the run, not a mistake in the file."""
    path = tmp_path / "stiff.yaml"
    path.write_text(
        "time: {step: 0.01}\nphysics: {timestep: 0.01}\nbodies:\n"
        "  - {name: a, joint: {type: px, spring_stiff: 1.0e9, q: 1}, geometry: [{sphere: 1, mass: 1}]}\n"
    )
    assert main(["check", str(path)]) == 0
    assert main(["tree", str(path), "--at", "3"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "'a': not finite any more after 0.19 s" in error
