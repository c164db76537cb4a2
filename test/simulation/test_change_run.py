"""A run whose world changes: what stays goes on to the bit, and refusals change nothing."""

from __future__ import annotations

import gc
import os
import pickle
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from boxes import GRID, HERE, WEIGHTLESS, box
from hypothesis import given, settings
from hypothesis import strategies as st
from nightly import only

from sim_node import Loop, Simulation, Snapshot, State, World, WorldError, load, loads
from sim_node.simulation import Refused
from sim_node.simulation.changes import with_part
from sim_node.simulation.physics import ENGINES
from sim_node.world import FrameTable, Geometry
from sim_node.world.model import Sensor, StaticFrame, TimeGrid
from sim_node.world.scene import Ground

Array = npt.NDArray[np.float64]


def measured(world: World, change: Callable[[Simulation, int], object]) -> dict[tuple[str, int], bytes]:
    """All that the drone's sensors publish, and its state, step by step."""
    run, found = Simulation(world, seed=3), {}
    received: dict[str, Any] = {}
    run.step(400)  # it has taken off
    for step in range(120):
        run.step()
        for name, each in run.snapshot().measurements.items():
            if name.startswith("drone/") and len(each.stamps_ns):
                received[name] = each.stamps_ns.tobytes() + each.values.tobytes()
                found[name, step] = received[name]
        found["pose", step] = run.bodies["drone/base_link"].pose.tobytes() + run.vehicles["quad"].speeds.tobytes()
        change(run, step)
    return found


@pytest.fixture(scope="module")
def quadrotor() -> World:
    world = load("quadrotor")
    (vehicle,) = world.vehicles
    vehicle = replace(vehicle, name="quad")
    lidar = Sensor("drone/RANGE", "drone/base_link", HERE, type="rangefinder", parameters={"latency": 0.03})
    return with_part(replace(world, vehicles=(vehicle,)), lidar)


@pytest.mark.parametrize("integrator", only(["euler", "rk4", "implicitfast"], 2))
def test_sensors_of_an_untouched_vehicle_measure_the_same_to_the_bit(quadrotor: World, integrator: str) -> None:
    """A box with a sensor is spawned elsewhere, comes to rest on the ground, and is removed again."""
    world = replace(quadrotor, physics=replace(quadrotor.physics, integrator=integrator))

    def spawn(run: Simulation, step: int) -> None:
        if step == 31:
            run.add(box("crate", (9, 9, 0.25)), Sensor("crate/IMU", "crate", HERE, type="imu", parameters={"rate": 50}))
        if step == 95:
            run.remove("crate")

    without = measured(world, lambda run, step: None)
    assert measured(world, spawn) == without
    assert len({name for name, _ in without}) == 7


def test_a_run_with_changes_is_reproducible_and_its_state_brings_the_world_with_it(quadrotor: World) -> None:
    def changed(seed: int) -> Simulation:
        run = Simulation(quadrotor, seed)
        run.step(17)
        run.add(box("crate", (5, 0, 4)), Sensor("crate/IMU", "crate", HERE, type="imu", parameters={"rate": 50}))
        run.step(20)
        run.attach("crate", "drone/base_link")
        run.set_numbers({"bodies[crate].geometry[0].mass": 0.01})
        run.step(20)
        return run

    one, other = changed(5), changed(5)
    kept = pickle.dumps(one.state)
    assert one.state == other.state
    assert one.state != changed(6).state
    one.step(40)
    fresh = Simulation(quadrotor)
    fresh.restore(pickle.loads(kept))
    fresh.step(40)
    assert fresh.state == one.state
    assert fresh.generation == 1
    # Numbers by path live in the world: later changes keep them.
    fresh.detach("crate")
    assert fresh.world.at("bodies[crate].geometry[0].mass") == 0.01
    state: State = fresh.state
    fresh.reset()
    assert "crate" not in fresh.frames.names
    assert fresh.state == Simulation(quadrotor, seed=5).state
    fresh.restore(state)
    fresh.restart()
    assert fresh.steps == 0
    assert "crate" in fresh.frames.names


