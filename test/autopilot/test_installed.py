"""Which PX4 or ArduPilot `sim_node fly` takes, and how it is started."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sim_node.autopilots.installed import ARDUPILOT, PX4, NotInstalled, find, url_of
from sim_node.cli.main import main
from sim_node.world import load
from sim_node.world.autopilots import autopiloted

BUILD = Path("build/px4_sitl_default")


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def px4(root: Path, tag: str) -> Path:
    made = program(root / BUILD / "bin" / "px4")
    header = root / BUILD / "src/lib/version/build_git_version.h"
    header.parent.mkdir(parents=True)
    header.write_text(f'#define PX4_GIT_TAG_STR "{tag}"\n')
    return made


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def test_a_checkout_of_px4(tmp_path: Path) -> None:
    root = tmp_path / "PX4"
    made = px4(root, "v1.17.0-alpha1")
    found = find(PX4, {"PX4_DIR": str(root), "PATH": ""})
    assert found.version == (1, 17)
    world = load("px4")
    [(vehicle, autopilot)] = autopiloted(world)
    process = found.process(vehicle, autopilot, world)
    assert process.command == (str(made), "-i", "0", "-d", str(root / BUILD / "etc"))
    # What the world's own process has.
    [own] = world.processes
    assert dict(process.env) == dict(own.env)
    assert url_of(PX4, 2) == "udpin:127.0.0.1:14542"


def test_a_checkout_of_ardupilot(tmp_path: Path) -> None:
    made = program(tmp_path / "build/sitl/bin/arducopter")
    version = tmp_path / "ArduCopter" / "version.h"
    version.parent.mkdir()
    version.write_text('#define THISFIRMWARE "ArduCopter V4.7.0-dev"\n')
    found = find(ARDUPILOT, {"ARDUPILOT_DIR": str(tmp_path), "PATH": ""})
    world = load("ardupilot")
    [(vehicle, autopilot)] = autopiloted(world)
    command = found.process(vehicle, autopilot, world).command
    assert (command[0], found.version) == (str(made), (4, 7))
    # The world's own process has ArduPilot's own default home, 584 m above the sea.
    home = [float(part) for part in command[command.index("--home") + 1].split(",")]
    assert home == pytest.approx([-35.363262, 149.165238, 584.0, 0.0], abs=0.2)
    assert command[command.index("--sysid") + 1] == "1"
    assert url_of(ARDUPILOT, 1) == "tcp:127.0.0.1:5770"


def test_a_program_on_path(tmp_path: Path) -> None:
    made = program(tmp_path / "opt/px4/bin/px4")
    (tmp_path / "opt/px4/etc/init.d-posix").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    link = tmp_path / "bin" / "px4"
    link.symlink_to(made)
    found = find(PX4, {"PATH": str(tmp_path / "bin")})
    assert (found.command, found.data) == ((str(link),), tmp_path / "opt/px4/etc")


def test_an_arducopter_on_path_has_the_parameters_of_its_checkout(tmp_path: Path) -> None:
    made = program(tmp_path / "build/sitl/bin/arducopter")
    parameters = tmp_path / "Tools/autotest/default_params"
    parameters.mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    link = tmp_path / "bin" / "arducopter"
    link.symlink_to(made)
    for folder in (made.parent, link.parent):
        found = find(ARDUPILOT, {"PATH": str(folder)})
        assert (found.command, found.data) == ((str(folder / "arducopter"),), parameters)


def test_an_arducopter_alone_gets_parameters_of_ours(tmp_path: Path) -> None:
    """Without any it is a frame of no class, with sensors that are not calibrated, and does not arm."""
    found = find(ARDUPILOT, {"PATH": str(program(tmp_path / "bin/arducopter").parent)})
    world = load("ardupilot")
    [(vehicle, autopilot)] = autopiloted(world)
    command = found.process(vehicle, autopilot, world).command
    files = [Path(each) for each in command[command.index("--defaults") + 1].split(",")]
    assert [each.name for each in files] == ["log.parm", "copter.parm", "ardupilot.parm"]
    given = dict(line.split() for each in files for line in each.read_text().splitlines() if not line.startswith("#"))
    assert (given["FRAME_TYPE"], given["RNGFND1_TYPE"]) == ("1", "100")  # an X; the rangefinder of the world
    assert given["LOG_DISARMED"] == "1"  # AP_Logger_File.cpp, PrepForArming_start_logging: else arming waits for a file
    world = load("config/scenarios/motor_out.yaml")
    [(vehicle, autopilot)] = autopiloted(world)
    command = found.process(vehicle, autopilot, world).command
    *_, last = command[command.index("--defaults") + 1].split(",")
    assert Path(last).read_text().split() == ["FRAME_CLASS", "2"]  # a hexarotor


def test_what_is_missing_is_told_with_its_mend(tmp_path: Path) -> None:
    with pytest.raises(NotInstalled, match=r"PX4_DIR .* docker pull px4io/px4-sitl"):
        find(PX4, {"PATH": ""})
    with pytest.raises(NotInstalled, match="ARDUPILOT_DIR"):
        find(ARDUPILOT, {"PATH": ""})
    with pytest.raises(NotInstalled, match="run `make px4_sitl` there"):
        find(PX4, {"PX4_DIR": str(tmp_path), "PATH": ""})
    px4(tmp_path, "v1.12.3")
    with pytest.raises(NotInstalled, match=r"version 1\.12; 1\.14 or later is needed"):
        find(PX4, {"PX4_DIR": str(tmp_path), "PATH": ""})


def test_a_world_without_such_a_vehicle(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fly", "ardupilot", "orbit"]) == 2
    assert "no vehicle is flown by ardupilot" in capsys.readouterr().err


def test_fly_names_a_px4_that_runs_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would end at once, again and again. PX4 holds a POSIX lock on a file of its instance."""
    px4(tmp_path, "v1.17.0")
    monkeypatch.setenv("PX4_DIR", str(tmp_path))
    lock = tmp_path / "lock"
    hold = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.lockf(f, 2); print('held', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        monkeypatch.setattr("sim_node.cli.fly.px4_lock", lambda instance: lock)
        assert main(["fly", "px4", "--no-ros", "--duration", "1"]) == 2
        other.communicate("\n")
    error = capsys.readouterr().err
    assert "drone: a PX4 with instance 0 runs on this machine" in error
