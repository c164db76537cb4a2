"""World.run: its arguments, the order of a run, its end, and its recording."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import jax
import numpy as np
import pytest
from nightly import only

import sim_node.extensions.elodin as el
from sim_node.extensions.elodin import capture
from sim_node.extensions.elodin.session.run import Run
from sim_node.extensions.elodin.session.settings import RunSettings
from sim_node.recording.opening import is_bag

X = Annotated[jax.Array, el.Component("x", el.ComponentType.F64)]
Command = Annotated[jax.Array, el.Component("command", el.ComponentType.F64)]
Log = Annotated[jax.Array, el.Component("log", el.ComponentType.F64, metadata={"external_control": "true"})]


@dataclass
class Thing(el.Archetype):
    x: X
    command: Command
    log: Log


@el.map
def follow(x: X, command: Command) -> X:
    return x + 1.0 + command


def world() -> el.World:
    world = el.World()
    world.spawn(Thing(0.0, 0.0, 0.0), "a")
    return world


def run(**arguments: Any) -> None:
    world().run(follow, **{"start_timestamp": 0, "interactive": False, **arguments})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_tick": 3}, "run: unknown argument 'max_tick'; did you mean max_ticks?"),
        ({"sim_time_step": 0.0}, "sim_time_step: 0.0 is not a number above zero"),
        ({"sim_time_step": float("nan")}, "sim_time_step: nan is not a number above zero"),
        ({"simulation_rate": -1}, "simulation_rate: -1 is not"),
        ({"run_time_step": "fast"}, "run_time_step: 'fast' is not"),
        ({"default_playback_speed": 0}, "default_playback_speed: 0 is not"),
        ({"max_ticks": 1.5}, "max_ticks: 1.5 is not a whole number"),
        ({"max_ticks": -1}, "max_ticks: -1 is less than 0"),
        ({"pre_step": 3}, "pre_step: 3 is not a function"),
        ({"is_canceled": True}, "is_canceled: True is not a function"),
        ({"start_timestamp": "now"}, "start_timestamp: 'now' is not a whole number"),
        ({"log_level": "inof"}, "log_level: 'inof' is not one of error, warn, info, debug, trace; did you mean info?"),
        ({"simulation_rate": 120, "telemetry_rate": 50}, "telemetry_rate: 50 Hz does not divide the 120 Hz of the"),
        ({"simulation_rate": 100, "telemetry_rate": 200}, "telemetry_rate: 200 Hz does not divide the 100 Hz"),
        ({"record_every": 0}, "record_every: 0 is less than 1"),
        ({"db_path": 3}, "db_path: 3 is not a path"),
    ],
)
def test_an_argument_that_is_not_allowed_is_reported_with_the_line(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(el.EcsError) as caught:
        run(**arguments)
    assert "test_world_run.py:" in str(caught.value)
    assert message in str(caught.value)


def test_a_world_of_unknown_compatibility_or_axes_is_refused() -> None:
    with pytest.raises(el.EcsError, match="compat: 'elodni' is unknown; did you mean elodin"):
        el.World(compat="elodni")
    with pytest.raises(el.EcsError, match="frame: 'ECI' is not one of ENU, NED, ECEF"):
        el.World(frame="ECI")
    with pytest.raises(el.EcsError, match="origin: latitude 95 is not in -90 to 90"):
        el.World(frame=el.Frame.ECEF, origin=(95, 0, 0))
    assert el.World(frame="ENU").compat is None


def test_ticks_are_numbered_from_0_and_end_before_max_ticks() -> None:
    seen: list[int] = []
    run(max_ticks=3, post_step=lambda tick, context: seen.append(tick))
    assert seen == [0, 1, 2]
    run(max_ticks=0, post_step=lambda tick, context: seen.append(tick))
    assert seen == [0, 1, 2]


def test_names_of_later_versions_are_the_same_run() -> None:
    """simulation_rate, 1/s, replaced sim_time_step in Elodin 0.18."""
    seen: list[int] = []
    run(simulation_rate=200.0, telemetry_rate=100.0, max_ticks=3, pre_step=lambda _, c: seen.append(c.timestamp))
    assert seen == [0, 5000, 10000]


def test_compilers_without_effect_are_named_once(capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        run(max_ticks=1, backend="iree-cpu", iree_flags=["-O3"])
    world().build(follow, db_path="here")
    printed = capfd.readouterr().err
    assert printed.count("has no effect") == 3  # one of each
    assert "backend='iree-cpu' has no effect" in printed
    assert "db_path='here' has no effect: an Exec records nothing" in printed


def test_a_campaign_says_where_a_run_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the environment variable of Elodin's, unless the script says it itself."""
    monkeypatch.setenv("ELODIN_DB_PATH", str(tmp_path / "of_campaign"))
    run(max_ticks=1)
    run(max_ticks=1, db_path=tmp_path / "own")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["of_campaign", "own"]
    assert is_bag(str(tmp_path / "of_campaign"))