def test_new_sensors_measure_from_now_on_beside_older_ones_alike(quadrotor: World) -> None:
    """They have the same clock, but not what those have pending for the time of their latency."""
    run = Simulation(quadrotor)
    run.step(30)
    run.add(
        box("crate", (5, 0, 4)), Sensor("crate/RANGE", "crate", HERE, type="rangefinder", parameters={"latency": 0.03})
    )
    assert run.sensors["crate/RANGE"].values is None
    assert run.sensors["drone/RANGE"].values is not None
    stamps = []
    for _ in range(60):
        run.step()
        stamps += [m.stamps_ns.tolist() for name, m in run.snapshot().measurements.items() if name == "crate/RANGE"]
    (first, *_) = [stamp for stamp in stamps if stamp]
    assert first[0] > 30 * run.world.time.step_ns
    # Once nothing is pending that the other lacks, a further change lets them measure together.
    assert len([batch for batch in run.snapshot().measurements.batches if batch.kind == "rangefinder"]) == 2
    run.add(box("other", (9, 0, 4)))
    assert len([batch for batch in run.snapshot().measurements.batches if batch.kind == "rangefinder"]) == 1


def test_handles_histories_subscriptions_and_observers_follow() -> None:
    world = World("w", time=GRID, physics=WEIGHTLESS, bodies=(box("a", qd=(1, 0, 0, 0, 0, 0)), box("b", (3, 0, 0))))
    run = Simulation(with_part(world, Sensor("b/IMU", "b", HERE, type="imu", parameters={"rate": 250})))
    a, b, imu = run.bodies["a"], run.bodies["b"], run.sensors["b/IMU"]
    history, observe, received = run.history("wrench"), run.observer(["a"]), run.subscribe("b/IMU")
    columns = run.columns
    a.wrench = (1, 0, 0, 0, 0, 0)
    run.step(2)
    run.add(box("0", (6, 0, 0)))  # takes no row of the others
    run.remove("b")
    run.step()
    assert history["wrench"].shape[:2] == (4, 3)
    assert history["wrench"][-1, :, 0].tolist()[:2] == [0.0, 1.0]
    assert np.isnan(history["wrench"][-1, 2]).all()
    assert observe().pose[0].tolist() == a.pose.tolist()
    assert received.latest(run.steps) is not None
    assert received.latest(run.steps) is None
    for gone in (lambda: b.pose, lambda: imu.values):
        with pytest.raises(KeyError, match="is gone: the world has changed"):
            gone()
    with pytest.raises(KeyError, match="of an earlier world"):
        columns["twist"]
    with pytest.raises(ValueError, match="in the past"):
        run.seek(0)


def test_poses_twists_and_joints_are_set_by_name() -> None:
    world = loads(
        """
        world: w
        bodies:
          - {name: arm, joint: ry, geometry: [{box: [1, 1, 1], mass: 1}]}
          - {name: hand, parent: arm, joint: pz, geometry: [{box: [1, 1, 1], mass: 1}]}
          - {name: shelf, pose: {position: [0, 0, 2]}, geometry: [{box: [1, 1, 1]}]}
        """
    )
    run = Simulation(with_part(world, box("crate")))
    run.set_joint_positions({"arm": 0.5, "hand": [0.2]})
    assert [*run.joints["arm"].position, *run.joints["hand"].position] == [0.5, 0.2]
    with pytest.raises(ValueError, match="'hand'"):
        run.set_joint_positions({"arm": 0.1, "hand": [0.1, 0.2]})
    with pytest.raises(KeyError, match="no joint 'hnd'"):
        run.set_joint_positions({"arm": 0.1, "hnd": 0.1})
    assert [*run.joints["arm"].position, *run.joints["hand"].position] == [0.5, 0.2]
    run.set_pose("crate", (1, 2, 3, 0, 0, 0, 1))
    run.set_twist("crate", (1, 2, 3, 4, 5, 6))
    assert run.bodies["crate"].twist == pytest.approx([1, 2, 3, 4, 5, 6])
    assert run.generation == 0
    run.set_pose("shelf", (7, 2, 3, 0, 0, 0, 1))
    assert run.generation == 1
    assert run.bodies["shelf"].pose.tolist() == [7, 2, 3, 0, 0, 0, 1]
    assert run.bodies["crate"].twist == pytest.approx([1, 2, 3, 4, 5, 6])
    with pytest.raises(ValueError, match="'hand'"):
        run.set_pose("hand", HERE)
    for name in ("shlf", "map"):
        with pytest.raises(WorldError, match=name):
            run.set_pose(name, HERE)


