"""Live scene graphs: messages of a run, a scene that follows them, rotors that turn, and structure that changes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rclpy.serialization import deserialize_message
from scipy.spatial.transform import Rotation
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from sim_node.assembly import assemble
from sim_node.extensions.aerosim.live import FollowedScene
from sim_node.extensions.aerosim.scene_sinks import SceneGraphSink
from sim_node.messages.rotor_frames import RotorAngles, RotorFrames, RotorFrameSink
from sim_node.messages.tf_sink import serialised
from sim_node.messages.topic import Send, Topic
from sim_node.simulation import Simulation, Snapshot
from sim_node.world import World, WorldError, load
from sim_node.world.model import StaticFrame
from sim_node.world.vehicles import Rotor

IDENTITY = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


class Outlet:
    """Keeps what is sent, by topic, in order."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, int, bytes]] = []

    def advertise(self, topic: Topic) -> Send:
        return lambda time_ns, data: self.sent.append((topic.name, time_ns, data))

    def texts(self) -> list[tuple[str, Any]]:
        return [(name, json.loads(deserialize_message(data, String).data)) for name, _, data in self.sent]


def moved(world: World, row: int, east: float) -> np.ndarray[Any, Any]:
    poses = np.array(Simulation(world).snapshot().poses)
    poses[row, 0] = east
    return poses


@pytest.fixture
def two() -> World:
    """Two frames."""
    return World("two", frames=(StaticFrame("a", "map", IDENTITY), StaticFrame("b", "a", IDENTITY)))