def test_a_run_ends_when_it_is_canceled() -> None:
    seen: list[int] = []
    run(post_step=lambda tick, context: seen.append(tick), is_canceled=lambda: len(seen) == 4)
    assert seen == [0, 1, 2, 3]
    asked: list[None] = []

    def canceled() -> bool:
        asked.append(None)
        return len(asked) > 2

    run(is_canceled=canceled)
    assert len(asked) == 3


def test_an_exception_of_is_canceled_ends_the_run() -> None:
    def canceled() -> bool:
        raise OSError("no watchdog")

    with pytest.raises(OSError, match="no watchdog"):
        run(is_canceled=canceled)


def test_an_exception_of_a_callback_ends_the_run_and_its_recording(tmp_path: Path) -> None:
    def post(tick: int, context: el.StepContext) -> None:
        if tick == 2:
            raise OSError("no motor")

    with pytest.raises(OSError, match="no motor"):
        run(post_step=post, db_path=tmp_path / "bag")
    with el.open_recording(tmp_path / "bag") as recorded:
        assert recorded.history("a.x")["a.x"].to_list() == [0.0, 1.0, 2.0]


def test_a_run_in_real_time_waits_between_its_ticks() -> None:
    """No tick is early."""
    began = time.monotonic()
    run(max_ticks=10, run_time_step=0.01)
    assert time.monotonic() - began >= 0.1


def test_a_recording_is_the_history(tmp_path: Path) -> None:
    """With callbacks and without, every tick and every third."""
    exec = world().build(follow, 1 / 240)
    exec.run(30)
    history = exec.history(["a.x", "globals.tick"])
    for name, arguments in (("free", {}), ("called", {"post_step": lambda tick, context: None})):
        for every in (1, 3):
            path = tmp_path / f"{name}{every}"
            run(sim_time_step=1 / 240, max_ticks=30, db_path=str(path), record_every=every, **arguments)
            with el.open_recording(path) as recorded:
                assert recorded.history(["a.x", "globals.tick"]).equals(history.gather_every(every))


def test_what_callbacks_write_is_recorded(tmp_path: Path) -> None:
    """Of the run's components after each tick; of external control at the times that were given."""

    def post(tick: int, context: el.StepContext) -> None:
        context.write_component("a.command", float(tick))
        if tick == 30:
            context.write_component("a.log", 5.0, context.timestamp - 100_000)
            context.write_component("a.log", 6.0)

    run(max_ticks=32, post_step=post, db_path=tmp_path / "bag")
    with el.open_recording(tmp_path / "bag") as recorded:
        commands = recorded.history("a.command")["a.command"].to_list()
        stamps, logs = recorded.values("log", "a")
    assert commands == [0.0, *map(float, range(32))]
    assert logs.ravel().tolist() == [0.0, 5.0, 6.0]
    assert stamps.tolist() == [0, 150_000_000, 258_333_000]


def test_a_truncated_recording_begins_anew(tmp_path: Path) -> None:
    done: list[int] = []

    def post(tick: int, context: el.StepContext) -> None:
        done.append(tick)
        if len(done) == 5:
            context.truncate()

    run(max_ticks=3, post_step=post, is_canceled=lambda: len(done) > 7, db_path=tmp_path / "late")
    assert done == [0, 1, 2]
    done.clear()
    run(max_ticks=6, post_step=post, db_path=tmp_path / "bag")
    assert done == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5]
    with el.open_recording(tmp_path / "bag") as recorded:
        frame = recorded.history(["a.x", "a.command"])
    assert frame["a.x"].to_list() == [5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]
    assert frame["time"].dt.epoch("us").to_list() == [0, 8333, 16667, 25000, 33333, 41667, 50000]


def test_a_world_that_is_read_does_not_run() -> None:
    """What a reader of scripts gets, with the arguments by name."""
    given = world()
    with capture.capturing() as captured, pytest.raises(capture.ScriptStop):
        given.run(follow, 1 / 50, max_ticks=7, post_step=print)
    (one,) = captured
    assert one.entities is given
    assert one.program.structure.step == 1 / 50
    assert (one.post_step, one.pre_step) == (print, None)
    assert (one.settings["max_ticks"], one.settings["sim_time_step"]) == (7, 1 / 50)