def test_refusals_change_nothing(quadrotor: World) -> None:
    run = Simulation(quadrotor)
    run.step(20)
    before, world = run.state, run.world

    def refuse(between: World) -> list[Any]:
        raise OSError("the port is in use")

    refused: list[tuple[type[Exception], Callable[[], object]]] = [
        (WorldError, lambda: run.add(box("drone/base_link"))),
        (WorldError, lambda: run.add(replace(box("b"), geometry=()))),
        (WorldError, lambda: run.add(Sensor("s", "map", HERE, type="immu"))),
        (WorldError, lambda: run.remove("drone/IMUU")),
        (WorldError, lambda: run.attach("drone/base_link", "map")),
        (WorldError, lambda: run.detach("drone/base_link")),
        (WorldError, lambda: run.set_numbers({"vehicles[quad].rotors[9].max_speed": 1})),
        (ValueError, lambda: run.change(replace(quadrotor, time=TimeGrid(0, 3_000_000)))),
        (ValueError, lambda: run.change(load("two_vehicles"))),
        (ValueError, lambda: run.restore(Simulation(load("orbit")).state)),
    ]
    for kind, call in refused:
        with pytest.raises(kind):
            call()
    run.on_change(refuse)
    with pytest.raises(OSError, match="in use"):
        run.add(box("crate"))
    assert run.state == before
    assert run.world is world
    assert run.generation == 0
    assert "crate" not in run.bodies


def test_a_co_simulator_cannot_change_the_world_during_a_step() -> None:
    run = Simulation(World("w", time=GRID, bodies=(box("a"),)))

    class Meddler:
        rate = 250

        def send(self, step: int, time_ns: int) -> None:
            run.remove("a")

        def receive(self) -> None: ...
        def interrupt(self) -> None: ...
        def close(self) -> None: ...

    run.connect(Meddler())
    with pytest.raises(Refused, match="during a step"):
        run.step()


class Screen:
    """A sink that notes what it is opened on, and may refuse worlds."""

    def __init__(self) -> None:
        self.frames: list[tuple[str, ...]] = []
        self.written: list[tuple[int, int]] = []
        self.refusal: str | None = None

    def refuses(self, world: World) -> str | None:
        return self.refusal

    def open(self, world: World, frames: FrameTable) -> None:
        self.frames.append(frames.names)

    def write(self, snapshot: Snapshot) -> None:
        self.written.append((snapshot.time_ns, len(snapshot.poses)))

    def close(self) -> None: ...


def test_a_loop_opens_its_sinks_again_and_publishes_the_instant_of_the_change() -> None:
    run, screen = Simulation(World("w", time=GRID, bodies=(box("a"),))), Screen()
    loop = Loop(run, (screen,), paused=True)
    loop.start()
    loop.step(5)
    loop.add(box("b", (5, 0, 0)))
    loop.set_pose("b", (6, 0, 0, 0, 0, 0, 1))
    screen.refusal = "this recording has one world"
    with pytest.raises(Refused, match="one world"):
        loop.remove("b")
    loop.reset()
    loop.stop()
    assert screen.frames == [("map", "a"), ("map", "a", "b"), ("map", "a")]
    assert screen.written == [(0, 2), (20_000_000, 2), (20_000_000, 3), (20_000_000, 3), (0, 2)]


