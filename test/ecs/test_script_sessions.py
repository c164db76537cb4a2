"""Sessions of scripts: which arguments of World.run they use, what they say of the others, and their recordings."""

from __future__ import annotations

import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from waiting import until

import sim_node.extensions.elodin as el
from sim_node.session import Session

STEP = 0.01
SCRIPT = """
import sys
import jax, jax.numpy as jnp, numpy as np
from typing import Annotated
import sim_node.extensions.elodin as el

Throttle = Annotated[jax.Array, el.Component("throttle", el.ComponentType.F64)]
Heard = Annotated[jax.Array, el.Component("heard", el.ComponentType.F64, metadata={"wait_for_write": "true"})]

@el.map
def rise(v: el.WorldVel, throttle: Throttle) -> el.WorldVel:
    return el.SpatialMotion(linear=jnp.array([0.0, 0.0, throttle]))

w = el.World()
names = ["Ball 1", "other"]
for name in names:
    w.spawn([el.Body(), el.C((Throttle, Heard), (2.0, 0.0))], name=name)
w.recipe(el.s10.PyRecipe.process("firmware", sys.executable, ["-c", "import time; time.sleep(100)", "$x"]))

def post(tick, ctx):
    ctx.write_component("other.throttle", [tick + 3.0])
    if tick == 15:
        ctx.stop_recipes()
"""
RUN = f"w.run(rise | el.six_dof(), {STEP}, max_ticks=20, post_step=post, db_path='here', run_time_step=0.5)\n"
NOTES = [
    "component 'heard': wait_for_write has no effect: no other program writes components, only callbacks",
    "rocket.py: run_time_step=0.5, db_path='here' of run() has no effect here, only in `python rocket.py`",
]


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("script") / "rocket.py"
    path.write_text(SCRIPT + RUN, encoding="utf-8")
    return path


def test_a_session_ends_after_max_ticks_and_its_recording_is_one_of_components(script: Path, tmp_path: Path) -> None:
    said: list[str] = []
    bag = tmp_path / "bag"
    with Session(script, real_time_factor=0.0, publish_rate=1 / STEP, record=bag, report=said.append) as session:
        session.run()
        assert session.simulation.steps == 20
    assert said[-2:] == NOTES
    assert not (script.parent / "here").exists()
    with el.open_recording(bag) as recorded:
        assert (recorded.step, recorded.record_every, recorded.start_us) == (STEP, 1, 0)
        stamps, poses = recorded.values("world_pos", "Ball 1")
        np.testing.assert_array_equal(stamps, np.arange(21) * 10_000_000)
        np.testing.assert_allclose(poses[:, 6], 2.0 * STEP * np.arange(21), rtol=1e-12)
        _, throttles = recorded.values("throttle", "other")
        np.testing.assert_array_equal(throttles, [2.0, *np.arange(3.0, 23.0)])
        table = recorded.history(["other.world_vel", "other.throttle", "Ball 1.inertia"])
        # A tick uses what was written after the one before it.
        np.testing.assert_array_equal(table["other.world_vel"].to_numpy()[2:, 5], np.arange(3.0, 22.0))
        assert table["Ball 1.inertia"].to_numpy().shape == (21, 7)


def test_a_duration_replaces_max_ticks_and_stop_recipes_ends_processes(script: Path) -> None:
    with Session(script, real_time_factor=0.0, duration_ns=170_000_000, processes=True) as session:
        (firmware,) = session.programs.running.values()
        session.run()
        assert session.simulation.steps == 17
        until(firmware.ended.is_set, "the end of the recipe")


def test_a_run_is_canceled_by_its_script(tmp_path: Path) -> None:
    path = tmp_path / "rocket.py"
    path.write_text(f"{SCRIPT}left = [0] * 5\nw.run(None, {STEP}, is_canceled=lambda: not (left and not left.pop()))\n")
    with Session(path, real_time_factor=0.0, publish_rate=1 / STEP) as session:
        session.run()
        assert session.simulation.steps == 5


def test_metadata_without_effect_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    metadata = {"wait_for_write": "true"}
    heard = el.Annotated[el.jax.Array, el.Component("heard", el.ComponentType.F64, metadata=metadata)]
    world = el.World()
    world.spawn(el.C(heard, jnp.zeros(())))
    world.run(None, STEP, max_ticks=1)
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1
    assert "test_script_sessions.py:" in errors
    assert errors.strip().endswith(NOTES[0])


def test_recipes_of_a_world_from_a_file_are_started_by_its_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And only these: the file's own processes are named, and not started."""
    file = tmp_path / "still.yaml"
    file.write_text(
        "world: still\nframes:\n  - {name: post, parent: map, pose: {position: [1, 0, 0]}}\n"
        "processes:\n  own: {command: [touch, own]}\n"
    )
    monkeypatch.chdir(tmp_path)

    world = el.World.from_file(file)
    world.recipe(el.s10.PyRecipe.process("firmware", "touch", ["started$"]))
    started = tmp_path / "started$"
    # The tick at the start runs before processes are started.
    world.run(None, max_ticks=2, post_step=lambda tick, ctx: tick == 0 or until(started.exists, "the recipe"))
    assert not (tmp_path / "own").exists()
    assert "not starting own of still" in capsys.readouterr().err
    started.unlink()
    monkeypatch.setattr(sys, "argv", ["script.py", "--no-s10"])
    world.run(None, max_ticks=1)
    assert not started.exists()


def test_words_that_mean_something_else_to_elodin_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of `enum Args` in its world_builder.rs; any other word is the script's own."""
    world = el.World()
    for words, told in (["bench", "--ticks", "9"], True), (["run"], False), (["mine"], False), ([], False):
        monkeypatch.setattr(sys, "argv", ["script.py", *words])
        world.run(None, max_ticks=1)
        assert ("'bench' on the command line has no effect: the world is run" in capsys.readouterr().err) == told