def test_assets_are_kept_with_their_handles() -> None:
    world = el.World()
    mesh, red = world.insert_asset(el.Mesh.cuboid(1, 2, 3)), world.insert_asset(el.Material.color(25.3, 18.4, 1.0))
    world.spawn(el.Shape(mesh, red), "first")
    world.spawn(el.Shape(mesh, red), "second")
    world.spawn(world.shape(el.Mesh.sphere(0.5), el.Material.color(0, 0, 1)), "third")
    world.spawn([el.Body(), world.glb("package://models/rocket.glb")], "rocket")
    assert [type(asset).__name__ for asset in world.assets] == ["Mesh", "Material", "Mesh", "Material", "Glb"]
    tables = world.tables()
    assert tables["mesh"].component.asset
    assert tables["mesh"].values.tolist() == [0, 0, 2]
    assert tables["material"].values.tolist() == [1, 1, 3]
    assert world.assets[tables["glb"].values[0]] == el.Glb("package://models/rocket.glb")


def test_assets_that_make_no_sense_are_refused() -> None:
    with pytest.raises(el.EcsError, match="cuboid: 0 is not a length above zero"):
        el.Mesh.cuboid(1, 0, 1)
    with pytest.raises(el.EcsError, match="str is not an asset"):
        el.World().insert_asset("rocket.glb")  # type: ignore[arg-type]


def test_components_and_entities_are_described_in_plain_types() -> None:
    given = world()
    found = given.discover_components()
    assert (found["total_components"], found["total_entities"]) == (3, 1)
    assert found["components"][0] == {"name": "x", "type": "f64"}
    assert found["components"][2]["metadata"] == {"external_control": "true"}
    assert found["entities"] == [{"id": 1, "name": "a", "components": ["x", "command", "log"]}]
    assert given.get_dict() == {"x": 0, "command": 1, "log": 2}


def test_recipes_have_names_of_their_own() -> None:
    given = world()
    given.recipe(el.s10.PyRecipe.process("firmware", "/bin/true"))
    with pytest.raises(el.EcsError, match="there is a recipe named 'firmware' already"):
        given.recipe(el.s10.PyRecipe.process("firmware", "/bin/true"))
    with pytest.raises(el.EcsError, match="str is not a recipe"):
        given.recipe("firmware")  # type: ignore[arg-type]
    cargo = el.s10.PyRecipe.cargo("controller", "/tmp/controller", args=["-v"])
    assert cargo.program.command[-4:] == ("--manifest-path", "/tmp/controller/Cargo.toml", "--", "-v")
    given = world()
    given.recipe(el.s10.PyRecipe.process("firmware", "no_such_program_anywhere"))
    with pytest.raises(el.EcsError, match=r"recipe 'firmware': no program 'no_such_program_anywhere' on PATH"):
        given.run(follow, max_ticks=1)


COMPILED: list[str] = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, *_, **__: COMPILED.append(event) if event.endswith("backend_compile_duration") else None
)


@pytest.mark.parametrize("called", [True, False], ids=["callbacks", "alone"])
def test_a_run_compiles_its_ticks_once(called: bool) -> None:
    """Also after a callback has written."""
    given = world()

    def write(tick: int, context: Any) -> None:
        if tick == 0:
            COMPILED.clear()
            context.write_component("a.command", np.array([1.0]))

    COMPILED.clear()
    given.run(follow, max_ticks=5, interactive=False, post_step=write if called else None)
    assert len(COMPILED) == (0 if called else 1)


@pytest.mark.parametrize("ticks", only([1, 3000], 0))
def test_bodies_move_without_callbacks(ticks: int) -> None:
    """v t, in as many calls as it takes."""
    free = el.World()
    free.spawn(el.Body(world_vel=el.SpatialMotion(linear=np.array([2.0, 0.0, 0.0]))), "ball")
    with capture.capturing() as captured, pytest.raises(capture.ScriptStop):
        free.run(el.six_dof(), 1 / 100, max_ticks=ticks)
    made = Run(captured[0], RunSettings(max_ticks=ticks, interactive=False))
    assert made.run() == ticks
    assert abs(made.live.get("world_pos")[0, 4] - 2.0 * ticks / 100) < 1e-9