# Takes seconds: make test has changes of all parts in one run.
@pytest.mark.nightly
def test_cameras_go_on_with_the_same_process_and_see_what_is_new() -> None:
    others = children()  # of tests before this one
    camera = Sensor("CAM", "map", HERE, type="camera", parameters={"width": 64, "height": 48, "rate": 25})
    run = Simulation(World("w", time=GRID, physics=WEIGHTLESS, sensors=(camera,), bodies=(box("a", (-5, 0, 0)),)))
    run.step(10)
    before, (child,) = np.array(run.sensors["CAM"].values), children(others)
    red = replace(box("red", (3, 0, 0)), geometry=(Geometry("box", np.ones(3), 1.0, colour=np.array([1, 0, 0, 1])),))
    run.add(red)
    run.step(10)
    after = np.array(run.sensors["CAM"].values)
    assert after[24, 32, 0] > 2 * after[24, 32, 1]
    assert (after[0, 0] == before[0, 0]).all()
    assert children(others) == [child]
    for _ in range(4):  # many changes between two images
        run.add(box("c", (3, 1, 0)))
        run.remove("c")
    run.step(10)
    assert np.array_equal(np.array(run.sensors["CAM"].values), after)
    assert children(others) == [child]
    run.remove("CAM")
    assert children(others) == []


def children(others: Sequence[str] = ()) -> list[str]:
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [child for child in file.read().split() if child not in others]


# Takes seconds: make test has changes of all parts in one run.
@pytest.mark.nightly
def test_changes_leave_nothing_behind() -> None:
    run = Simulation(World("w", time=GRID, bodies=(box("a"),)))
    run.add(box("b", (5, 0, 0)), Sensor("b/IMU", "b", HERE, type="imu"))
    gc.collect()
    gc.disable()  # a generation is freed at once, not when the collector comes by
    try:
        engines = weakref.ref(run.engines["rigid_bodies"])
        descriptors, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
        run.remove("b")
        assert engines() is None
        for k in range(20):
            run.add(box("b", (5, 0, 0)), Sensor("b/IMU", "b", HERE, type="imu"))
            run.step()
            run.remove("b")
            run.step()
            assert k or (objects := len(gc.get_objects()))
        assert len(gc.get_objects()) < objects + 100
        assert (len(os.listdir("/proc/self/fd")), threading.active_count()) == (descriptors, threads)
    finally:
        gc.enable()


names = st.sampled_from(["a", "b", "c", "d"])
moves = st.one_of(
    st.tuples(st.just("add"), names, names),
    st.tuples(st.just("remove"), names, names),
    st.tuples(st.just("attach"), names, names),
    st.tuples(st.just("detach"), names, names),
    st.tuples(st.just("mark"), names, names),
)


@settings(max_examples=25)
@given(sequence=st.lists(moves, min_size=1, max_size=8))
def test_any_changes_keep_the_table_in_order_and_equal_a_fresh_run_of_the_last_world(
    sequence: list[tuple[str, str, str]],
) -> None:
    run = Simulation(World("w", time=GRID, ground=Ground(), bodies=(box("a", (0, 0, 1), (0, 0, 0, 1, 0, 0)),)))
    for place, (verb, name, other) in enumerate(sequence):
        world, state = run.world, run.state
        try:
            if verb == "add":
                run.add(box(name, (2.0 * place, 0, 1), (0, 0, 0, 0, 0, 1)))
            elif verb == "mark":
                run.add(StaticFrame(f"{name}/{other}", name, HERE))
            elif verb == "attach":
                run.attach(name, other)
            else:
                getattr(run, verb)(name)
        except WorldError:
            assert run.world is world
            assert run.state == state
        run.step(2)
        parents = run.frames.parents
        assert parents[0] == -1
        assert all(0 <= parent < row for row, parent in enumerate(parents.tolist()) if row)
        assert len(set(run.frames.names)) == len(run.frames) == len(parents)
        assert set(run.bodies) == {body.name for body in run.world.bodies}
        assert np.isfinite(run.present().poses).all()
    fresh = Simulation(run.world)
    fresh.step(run.steps)
    state = run.state
    fresh.columns.restore(state.columns)
    run.step(3)
    fresh.step(3)
    assert fresh.frames.names == run.frames.names
    assert fresh.state.columns.keys() == run.state.columns.keys()
    for column, array in run.state.columns.items():
        assert fresh.state.columns[column].tobytes() == array.tobytes(), column


