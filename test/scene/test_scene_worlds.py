"""Worlds from scene graphs, and scene graphs from worlds: poses by scipy, names, sensors, assets, scale."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st
from nightly import rows
from rclpy.serialization import deserialize_message
from scipy.spatial.transform import Rotation
from tf2_msgs.msg import TFMessage

from sim_node.assembly import assemble
from sim_node.cli.main import main
from sim_node.extensions.aerosim import load_scene_graph, scene_graph, scene_graph_of, to_json, world_of
from sim_node.recording.opening import open_bag
from sim_node.session import Session
from sim_node.session.publishing import Publishing
from sim_node.simulation import Simulation
from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.markers import markers_of
from sim_node.viewing.shapes import shapes_of
from sim_node.viewing.urdf import UrdfWriter
from sim_node.world import World, WorldError, WorldWarning, lay_out, load
from sim_node.world.locate import shipped_worlds
from sim_node.world.model import Origin, StaticFrame
from sim_node.world.writers.yaml import to_yaml

SEED = Path(__file__).parent / "seed_scene_graph.json"
# Rows are the axes of ENU in NED, and of FLU in FRD.
ENU_OF_NED = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
FLU_OF_FRD = np.diag([1.0, -1.0, -1.0])
angles = st.tuples(*[st.floats(-3.0, 3.0)] * 3)
places = st.tuples(*[st.floats(-1e3, 1e3)] * 3)


def entity(name: str, parent: str = "", position: Any = (0, 0, 0), quaternion: Any = (0, 0, 0, 1), **more: Any) -> Any:
    """The properties and state of an entity."""
    transform = {
        "position": dict(zip("xyz", map(float, position), strict=True)),
        "orientation": dict(zip("xyzw", map(float, quaternion), strict=True)),
        "scale": dict(zip("xyz", more.get("scale", (1.0, 1.0, 1.0)), strict=True)),
    }
    properties = {"actor_name": name, "actor_asset": more.get("asset", ""), "parent": parent}
    return properties, {"pose": {"transform": transform}}


def scene(*entities: Any, **components: Any) -> str:
    """The JSON of entities entity_0, entity_1, ..."""
    ids = [f"entity_{number}" for number in range(len(entities))]
    groups = {
        "actor_properties": {id: each[0] for id, each in zip(ids, entities, strict=True)},
        "actor_state": {id: each[1] for id, each in zip(ids, entities, strict=True)},
    }
    listed: dict[str, list[str]] = {id: [] for id in ids}
    return json.dumps({"entities": listed, "components": {**groups, **components}, "resources": {}})


def in_root(world: World, name: str) -> FloatArray:
    layout = lay_out(assemble(world))
    return layout.frames.lookup(layout.poses, world.fixed_frame, name)


@given(places, angles, places, angles)
def test_ned_and_frd_become_enu_and_flu(root: Any, roll: Any, arm: Any, turn: Any) -> None:
    attitude, mounting = Rotation.from_euler("xyz", roll), Rotation.from_euler("xyz", turn)
    text = scene(
        entity("drone", position=root, quaternion=attitude.as_quat()),
        entity("camera", "entity_0", position=arm, quaternion=mounting.as_quat()),
    )
    world = world_of(scene_graph(text), "w").world
    found = in_root(world, "camera")
    ned = np.array(root) + attitude.apply(arm)
    assert found[:3] == pytest.approx(ENU_OF_NED @ ned, abs=1e-9)
    axes = ENU_OF_NED @ (attitude * mounting).as_matrix() @ FLU_OF_FRD.T
    assert Rotation.from_quat(found[3:]).as_matrix() == pytest.approx(axes, abs=1e-12)


def test_conventions_are_stated_by_the_include(tmp_path: Path) -> None:
    text = scene(
        entity("drone", position=(1, 2, 3)),
        effectors={
            "entity_0": [
                {
                    "id": "rotor",
                    "usd_relative_path": "",
                    "pose": {"transform": entity("", position=(3, 4, 5))[1]["pose"]["transform"]},
                }
            ]
        },
    )
    (tmp_path / "s.json").write_text(text)
    places = {}
    for name, keys in {"a": "", "b": ", convention: ENU", "c": ", effectors: FLU"}.items():
        (tmp_path / "w.yaml").write_text(f"include: [{{file: s.json, prefix: p{keys}}}]\n")
        layout = lay_out(load(tmp_path / "w.yaml"))
        places[name] = [
            layout.frames.lookup(layout.poses, *pair)[:3].tolist()
            for pair in (("map", "p/drone"), ("p/drone", "p/drone/rotor"))
        ]
    assert places == {"a": [[2, 1, -3], [3, -4, -5]], "b": [[1, 2, 3], [3, 4, 5]], "c": [[2, 1, -3], [3, 4, 5]]}


def test_the_documented_example_is_a_world(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.warns(WorldWarning, match="ecef"):
        world = load(SEED)
    layout = lay_out(world)
    assert layout.frames.path("rgb_camera_0") == "map/generic_evtol_1/rgb_camera_0"
    moving = [name for name, static in zip(layout.frames.names, layout.frames.static, strict=True) if not static]
    assert moving == ["generic_evtol_0/rotor_blade_01"]
    assert world.origin == Origin(29.594656, -95.16384722, -28.3)
    camera = next(each for each in world.sensors if each.name == "rgb_camera_0")
    assert camera.type == "camera"
    # tick_rate is a period, and fov is horizontal, in degrees.
    expected = {"width": 1920, "height": 1080, "rate": 5.0, "horizontal_fov": math.pi / 2, "near": 0.1, "far": 1000.0}
    assert dict(camera.parameters) == pytest.approx(expected)
    assert main(["check", str(SEED)]) == 0
    assert "8 frames, 1 moving, 2 sensors" in capsys.readouterr().out


def test_sensors_by_the_table() -> None:
    kinds = {
        "sensors/cameras/rgb_camera": {"RGBCamera": {"resolution": [8, 6], "tick_rate": 0.02, "capture_enabled": True}},
        "sensors/depth_sensor": {"DepthSensor": {"resolution": [8, 6], "fov": 60}},
        "imu": {"rate": 50},
        "gnss": {},
        "rgb_camera": {"capture_enabled": False},
        "adsb": {"range": 5},
        "joint_states": {},
    }
    sensors = {
        f"entity_{n}": {"sensor_name": f"s{n}", "sensor_type": kind, "sensor_parameters": given_}
        for n, (kind, given_) in enumerate(kinds.items())
    }
    text = scene(*(entity(f"s{n}") for n in range(len(kinds))), sensor=sensors)
    found = world_of(scene_graph(text), "w")
    world = found.world
    assert [(each.name, each.type) for each in world.sensors] == [
        ("s0", "camera"), ("s1", "depth_camera"), ("s2", "imu"), ("s3", "gps"),
    ]  # fmt: skip
    assert world.sensors[0].parameters["rate"] == pytest.approx(50.0)
    assert world.sensors[1].parameters["horizontal_fov"] == pytest.approx(math.pi / 3)
    assert [each.name for each in world.frames] == ["s4", "s5", "s6"]
    assert ["adsb" in str(found.warnings[0]), "joint_states" in str(found.warnings[1])] == [True, True]
    # Bare frames keep their components, and cameras what has no effect here.
    layout = lay_out(world)
    back = scene_graph_of(world, layout.frames, layout.poses)
    types = [back.entity(f"entity_{number}").sensor.type for number in range(len(kinds))]  # type: ignore[union-attr]
    assert types == ["rgb_camera", "depth_sensor", "imu", "gps", "rgb_camera", "adsb", "joint_states"]
    assert back.entity("entity_0").sensor.parameters["capture_enabled"] is True  # type: ignore[union-attr]
    assert back.entity("entity_5").sensor.parameters == {"range": 5}  # type: ignore[union-attr]


def test_faults_of_sensors_are_located_in_the_json(tmp_path: Path) -> None:
    sensor = {"entity_0": {"sensor_name": "eye", "sensor_type": "rgb_camera", "sensor_parameters": {"fov": 500}}}
    file = tmp_path / "s.json"
    file.write_text(json.dumps(json.loads(scene(entity("eye"), sensor=sensor)), indent=1))
    with pytest.raises(WorldError) as error:
        Simulation(load(file))
    line = next(n for n, text in enumerate(file.read_text().splitlines(), 1) if '"fov"' in text)
    assert str(error.value).startswith(f"{file}:{line}:")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scene with assets: a box of 1 x 2 x 3 m as GLB, and a robot."""
    folder = tmp_path_factory.mktemp("assets")
    trimesh.creation.box((1.0, 2.0, 3.0)).export(folder / "box.glb")
    (folder / "arm.urdf").write_text(
        '<robot name="arm"><link name="base"/><link name="tip"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="j" type="continuous"><parent link="base"/><child link="tip"/><axis xyz="0 0 1"/></joint></robot>'
    )
    rotor = {
        "id": "blade",
        "usd_relative_path": "blade",
        "pose": {"transform": entity("", scale=(2.0, 2.0, 2.0))[1]["pose"]["transform"]},
    }
    (folder / "s.json").write_text(
        scene(
            entity("hangar", asset="Hangar", scale=(2.0, 1.0, 0.5)),
            entity("robot", asset="Robot"),
            effectors={"entity_0": [rotor]},
        )
    )
    table = "assets: {Hangar: box.glb, blade: box.glb, Robot: arm.urdf}"
    (folder / "w.yaml").write_text(f"include: [{{file: s.json, {table}}}]\n")
    return folder