def test_only_what_changed_is_sent_after_the_whole(two: World) -> None:
    outlet = Outlet()
    sink = SceneGraphSink(outlet, rate=10.0)
    frames = Simulation(two).frames
    sink.open(two, frames)
    second = 1_000_000_000
    for time_ns, east in (
        (0, 0.0),
        (second // 20, 1.0),
        (second // 10, 1.0),
        (second // 5, 1.0),
        (3 * second // 10, 2.0),
    ):
        sink.write(Snapshot(time_ns, moved(two, 1, east)))
    names = [name for name, _ in outlet.texts()]
    # At 0.05 s nothing is due, at 0.2 s nothing has changed.
    assert names == ["scene_graph", "scene_graph/update", "scene_graph", "scene_graph/update"]
    whole, first, _, second_ = (data for _, data in outlet.texts())
    assert list(whole["entities"]) == ["entity_0", "entity_1"]
    assert list(first["components"]) == ["actor_state"]
    assert list(first["components"]["actor_state"]) == ["entity_0"]
    assert first["components"]["actor_state"]["entity_0"]["pose"]["transform"]["position"] == {
        "x": 0.0,
        "y": 1.0,
        "z": 0.0,
    }
    assert (first["sequence"], second_["sequence"], first["added"], first["removed"]) == (1, 2, [], [])


# Takes seconds: make test has the scenes of runs and of their changes.
@pytest.mark.nightly
def test_a_follower_has_the_poses_of_the_run() -> None:
    world = assemble(load("formation"))
    simulation = Simulation(world, sensors=False)
    outlet = Outlet()
    sink, scene = SceneGraphSink(outlet, rate=50.0), FollowedScene()
    sink.open(simulation.world, simulation.frames)
    used = 0
    for _ in range(30):
        simulation.run(0.02)
        sink.write(simulation.snapshot("rotor_speed"))
        for _, _, data in outlet.sent:
            used += scene.receive(deserialize_message(data, String).data)
        outlet.sent.clear()
    assert used >= 30
    assert scene.generation == 1
    poses = simulation.snapshot().poses
    for entity in scene.graph.entities:
        here = simulation.frames.lookup(poses, "map", entity.frame)
        there = scene.layout.frames.lookup(scene.poses, "map", entity.frame)
        assert there[:3] == pytest.approx(here[:3], abs=1e-9)
        assert abs(there[3:] @ here[3:]) == pytest.approx(1.0, abs=1e-9)
    assert scene.time_ns == simulation.time_ns


def test_a_change_of_structure_sends_the_whole_and_says_what_came_and_went(two: World) -> None:
    outlet = Outlet()
    sink, scene = SceneGraphSink(outlet), FollowedScene()
    sink.open(two, Simulation(two).frames)
    sink.write(Snapshot(0, moved(two, 1, 0.0)))
    other = World("other", frames=(StaticFrame("a", "map", IDENTITY), StaticFrame("c", "a", IDENTITY)))
    sink.open(other, Simulation(other).frames)
    sink.write(Snapshot(1_000_000, moved(other, 1, 0.5)))
    (_, before), (name, update), (last, whole) = outlet.texts()
    assert (name, last) == ("scene_graph/update", "scene_graph")
    # a keeps its id, and that of b is not used again.
    assert (update["added"], update["removed"]) == (["entity_2"], ["entity_1"])
    assert list(whole["entities"]) == ["entity_0", "entity_2"]
    for data in (before, update):
        assert scene.receive(json.dumps(data))
    assert [each.frame for each in scene.graph.entities] == ["a", "c"]
    assert scene.generation == 2


def test_updates_after_a_gap_wait_for_the_next_whole(two: World) -> None:
    outlet = Outlet()
    sink, scene = SceneGraphSink(outlet, rate=1000.0), FollowedScene()
    sink.open(two, Simulation(two).frames)
    for step in range(4):
        sink.write(Snapshot(step * 1_000_000, moved(two, 1, float(step))))
    texts = [json.dumps(data) for name, data in outlet.texts() if name.endswith("update") or data["sequence"] == 0]
    assert [scene.receive(text) for text in (texts[1], texts[0], texts[1], texts[3])] == [False, True, True, False]
    assert scene.poses[1, 0] == 1.0


def test_what_has_moved_is_no_longer_still(two: World) -> None:
    outlet = Outlet()
    sink, scene = SceneGraphSink(outlet, rate=1000.0), FollowedScene()
    sink.open(two, Simulation(two).frames)
    still = []
    for step, x in enumerate((1.0, 1.0, 2.0, 2.0)):
        sink.write(Snapshot(step * 1_000_000, moved(two, 2, x)))
        for _, data in outlet.texts():
            scene.receive(json.dumps(data))
        outlet.sent.clear()
        frames = scene.layout.frames
        still.append([name for name, fixed in zip(frames.names, frames.still, strict=True) if fixed])
    assert still == [["map", "a", "b"], ["map", "a", "b"], ["map", "a"], ["map", "a"]]
    assert scene.generation == 1


def test_a_message_that_is_no_scene_leaves_the_scene_as_it_was(two: World) -> None:
    outlet = Outlet()
    sink, scene = SceneGraphSink(outlet), FollowedScene()
    sink.open(two, Simulation(two).frames)
    sink.write(Snapshot(0, moved(two, 1, 3.0)))
    [(_, whole)] = outlet.texts()
    assert scene.receive(json.dumps(whole))
    with pytest.raises(WorldError, match="not JSON"):
        scene.receive("{")
    whole["components"]["actor_properties"]["entity_1"]["actor_name"] = "a"  # two frames of one name
    with pytest.raises(WorldError):
        scene.receive(json.dumps(whole))
    assert scene.layout.frames.names == ("map", "a", "b")
    assert scene.poses[1, 0] == 3.0


def test_rotors_turn_by_the_integral_of_their_speed() -> None:
    """A speed that grows linearly turns a rotor by its mean, whatever the steps."""
    world = assemble(load("quadrotor"))
    rotors = RotorFrames(world)
    turned = RotorAngles(rotors)
    for time_ns in (0, 3_000_000, 50_000_000, 70_000_000):
        turned.advance(time_ns, np.full(len(rotors), 10.0 + 100.0 * time_ns / 1e9))
    spins = np.array([1 if rotor.spin == "ccw" else -1 for rotor in world.vehicles[0].rotors])
    assert turned.angles == pytest.approx(spins * (10.0 * 0.07 + 50.0 * 0.07**2), abs=1e-12)
    # Back in time: a new run.
    assert turned.advance(0, np.zeros(len(rotors))).tolist() == [0.0] * len(rotors)


def test_a_rotors_frame_turns_about_its_thrust() -> None:
    axis = np.array([0.6, 0.0, 0.8])
    world = assemble(load("quadrotor"))
    tilted = Rotor(np.array([1.0, 2.0, 3.0]), "ccw", 1e-5, 0.01, 100.0, axis=axis)
    vehicle = world.vehicles[0]
    rotors = RotorFrames(replace(world, vehicles=(replace(vehicle, rotors=(tilted,)),)))
    still, quarter = rotors.poses()[0], rotors.poses(np.array([np.pi / 2]))[0]
    before, after = Rotation.from_quat(still[3:]), Rotation.from_quat(quarter[3:])
    assert before.apply([0, 0, 1]) == pytest.approx(axis)
    assert after.apply([0, 0, 1]) == pytest.approx(axis)
    assert (after * before.inv()).as_rotvec() == pytest.approx(axis * np.pi / 2)
    assert quarter[:3].tolist() == [1.0, 2.0, 3.0]


def test_rotors_are_frames_at_a_limited_rate() -> None:
    world = assemble(load("quadrotor"))
    simulation = Simulation(world, sensors=False)
    outlet = Outlet()
    sink = RotorFrameSink(serialised(outlet), 20.0, prefix="x/")
    sink.open(simulation.world, simulation.frames)
    angles = RotorAngles(RotorFrames(world))
    for _ in range(60):
        simulation.run(1 / 60)
        snapshot = simulation.snapshot("rotor_speed")
        sink.write(snapshot)
        angles.advance(snapshot.time_ns, snapshot["rotor_speed"])
    assert 20 <= len(outlet.sent) <= 21
    message = deserialize_message(outlet.sent[-1][2], TFMessage)
    body = world.vehicles[0].body
    assert [t.child_frame_id for t in message.transforms] == [f"x/{body}/rotor_{n}" for n in range(4)]
    assert {t.header.frame_id for t in message.transforms} == {f"x/{body}"}