def test_a_world_that_exchanges_with_a_script_does_not_change() -> None:
    class Partner:
        rate = 250

        def reset(self, seed: int) -> None: ...
        def step(self, steps: int) -> None: ...
        def write(self, poses: Array, ahead_ns: int) -> None: ...
        def couple(self, run: Any) -> Any:
            return self

        def send(self, step: int, time_ns: int) -> None: ...
        def receive(self) -> None: ...
        def interrupt(self) -> None: ...
        def close(self) -> None: ...

    world = World("w", time=GRID, bodies=(box("a"),))
    plain = Simulation(world)
    with ENGINES.extended({"partner": lambda world, layout, columns: Partner()}):
        with pytest.raises(ValueError, match="cannot be added while a world runs"):
            plain.add(box("b"))
        coupled = Simulation(world)
        with pytest.raises(ValueError, match="systems of a Python script exchange with it"):
            coupled.add(box("b"))
    assert plain.generation == coupled.generation == 0


def falling() -> Simulation:
    """A ball that falls from 100 m, a platform that moves at 2 m/s by keyframes, and a sensor on each."""
    return Simulation(
        loads("""
world: falling
time: {start: 3, step: 0.01}
physics: {timestep: 0.001, integrator: rk4, gravity: [0, 0, -10]}
bodies: [{name: ball, joint: {type: free, q: [0, 0, 100, 0, 0, 0, 1]}, geometry: [{sphere: 0.1, mass: 1}]}]
motions: [{frame: platform, keyframes: [{t: 3, position: [0, 0, 0]}, {t: 13, position: [20, 0, 0]}]}]
sensors: [{name: ball/TRUTH, parent: ball, type: ground_truth, rate: 10}]
""")
    )


def places(run: Simulation) -> Array:
    """Where the ball and the platform are, (2, 3)."""
    return run.snapshot().poses[[run.frames.names.index(name) for name in ("ball", "platform")], :3]


def test_a_reset_of_time_leaves_what_moves() -> None:
    """z = 100 - 5 t^2 of a fall that a reset of time does not interrupt; keyframes follow the new time."""
    run = falling()
    run.step(100)
    run.reset_time()
    assert (run.time_ns, run.steps) == (3_000_000_000, 0)
    np.testing.assert_allclose(places(run), [[0.0, 0.0, 95.0], [0.0, 0.0, 0.0]], atol=1e-9)
    run.step(50)
    np.testing.assert_allclose(places(run), [[0.0, 0.0, 88.75], [1.0, 0.0, 0.0]], atol=1e-9)
    assert run.sensors["ball/TRUTH"].stamp_ns == 3_500_000_000
    np.testing.assert_allclose(run.bodies["ball"].twist[:3], [0, 0, -15], atol=1e-9)


def test_a_reset_of_state_leaves_time() -> None:
    run = falling()
    run.step(100)
    run.reset_state()
    assert (run.time_ns, run.steps) == (4_000_000_000, 100)
    np.testing.assert_allclose(places(run), [[0.0, 0.0, 100.0], [2.0, 0.0, 0.0]], atol=1e-9)
    run.step(50)
    np.testing.assert_allclose(places(run), [[0.0, 0.0, 98.75], [3.0, 0.0, 0.0]], atol=1e-9)
    assert run.sensors["ball/TRUTH"].stamp_ns == 4_500_000_000
