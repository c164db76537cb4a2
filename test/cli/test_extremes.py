"""Every option that takes a number, with numbers that nobody means: an answer or one error, no traceback, no end."""

from __future__ import annotations

from pathlib import Path

import pytest
from in_process import exit_code
from robot_bag import robot, write

VALUES = ("0", "-1", "nan", "inf", "-inf", "9e9", "1e12", "1e30", "1e400", "")
USUAL = ("-1", "nan", "1e30")
SMALL = ("--size=32x32",)
ALONE = ("--no-ros", "--speed=max")
ONE_TICK = (*ALONE, "--duration=1e-9")
EVERYTHING = [
    ("run orbit", "--duration", ALONE),
    ("run quadrotor", "--duration", ALONE),
    ("run orbit", "--speed", ("--no-ros", "--duration=1e-9")),
    ("run orbit", "--seed", ONE_TICK),
    *[
        ("run orbit", option, (*ONE_TICK, "--record={out}/bag"))
        for option in ("--split-size", "--split-duration", "--snapshot", "--max-disk")
    ],
    ("record {out}/bag --live", "--split-duration", ()),
    ("lookup orbit map drone/base_link", "--at", ()),
    ("lookup quadrotor map drone/base_link", "--at", ()),
    ("lookup {bag} map base_link", "--at", ()),
    ("lookup {bag} map base_link", "--every", ()),
    ("lookup --live map base_link", "--period", ()),
    ("tree orbit", "--at", ()),
    ("tree orbit", "--seed", ("--randomised",)),
    ("tree {bag}", "--at", ()),
    ("tree --live", "--period", ()),
    ("render orbit", "--at", ("-o", "{out}/a.png", *SMALL)),
    ("render orbit", "--size", ("-o", "{out}/a.png")),
    ("render {bag}", "--at", ("-o", "{out}/a.png", *SMALL)),
    ("render orbit", "--from", ("--video", "{out}/a.gif", "--duration=0.05", *SMALL)),
    ("render orbit", "--duration", ("--video", "{out}/a.gif", "--fps=1e-9", *SMALL)),
    ("render orbit", "--fps", ("--video", "{out}/a.gif", "--duration=0.05", *SMALL)),
    ("render orbit", "--speed", ("--video", "{out}/a.gif", "--duration=0.05", *SMALL)),
    ("render {bag}", "--from", ("--video", "{out}/a.gif", "--duration=0.05", *SMALL)),
    ("plot {bag} /imu/data.angular_velocity.x -o {out}/a.png", "--start", ()),
    ("plot {bag} /imu/data.angular_velocity.x -o {out}/a.png", "--duration", ()),
    ("diff {bag} {bag}", "--tolerance", ()),
    ("replay {bag}", "--rate", ("--duration=-1",)),
    ("replay {bag}", "--start", ("--duration=-1",)),
    ("replay {bag}", "--duration", ()),
    ("replay {bag}", "--clock-rate", ()),
    ("bridge --tlog {out}/no.tlog", "--speed", ()),
    ("autopilot --world orbit", "--instance", ()),
]


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of the wall clock, in 2023."""
    return str(write(tmp_path_factory.mktemp("extremes") / "bag", robot(1, 1_700_000_000 * 10**9)))


@pytest.mark.usefixtures("one_sun")  # what is drawn is not looked at
@pytest.mark.parametrize(
    ("command", "option", "others", "value"),
    [
        # make test has one of what is too little, of what is too much and of what is no number.
        pytest.param(
            *row, value, id=f"{row[0]} {row[1]}={value}", marks=[] if value in USUAL else [pytest.mark.nightly]
        )
        for row in EVERYTHING
        for value in VALUES
        # 285 years are what they say, where something goes on so long.
        if value != "9e9" or not ("--live" in row[0] or (row[0].startswith("run") and row[1] == "--duration"))
    ],
)
def test_no_number_gives_a_traceback_or_runs_for_ever(
    command: str,
    option: str,
    others: tuple[str, ...],
    value: str,
    bag: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = [word.format(bag=bag, out=tmp_path) for word in (*command.split(), f"{option}={value}", *others)]
    code = exit_code(words)
    reported = [line for line in capsys.readouterr().err.splitlines() if line != "nothing was started"]
    if code:
        assert code == 2
        assert reported[-1].startswith(("sim_node", f"usage: sim_node {words[0]}", f"sim_node {words[0]}: error: "))
        assert len([line for line in reported if line.startswith("sim_node")]) == 1, reported


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("lookup orbit map drone/base_link --at 1e12", "--at: 1e+12 s is out of range; allowed: up to 9223372036 s"),
        ("tree orbit --at 1e30", "--at: 1e+30 s is out of range; allowed: up to 9223372036 s"),
        ("tree orbit --at -1", "sim_node: --at -1: -1 s is before the world's start at 0 s"),
        ("run orbit --no-ros --duration 1e30", "--duration: 1e+30 s is out of range; allowed: up to 9223372036 s"),
        ("run orbit --no-ros --duration 0", "--duration: 0: seconds above zero are needed"),
        ("run orbit --no-ros --speed 1e12", "'1e12' is not a speed; a number above zero"),
        ("lookup orbit map base --at nan", "--at: 'nan' is not a finite number"),
    ],
)
def test_what_is_wrong_is_named(command: str, error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(command.split()) == 2
    assert error in capsys.readouterr().err


@pytest.mark.parametrize("at", ["9.2e9", "1e9", "1234567.875"])
def test_keyframes_are_looked_up_at_any_instant(at: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A metre per second, four seconds a lap: what is left of the time after whole laps."""
    path = tmp_path / "shuttle.yaml"
    path.write_text(
        "world: shuttle\ntime: {step: 0.001}\nmotions:\n  - frame: car\n    after: loop\n    keyframes:\n"
        "      - {t: 0, position: [0, 0, 0]}\n      - {t: 4, position: [4, 0, 0]}\n"
    )
    assert exit_code(["lookup", str(path), "map", "car", "--at", at]) == 0
    assert f"translation [{float(at) % 4.0:.6f}, 0.000000, 0.000000]" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["lookup quadrotor map map", "tree quadrotor", "render quadrotor -o {out}"])
def test_what_would_be_integrated_for_days_is_refused(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word.format(out=tmp_path / "a.png") for word in command.split()]
    assert exit_code([*words, "--at", "2e9"]) == 2
    reported = capsys.readouterr().err
    assert "each of which is integrated, take about" in reported
    assert "allowed: up to 1 hour, about" in reported
    assert not (tmp_path / "a.png").exists()