def test_assets_are_meshes_and_models_at_their_scale(folder: Path) -> None:
    world = assemble(load(folder / "w.yaml"))
    frames = lay_out(world).frames
    assert frames.path("robot/tip") == "map/robot/base/tip"
    assert frames.scales[frames.index("hangar")].tolist() == [2.0, 1.0, 0.5]
    assert frames.scales[frames.index("hangar/blade")].tolist() == [2.0, 2.0, 2.0]
    shapes = {frames.names[each.row]: each for each in shapes_of(world, frames)}
    assert shapes["hangar"].scale.tolist() == [2.0, 1.0, 0.5]
    assert shapes["hangar/blade/asset"].scale.tolist() == [2.0, 2.0, 2.0]
    [marker] = [each for each in markers_of(world, frames) if each.frame == "hangar"]
    extent = np.ptp(np.asarray(marker.points), axis=0) * marker.scale
    assert extent == pytest.approx([2.0, 2.0, 1.5])
    layout = lay_out(world)
    graph = scene_graph_of(world, frames, layout.poses)
    hangar = graph.entity("entity_0")
    assert hangar.transform is not None
    assert hangar.transform.scale.tolist() == [2.0, 1.0, 0.5]
    [blade] = hangar.effectors or ()
    assert (blade.id, blade.path, blade.transform.scale.tolist()) == ("blade", "blade", [2.0, 2.0, 2.0])
    assert {each.name for each in graph.entities} >= {"hangar", "robot"}
    assert not any("asset" in each.name for each in graph.entities)


