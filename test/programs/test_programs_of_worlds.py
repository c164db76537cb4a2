"""Processes of a world become programs only where somebody asked for them, with their variables expanded."""

from __future__ import annotations

from pathlib import Path

import pytest
from waiting import PATIENCE

from sim_node.simulation.programs.processes import programs_of, supervised
from sim_node.world import World, WorldError, load


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing is written elsewhere, and no variable of ours is set."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "log"))
    monkeypatch.delenv("PX4_DIR", raising=False)
    return tmp_path


def world(folder: Path, text: str) -> World:
    path = folder / "yard.yaml"
    path.write_text(text, encoding="utf-8")
    return load(path)


def test_nothing_is_started_unasked(home: Path) -> None:
    lines: list[str] = []
    yard = world(home, "world: yard\nprocesses: {touch: {command: [touch, made, 'a b']}}\n")
    with supervised(yard, start=False, report=lines.append) as supervisor:
        assert not supervisor.running
    assert lines == ["not starting touch: touch made 'a b'; use --processes or processes:=true to start it"]
    assert not (home / "made").exists()


def test_asked_for_it_runs_in_the_worlds_folder(home: Path) -> None:
    yard = world(home, "world: yard\nprocesses: {touch: {command: [touch, made]}}\n")
    with supervised(yard, start=True, report=print) as supervisor:
        assert supervisor.running["touch"].ended.wait(PATIENCE)
    assert (home / "made").exists()


def test_variables_come_from_the_environment_and_the_world(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "px4").mkdir()
    monkeypatch.setenv("PX4_DIR", str(home / "px4"))
    text = "world: yard\nprocesses: {p: {command: ['true', '${WORLD_DIR}/x', '${NAME:-iris}'], cwd: '${PX4_DIR}', " \
           "env: {A: '${PX4_DIR}/b'}, log: p.txt}, q: {command: 'true', cwd: '${STATE_DIR}'}}\n"  # fmt: skip
    p, q = programs_of(world(home, text))
    assert p.command == ("true", f"{home}/x", "iris")
    assert (p.cwd, p.env, p.log) == (home / "px4", {"A": f"{home}/px4/b"}, home / "px4" / "p.txt")
    assert q.cwd == home / "state" / "sim_node" / "run" / "yard" / "q"
    assert q.cwd.is_dir(), "a program may write there at once"


def test_all_that_keeps_them_from_starting_is_reported_and_none_is(home: Path) -> None:
    text = """world: yard
processes:
  good: {command: [touch, made]}
  px4: {command: ["${PX4_DIR}/bin/px4"]}
  gcs: {command: ./no-such-gcs}
"""
    with pytest.raises(WorldError) as error:
        supervised(world(home, text), start=True, report=print)
    assert [str(line).partition("yard.yaml:")[2] for line in error.value.lines()] == [
        "4:8: processes.px4: PX4_DIR is not set and has no default; set it, as in PX4_DIR=... sim_node run ...",
        f"5:8: processes.gcs: no program {home}/no-such-gcs",
    ]
    assert not (home / "made").exists()