@pytest.mark.parametrize(
    ("table", "line"),
    [
        ("assets: {Hangar: arm.urdf}", "a model has no scale; scale a mesh instead"),
        ("assets: {Hangar: w.yaml}", "w.yaml:1:43: include[0].assets.Hangar: 'w.yaml' cannot stand for an asset"),
        ("assets: {Hangar: bax.glb}", "no file 'bax.glb' beside"),
        ("convention: EDN", "found 'EDN'; allowed: NED, ENU"),
        ("pose: {scale: 2}, prefix: p", "an included world has no scale"),
    ],
)
def test_faults_of_includes(folder: Path, table: str, line: str) -> None:
    file = folder / "faulty.yaml"
    file.write_text(f"include: [{{file: s.json, {table}}}]\n")
    with pytest.raises(WorldError) as error:
        load(file)
    assert line in str(error.value).replace("faulty.yaml", "w.yaml")


def test_keys_of_scene_graphs_do_not_fit_other_files(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("world: a\n")
    (tmp_path / "w.yaml").write_text("include: [{file: a.yaml, convention: NED}]\n")
    with pytest.raises(WorldError, match=r"include\[0\].convention: applies only to .json files"):
        load(tmp_path / "w.yaml")


@pytest.mark.parametrize(
    "name",
    rows(
        (n for n in shipped_worlds() if n not in ("ardupilot", "px4", "guided")),
        ("all_joints", "formation", "four_bar"),
    ),
)
def test_every_world_survives_as_a_scene_graph(name: str) -> None:
    """World to JSON to world: the same frames at the same poses, and the same bytes again."""
    world = assemble(load(name))
    layout = lay_out(world)
    text = to_json(scene_graph_of(world, layout.frames, layout.poses))
    found = world_of(scene_graph(text), world.name)
    assert not found.errors
    again = lay_out(found.world)
    for entity_ in scene_graph(text).entities:
        here = layout.frames.lookup(layout.poses, world.fixed_frame, entity_.frame)
        there = again.frames.lookup(again.poses, "map", entity_.frame)
        assert there[:3] == pytest.approx(here[:3], abs=1e-9)
        assert abs(there[3:] @ here[3:]) == pytest.approx(1.0, abs=1e-12)
    assert to_json(scene_graph_of(world, layout.frames, layout.poses)) == text
    if world.origin is None:
        assert "world_coordinate" not in text


@given(places, angles)
def test_poses_survive_to_a_picometre(place: Any, turn: Any) -> None:
    pose = np.array([*place, *Rotation.from_euler("xyz", turn).as_quat()])
    world = World("w", frames=(StaticFrame("a", "map", pose), StaticFrame("b", "a", pose)))
    layout = lay_out(world)
    text = to_json(scene_graph_of(world, layout.frames, layout.poses))
    again = lay_out(world_of(scene_graph(text), "w").world)
    assert again.poses[1:, :3] == pytest.approx(layout.poses[1:, :3], abs=1e-12)
    signs = np.sign((again.poses[1:, 3:] * layout.poses[1:, 3:]).sum(axis=1, keepdims=True))
    assert again.poses[1:, 3:] * signs == pytest.approx(layout.poses[1:, 3:], abs=1e-12)


def test_unknown_parts_survive_a_world_and_its_yaml(tmp_path: Path) -> None:
    data = json.loads(scene(entity("kite", asset="Kite/Kite")))
    data["components"]["trajectory"] = {"entity_0": {"parameters": {"n": 3, "x": [1.5, None, True, "no"]}}}
    data["components"]["actor_properties"]["entity_0"]["livery"] = "blue"
    data["resources"] = {"weather": {"preset": "Cloudy"}}
    (tmp_path / "s.json").write_text(json.dumps(data))
    world = load(tmp_path / "s.json")
    (tmp_path / "w.yaml").write_text(to_yaml(world))
    texts = []
    for each in (world, load(tmp_path / "w.yaml")):
        layout = lay_out(each)
        texts.append(to_json(scene_graph_of(each, layout.frames, layout.poses)))
    assert texts[0] == texts[1]
    written = json.loads(texts[0])
    assert written["components"]["trajectory"] == data["components"]["trajectory"]
    assert written["components"]["actor_properties"] == data["components"]["actor_properties"]
    assert written["resources"] == data["resources"]


def test_what_has_no_effect_is_reported_and_kept(tmp_path: Path) -> None:
    """A group that is listed without a component, and parameters that a sensor does not have."""
    sensor = {"sensor_name": "eye", "sensor_type": "rgb_camera", "sensor_parameters": {"fov": 60, "bloom": 0.5}}
    data = json.loads(scene(entity("eye"), sensor={"entity_0": sensor}))
    data["entities"]["entity_0"].append("trajectory")
    (tmp_path / "s.json").write_text(json.dumps(data))
    with pytest.warns(WorldWarning) as caught:
        world = load(tmp_path / "s.json")
    told = [str(each.message).split(": ", 1)[1] for each in caught]
    listed = len(data["entities"]["entity_0"]) - 1
    assert sorted(told) == [
        "components.sensor.entity_0.sensor_parameters.bloom: a camera has no such parameter, so that it has no effect "
        "here; it is kept",
        f"entities.entity_0[{listed}]: has no effect here",
    ]
    layout = lay_out(world)
    written = json.loads(to_json(scene_graph_of(world, layout.frames, layout.poses)))
    assert written["components"]["sensor"]["entity_0"]["sensor_parameters"]["bloom"] == 0.5


def test_unknown_keys_in_a_group_of_noise_are_reported_and_kept(tmp_path: Path) -> None:
    noise = {"deviation": 0.5, "colour": "pink", "by_axis": {"x": 1}}
    sensor = {"sensor_name": "s", "sensor_type": "imu", "sensor_parameters": {"gyroscope": noise, "rate": 10}}
    (tmp_path / "s.json").write_text(scene(entity("s"), sensor={"entity_0": sensor}))
    with pytest.warns(WorldWarning) as caught:
        world = load(tmp_path / "s.json")
    told = [str(each.message).split(": ", 1)[1] for each in caught]
    assert told == [
        f"components.sensor.entity_0.sensor_parameters.gyroscope.{key}: a imu has no such parameter, so that it "
        "has no effect here; it is kept"
        for key in ("colour", "by_axis")
    ]
    simulation = Simulation(world)  # which reads the parameters
    assert world.sensors[0].parameters == {"gyroscope": {"deviation": 0.5}, "rate": 10}
    (tmp_path / "w.yaml").write_text(to_yaml(world))
    for each in (simulation.world, load(tmp_path / "w.yaml")):
        layout = lay_out(each)
        written = json.loads(to_json(scene_graph_of(each, layout.frames, layout.poses)))
        kept = written["components"]["sensor"]["entity_0"]["sensor_parameters"]
        assert kept["gyroscope"] == noise
        assert kept["rate"] == 10


def test_a_fault_in_a_group_of_noise_has_its_place(tmp_path: Path) -> None:
    sensor = {"sensor_name": "s", "sensor_type": "imu", "sensor_parameters": {"gyroscope": {"deviation": -1}}}
    text = scene(entity("s"), sensor={"entity_0": sensor})
    (tmp_path / "s.json").write_text(text)
    place = text.index("-1", text.index("deviation"))
    line, column = text[:place].count("\n") + 1, place - text.rfind("\n", 0, place)
    with pytest.raises(WorldError, match=rf"s.json:{line}:{column}: .*gyroscope.deviation: -1 is out of range"):
        Simulation(load(tmp_path / "s.json"))


CONFIG = """{
 "clock": {"step_size_ms": 20},
 "world": {
  "origin": {"latitude": 33.9, "longitude": -118.4, "altitude": -5.0},
  "weather": {"preset": "Cloudy"},
  "actors": [{"actor_name": "actor1", "actor_asset": "vehicles/evtol", "parent": "",
    "transform": {"position": [1, 2, -3], "rotation": [0, 0, 90], "scale": [1, 1, 1]},
    "effectors": [{"id": "rotor_1", "relative_path": "evtol/rotor_1",
      "transform": {"translation": [1, 2, 3], "rotation": [0, 0, 0]}}]}],
  "sensors": [{"sensor_name": "chase", "type": "sensors/cameras/rgb_camera", "parent": "actor1",
    "transform": {"translation": [-20, 0, -5], "rotation": [0, -10, 0]},
    "parameters": {"resolution": [800, 600], "tick_rate": 0.02, "frame_rate": 30, "fov": 90, "capture_enabled": true}}]
 },
 "renderers": [{"renderer_id": "0", "viewport_config": {"active_camera": "chase"}}]
}"""


def test_a_configuration_of_aerosim_is_a_world(tmp_path: Path) -> None:
    (tmp_path / "sim.json").write_text(CONFIG)
    with pytest.warns(WorldWarning, match="clock: is not part of a scene"):
        world = load(tmp_path / "sim.json")
    layout = lay_out(world)
    assert layout.frames.path("chase") == "map/actor1/chase"
    actor = layout.frames.lookup(layout.poses, "map", "actor1")
    assert actor[:3].tolist() == [2.0, 1.0, 3.0]
    # Heading east: the nose is along ENU's x.
    assert pose_math.apply(actor, np.array([1.0, 0.0, 0.0])) - actor[:3] == pytest.approx([1, 0, 0])
    # The chase camera looks down by ten degrees.
    camera = layout.frames.lookup(layout.poses, "actor1", "chase")
    assert camera[:3] == pytest.approx([-20, 0, 5])
    forward = pose_math.apply(camera, np.array([1.0, 0.0, 0.0])) - camera[:3]
    assert forward == pytest.approx([math.cos(math.radians(10)), 0.0, -math.sin(math.radians(10))])
    assert world.origin == Origin(33.9, -118.4, -5.0)
    resources = json.loads(to_json(scene_graph_of(world, layout.frames, layout.poses)))["resources"]
    assert resources["weather"] == {"preset": "Cloudy"}
    assert resources["viewport_configs"] == [{"renderer_instance": "0", "active_camera": "entity_1"}]


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What a command prints."""

    def shown(*words: str) -> str:
        assert main(list(words)) == 0
        return capsys.readouterr().out

    return shown


def test_the_command_writes_the_same_bytes_each_time(shown: Callable[..., str], tmp_path: Path) -> None:
    text = shown("scene", "formation", "--at", "1.25")
    assert text == shown("scene", "formation", "--at", "1.25")
    graph = scene_graph(text)
    vehicle = next(each for each in graph.entities if each.effectors)
    assert len(vehicle.effectors or ()) >= 4
    assert main(["scene", "formation", "--at", "1.25", "-o", str(tmp_path / "f.json")]) == 0
    assert (tmp_path / "f.json").read_text() == text


def test_a_bag_has_the_scene_graph_of_its_run(shown: Callable[..., str], tmp_path: Path) -> None:
    with Session("orbit", record=tmp_path / "bag", real_time_factor=0.0) as session:
        session.run(0.5)
    for at in ("0", "0.5"):
        bag, run = (scene_graph(shown("scene", source, "--at", at)) for source in (str(tmp_path / "bag"), "orbit"))
        assert [each.name for each in bag.entities] == [each.name for each in run.entities]
        for here, there in zip(bag.entities, run.entities, strict=True):
            assert here.transform is not None
            assert there.transform is not None
            assert here.transform.pose == pytest.approx(there.transform.pose, abs=1e-9)
            assert (here.sensor, here.groups) == (there.sensor, there.groups)


def test_rotors_of_a_bag_are_as_it_recorded_them_on_tf(shown: Callable[..., str], tmp_path: Path) -> None:
    bag = tmp_path / "bag"
    publishing = Publishing(rotor_frame_rate=50.0)
    with Session("quadrotor", record=bag, publishing=publishing, real_time_factor=0.0) as session:
        session.run(1.3)  # the motors start after a second
    sent: dict[str, tuple[int, Rotation]] = {}
    with open_bag(bag) as opened:
        for message in opened.messages(["/tf"]):
            for each in deserialize_message(message.data, TFMessage).transforms:
                if "/rotor_" in each.child_frame_id:
                    q = each.transform.rotation
                    sent[each.child_frame_id] = message.time_ns, Rotation.from_quat([q.x, q.y, q.z, q.w])
    assert len(sent) == 4
    [at_ns] = {time_ns for time_ns, _ in sent.values()}
    graph = scene_graph(shown("scene", str(bag), "--at", str(at_ns / 1e9), "--convention", "ENU"))
    [body] = [each for each in graph.entities if each.effectors]
    still = {each.id: each for each in scene_graph(shown("scene", "quadrotor", "--convention", "ENU")).entities}
    for here, there in zip(body.effectors or (), still[body.id].effectors or (), strict=True):
        _, turned = sent[f"{body.name}/{here.id}"]
        assert here.transform is not None
        assert there.transform is not None
        assert (Rotation.from_quat(here.transform.pose[3:]) * turned.inv()).magnitude() < 1e-6
        assert (Rotation.from_quat(there.transform.pose[3:]) * turned.inv()).magnitude() > 1e-2
        assert here.transform.pose[:3] == pytest.approx(there.transform.pose[:3])


def test_the_seed_file_itself_is_a_world_for_the_command(shown: Callable[..., str]) -> None:
    text = shown("scene", str(SEED))
    graph, seed = scene_graph(text), load_scene_graph(SEED)
    assert {each.id: each.name for each in graph.entities} == {each.id: each.name for each in seed.entities}
    for each in graph.entities:
        assert each.transform is not None
        assert each.transform.pose == pytest.approx(seed.entity(each.id).transform.pose, abs=1e-12)  # type: ignore[union-attr]


def test_a_whole_world_in_urdf_has_the_scaled_boxes(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text(
        "bodies: [{name: shed, pose: {scale: [2, 3, 4]}, geometry: [{box: [1, 1, 1], pose: {position: [1, 1, 1]}}]}]\n"
    )
    world = load(tmp_path / "w.yaml")
    frames = lay_out(world).frames
    text = UrdfWriter(world, frames).whole()
    assert 'size="2 3 4"' in text
    assert 'xyz="2 3 4"' in text
    [box] = [each for each in shapes_of(world, frames) if each.kind == "box"]
    assert (box.scale.tolist(), box.pose[:3].tolist()) == ([2, 3, 4], [2, 3, 4])
    assert load(tmp_path / "w.yaml") == world
    (tmp_path / "again.yaml").write_text(to_yaml(world))
    assert load(tmp_path / "again.yaml").bodies == world.bodies


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (
            "{name: b, joint: free, pose: {scale: 2}, geometry: [{sphere: 1, mass: 1}]}",
            "a body on a joint has no scale",
        ),
        ("{name: b, pose: {scale: [1, 2, 3]}, geometry: [{capsule: [1, 2]}]}", "do not suit a capsule"),
        (
            "{name: b, pose: {scale: [1, 2, 1]}, geometry: [{box: [1, 2, 3], pose: {rpy: [0, 0, 0.1]}}]}",
            "would skew a turned box",
        ),
    ],
)
def test_scales_without_a_meaning_are_refused(tmp_path: Path, body: str, line: str) -> None:
    (tmp_path / "w.yaml").write_text(f"bodies: [{body}]\n")
    with pytest.raises(WorldError, match=line):
        load(tmp_path / "w.yaml")


def matrix(transform: Any) -> FloatArray:
    """A transform (4, 4) of scale, rotation and translation."""
    found = np.eye(4)
    rotation = Rotation.from_quat(list(transform["orientation"].values())).as_matrix()
    found[:3, :3] = rotation @ np.diag(list(transform["scale"].values()))
    found[:3, 3] = list(transform["position"].values())
    return found


def included(folder: Path, text: str, options: str) -> World:
    (folder / "s.json").write_text(text)
    (folder / "w.yaml").write_text(f"include: [{{file: s.json, convention: ENU, {options}}}]\n")
    return load(folder / "w.yaml")


def test_children_of_scaled_entities_are_scaled_where_an_include_says_so(tmp_path: Path) -> None:
    quarter = Rotation.from_euler("xyz", [0.3, -0.2, 0.5]).as_quat().tolist()
    entities = [
        entity("base", position=(1, 2, 3), quaternion=quarter, scale=(2.0, 2.0, 2.0)),
        entity("arm", "entity_0", (1, 0, 0.5), quarter, scale=(1.5, 1.5, 1.5)),
        entity("tip", "entity_1", (0, -1, 0), scale=(1.0, 2.0, 3.0)),
        entity("nail", "entity_2", (1, 1, 1)),
    ]
    world = included(tmp_path, scene(*entities), "scaled_children: true")
    whole = np.eye(4)
    for name, (_, state) in zip(("base", "arm", "tip", "nail"), entities, strict=True):
        whole = whole @ matrix(state["pose"]["transform"])
        assert in_root(world, name)[:3] == pytest.approx(whole[:3, 3], abs=1e-12), name
    frames = lay_out(assemble(world)).frames
    assert frames.scales[frames.index("nail")] == pytest.approx([3.0, 6.0, 9.0])
    plain = included(tmp_path, scene(*entities), "scaled_children: false")
    assert lay_out(plain).poses[lay_out(plain).frames.index("arm")][:3] == pytest.approx([1, 0, 0.5])


def test_a_child_that_would_be_sheared_is_refused(tmp_path: Path) -> None:
    turned = Rotation.from_euler("z", 0.3).as_quat().tolist()
    entities = [entity("base", scale=(2.0, 1.0, 1.0)), entity("arm", "entity_0", (1, 0, 0), turned)]
    with pytest.raises(WorldError, match=r"s.json:.*'arm' is turned in an entity with the scale \[2.0, 1.0, 1.0\]"):
        included(tmp_path, scene(*entities), "scaled_children: true")


def test_an_asset_in_usd_is_told_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "box.usda").write_text("#usda 1.0\n")
    with pytest.raises(WorldError, match=r"USD is not read: export it as .glb"):
        included(tmp_path, scene(entity("base", asset="Box")), "assets: {Box: box.usda}")
