"""Scene graphs in JSON: AeroSim's example, both spellings, and errors with line and column."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node.extensions.aerosim import consistent, load_scene_graph, scene_graph, scene_graph_of, to_json
from sim_node.extensions.aerosim.graph import SceneGraph
from sim_node.extensions.aerosim.json_text import compose_json, json_text
from sim_node.world import Origin, WorldError, WorldWarning, lay_out, load, loads
from sim_node.world.readers.report import Report
from sim_node.world.readers.yaml_nodes import plain_of

# AeroSim's documented example. It shows the state of entity_0 and the effector and sensor of one entity each; those
# that it leaves out are copies.
SEED = Path(__file__).parent / "seed_scene_graph.json"
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**17), 10**17)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


PROPERTIES = ("components", "actor_properties", "entity_7")


def smallest() -> dict[str, Any]:
    """A scene with one entity."""
    transform = {"position": {"x": 1, "y": 2, "z": 3}, "orientation": {"x": 0, "y": 0, "z": 0, "w": 1}}
    return {
        "entities": {"entity_7": ["actor_properties", "actor_state"]},
        "components": {
            "actor_properties": {"entity_7": {"actor_name": "kite", "actor_asset": "a/b", "parent": ""}},
            "actor_state": {"entity_7": {"pose": {"transform": transform}}},
        },
        "resources": {},
    }


# Takes seconds: make test has numbers, texts and nesting one by one.
@pytest.mark.nightly
@given(JSON)
def test_json_reads_as_pythons_own_reader_reads_it(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, indent=2, ensure_ascii=False)):
        assert plain_of(compose_json(text, Report("x"))) == json.loads(text)


@given(st.dictionaries(st.text(), JSON))
def test_what_is_written_reads_back(value: dict[str, Any]) -> None:
    for compact in (False, True):
        assert json.loads(json_text(value, compact=compact)) == value


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"a": 1,}', "1:9: not JSON: a key in double quotes is needed, found '}'; JSON allows no comma before it"),
        ('{"a": 1\n "b": 2}', "2:2: not JSON: ',' or '}' is needed, found '\"'"),
        ("{'a': 1}", "1:2: not JSON: a key in double quotes is needed, found \"'a'\""),
        ("[1, NaN]", "1:5: not JSON: a value is needed, found 'NaN'; JSON has finite numbers only"),
        ('{"a": tru}', "1:7: not JSON: a value is needed, found 'tru'"),
        ('{"a": 01}', "1:7: not JSON: a value is needed, found '01'"),
        ('{"a": "b', "1:7: not JSON: a value is needed, found '\"'; a text ends on its line"),
        ('{"a": [1, 2', "1:12: not JSON: ',' or ']' is needed, found the end of the file"),
        ("", "1:1: not JSON: a value is needed, found the end of the file"),
        ("{} {}", "1:4: not JSON: the end of the document is needed, found '{'"),
        ('{"a": "\\ud800"}', "1:7: '\"\\\\ud800\"' has an invalid escape"),
        ("[" * 200, "1:65: nested deeper than 64 levels"),
    ],
)
def test_what_is_no_json_is_located(text: str, line: str) -> None:
    with pytest.raises(WorldError) as error:
        compose_json(text, Report("x.json"))
    assert str(error.value).startswith(f"x.json:{line}")


def test_a_duplicate_key_is_located() -> None:
    report = Report("x.json")
    compose_json('{"a": 1,\n "a": 2}', report)
    assert [str(problem) for problem in report.errors] == ["x.json:2:2: a: is a duplicate, the first is on line 1"]


def test_the_documented_example_is_read_and_written_as_it_is() -> None:
    graph = load_scene_graph(SEED)
    assert [entity.name for entity in graph.entities] == [
        "generic_evtol_0",
        "generic_evtol_1",
        "rgb_camera_0",
        "rgb_camera_1",
    ]
    camera = graph.entity("entity_2")
    assert (camera.parent, camera.sensor and camera.sensor.type) == ("entity_1", "rgb_camera")
    [rotor] = graph.entity("entity_0").effectors or ()
    assert (rotor.id, rotor.transform.pose[:3].tolist()) == ("rotor_blade_01", [3.0643, 3.147, 1.8735])
    assert graph.entity("entity_1").effectors == ()
    assert json.loads(to_json(graph)) == json.loads(SEED.read_text())


def test_the_examples_wrong_ecef_is_reported_and_computed_again() -> None:
    graph, problems = consistent(load_scene_graph(SEED))
    assert len(problems) == 4
    line = next(n for n, text in enumerate(SEED.read_text().splitlines(), 1) if "world_coordinate" in text)
    assert str(problems[0]).startswith(f"{SEED}:{line}:")
    assert "entity_0.world_coordinate.ecef: (0, 0, 0) is 6.373e+06 m from where" in str(problems[0])
    for entity in graph.entities:
        coordinate = entity.world_coordinate
        assert coordinate is not None
        assert coordinate.ecef is not None
        assert coordinate.lla is not None
        # By pyproj, from the example's own latitude, longitude and altitude.
        assert coordinate.ecef == pytest.approx([-499573.586, -5528032.628, 3131368.370], abs=1e-3)
        assert coordinate.lla.tolist() == [29.594656, -95.16384722, -28.3]


def test_the_spelling_of_aerosims_program_is_read_and_written() -> None:
    graph = load_scene_graph(SEED)
    upstream = json.loads(to_json(graph, "upstream"))
    components = upstream["components"]
    [rotor] = components["effectors"]["entity_0"]
    assert list(rotor)[:2] == ["effector_id", "relative_path"]
    sensor = components["sensor"]["entity_2"]
    assert sensor["sensor_type"] == "sensors/cameras/rgb_camera"
    assert sensor["sensor_parameters"]["RGBCamera"]["resolution"] == [1920, 1080]
    assert components["trajectory"] == components["primary_flight_display_state"] == {}
    again = scene_graph(to_json(graph, "upstream"))
    assert [entity.effectors for entity in again.entities] == [entity.effectors for entity in graph.entities]
    assert [entity.transform for entity in again.entities] == [entity.transform for entity in graph.entities]
    with pytest.raises(ValueError, match="allowed: seed, upstream"):
        to_json(graph, "other")


def test_unknown_parts_survive_at_every_level() -> None:
    data = smallest()
    data["schema"] = {"version": 3}
    data["resources"] = {"weather": {"preset": "Cloudy"}, "viewport_configs": [{"active_camera": "entity_7"}]}
    data["entities"]["entity_7"] += ["trajectory"]
    data["components"]["trajectory"] = {"entity_7": {"parameters": [1, 2.5, None, {"deep": [True]}]}}
    data["components"]["empty_group"] = {}
    data["components"]["actor_properties"]["entity_7"]["livery"] = "blue"
    state = data["components"]["actor_state"]["entity_7"]
    state["confidence"] = 0.5
    state["pose"]["frame"] = "sim"
    state["pose"]["transform"]["scale"] = {"x": 1.0, "y": 1.0, "z": 1.0}
    state["pose"]["transform"]["shear"] = 0
    state["world_coordinate"] = {"utm": {"zone": 15}}
    written = json.loads(to_json(scene_graph(json.dumps(data))))
    data["components"].update(effectors={}, sensor={})
    assert written == data


def test_the_texts_spellings_are_read_too() -> None:
    """The documentation's text has the group sensors, and world_coordinate in the pose."""
    data = smallest()
    camera = {"sensor_name": "eye", "sensor_type": "rgb_camera", "sensor_parameters": {}}
    data["components"]["sensors"] = {"entity_7": camera}
    data["components"]["actor_state"]["entity_7"]["pose"]["world_coordinate"] = {
        "ned": {"north": 1, "east": 2, "down": 3}
    }
    [entity] = scene_graph(json.dumps(data)).entities
    assert entity.sensor is not None
    assert entity.sensor.name == "eye"
    assert entity.world_coordinate is not None
    assert entity.world_coordinate.ned is not None
    assert entity.world_coordinate.ned.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        (
            ("components", "actor_properties", "entity_7", "parent"),
            "entity_8",
            "no entity 'entity_8'; did you mean entity_7?",
        ),
        (("components", "actor_properties", "entity_7", "parent"), "entity_7", "'entity_7' is below itself"),
        (
            ("components", "actor_properties", "entity_7", "actor_name"),
            5,
            "a text is needed, found the number 5; write it in quotes",
        ),
        (("components", "actor_state", "entity_7", "pose"), {}, "transform is missing"),
        (
            ("components", "actor_state", "entity_9"),
            {},
            "actor_state: 'entity_9' is not among the entities; did you mean entity_7?",
        ),
        (("entities",), [], "a mapping of entities to lists of their component groups is needed, found a list of 0"),
        (("components", "effectors"), {"entity_7": [{"pose": {}}]}, "id is missing"),
    ],
)
def test_faults_name_their_place(path: tuple[str, ...], value: Any, line: str) -> None:
    data = smallest()
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    text = json.dumps(data, indent=1)
    with pytest.raises(WorldError) as error:
        scene_graph(text, "s.json")
    first = str(error.value.problems[0])
    assert line in first
    row, column = map(int, first.split(":")[1:3])
    # The place is that of the value, or of what holds it.
    assert 1 <= column <= len(text.splitlines()[row - 1])


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("orientation", {"x": 0, "y": 0, "z": 0, "w": 0}, "is zero; a rotation needs norm 1"),
        ("orientation", {"x": 0, "y": 0, "z": 1, "w": 1}, "norm is 1.414, a rotation needs 1"),
        ("position", {"x": 0, "y": 0}, "z is missing"),
        ("position", {"x": 0, "y": 0, "z": "1"}, "a number is needed, found '1' in quotes"),
        ("scale", {"x": 1, "y": 1, "z": 0}, "found 0; a scale must be above zero"),
    ],
)
def test_faults_of_transforms(key: str, value: Any, line: str) -> None:
    data = smallest()
    data["components"]["actor_state"]["entity_7"]["pose"]["transform"][key] = value
    with pytest.raises(WorldError, match=f"actor_state.*entity_7.pose.transform.{key}") as error:
        scene_graph(json.dumps(data))
    assert line in str(error.value)


def unreal(text: str, renderer: str = "0") -> dict[str, Any]:
    """Parse as AeroSim's Unreal plug-in does, after its link has chosen the viewport of a renderer: what it needs is
    there and of its type, or a KeyError or TypeError is raised.
    """
    graph = json.loads(text)

    def number(of: dict[str, Any], key: str) -> float:
        if not isinstance(of[key], (int, float)) or isinstance(of[key], bool):
            raise TypeError(key)
        return float(of[key])

    def transform(of: dict[str, Any]) -> list[float]:
        inside = of["pose"]["transform"]
        parts = {"position": "xyz", "orientation": "xyzw", "scale": "xyz"}
        return [number(inside[part], axis) for part, axes in parts.items() for axis in axes]

    resources = graph["resources"]
    viewport = next(each for each in resources.pop("viewport_configs") if each["renderer_instance"] == renderer)
    found: dict[str, Any] = {
        "origin": [number(resources["origin"], key) for key in ("latitude", "longitude", "altitude")],
        "weather": resources["weather"]["preset"] + "",
        "camera": viewport["active_camera"] + "",
        "sensors": {},
    }
    components = graph["components"]
    for id, state in components["actor_state"].items():
        assert len(transform(state)) == 10
        assert {*components["actor_properties"][id]} >= {"actor_name", "actor_asset", "parent"}
    for id, sensor in components["sensor"].items():
        camera = sensor["sensor_parameters"]["RGBCamera"]
        width, height = camera["resolution"]
        numbers = [number(camera, key) for key in ("tick_rate", "fov", "near_clip", "far_clip")]
        if not isinstance(camera["capture_enabled"], bool):
            raise TypeError("capture_enabled")
        found["sensors"][id] = (
            sensor["sensor_type"] + "",
            [width, height, *numbers],
            camera["capture_enabled"],
        )
    for effectors in components["effectors"].values():
        for each in effectors:
            assert (each["effector_id"] + each["relative_path"], len(transform(each)))[1] == 10
    return found


@pytest.mark.parametrize("origin", ["", "origin: {latitude: 47, longitude: 8, altitude: 400}\n"])
def test_what_is_written_for_renderers_is_what_they_take_from_it(origin: str) -> None:
    """Weather, a viewport, and a camera in the parameters of every sensor."""
    world = loads(
        f"{origin}frames: [{{name: mast}}]\nsensors:\n"
        "  - {name: IMU, parent: mast, type: imu, rate: 50}\n"
        "  - {name: DEPTH, parent: mast, type: depth_camera, width: 320, height: 240}\n"
        "  - {name: CAM, parent: mast, type: camera, width: 640, height: 360, rate: 20, far: 200}\n"
    )
    layout = lay_out(world)
    text = to_json(scene_graph_of(world, layout.frames, layout.poses), "upstream")
    found = unreal(text)
    assert found["weather"] == "Cloudy"
    assert found["origin"] == ([47, 8, 400] if origin else [0, 0, 0])
    kinds = {kind: (numbers, capture) for kind, numbers, capture in found["sensors"].values()}
    assert found["sensors"][found["camera"]][0] == "sensors/cameras/rgb_camera"
    numbers, capture = kinds["sensors/cameras/rgb_camera"]
    assert numbers == pytest.approx([640, 360, 0.05, np.degrees(1.2), 0.02, 200])
    assert capture
    assert not kinds["imu"][1]
    assert not kinds["sensors/depth_sensor"][1]
    # And back: no camera is left over.
    again = {each.name: each for each in (e.sensor for e in scene_graph(text).entities) if each is not None}
    assert again["IMU"].parameters == {"rate": 50}
    assert "RGBCamera" not in again["DEPTH"].parameters
    assert again["DEPTH"].parameters["resolution"] == [320, 240]


def test_weather_and_viewports_of_a_scene_are_kept() -> None:
    resources = {
        "origin": {"latitude": 1.0, "longitude": 2.0, "altitude": 3.0},
        "weather": {"preset": "Rain"},
        "viewport_configs": [{"renderer_instance": "7", "active_camera": "entity_9"}],
    }
    text = to_json(SceneGraph((), resources), "upstream")
    assert (unreal(text, "7")["weather"], unreal(text, "7")["camera"]) == ("Rain", "entity_9")


def test_cameras_out_of_range_are_told_in_the_units_of_the_file(tmp_path: Path) -> None:
    world = loads("frames: [{name: mast}]\nsensors: [{name: CAM, parent: mast, type: camera}]\n")
    layout = lay_out(world)
    text = to_json(scene_graph_of(world, layout.frames, layout.poses))
    data = json.loads(text)
    (sensor,) = data["components"]["sensor"].values()
    sensor["sensor_parameters"] |= {"fov": 900, "tick_rate": -1, "near_clip": 0}
    (tmp_path / "s.json").write_text(json.dumps(data))
    with pytest.raises(WorldError) as error:
        load(tmp_path / "s.json")
    assert "fov: 900 is out of range; allowed: 0.573 to 171.9 degrees" in str(error.value)
    assert "tick_rate: -1 is out of range; allowed: above 0 s" in str(error.value)
    assert "near_clip: 0 is out of range; allowed: 0.0001 to 1000 m" in str(error.value)
    sensor["sensor_parameters"] |= {"fov": 90, "tick_rate": 0.1, "near_clip": 0.1, "far_clip": 0}
    (tmp_path / "s.json").write_text(json.dumps(data))
    with pytest.raises(WorldError, match="far_clip: 0 is out of range; allowed: above 0, up to 100000 m"):
        load(tmp_path / "s.json")


SCENARIO = {
    "scenario_id": "harbour",
    "latitude": 33.3,
    "longitude": -118.8,
    "height": 100.0,
    "weather": [{"weather_id": "clear", "config_file": "weather/clear.json"}],
    "actors": [
        {"actor_id": "ego", "actor_type": "airplane", "latitude": 33.3, "longitude": -118.8, "height": 200.0,
         "config_file": "vtol.json"},
        {"actor_id": "pad", "latitude": 33.31, "longitude": -118.79, "height": 100.0, "config_file": "gone.json"},
    ],
    "trajectories": [{"trajectory_id": "t", "object_id": "ego", "config_file": "path.json"}],
    "sensor_setup": [
        {"sensor_name": "FRONT", "vehicle": "ego", "config_file": "camera.json",
         "relative_transform": {"translation": [2, 0, 0.5], "rotation": [0, 0, 90]}},
        # As AeroSim's own models write what is not given.
        {"sensor_name": "TOP", "vehicle": "ego", "config_file": "camera.json", "id": None, "relative_transform": None},
    ],
}  # fmt: skip


def test_a_scenario_of_aerosim_scenarios_is_a_world_of_actors_on_their_trajectories(tmp_path: Path) -> None:
    """By pyproj: where 33.31 N 118.79 W, at the height of the origin, is from it."""
    pyproj = pytest.importorskip("pyproj")
    camera = {"type": "Rgbcamera", "RGBCameraParameters": {"resolution": [640, 480], "field_of_view": 90}}
    points = [(0.0, 33.3, 200.0), (100.0, 33.31, 300.0)]
    path = [{"timestamp": t, "latitude": at, "longitude": -118.8, "height": h} for t, at, h in points]
    for name, data in {
        "s.json": SCENARIO,
        "vtol.json": {"id": "vtol", "usd": "models/vtol.usd"},
        "path.json": {"trajectory": path},
        "camera.json": {"sensor": {"id": "c", **camera}},
    }.items():
        (tmp_path / name).write_text(json.dumps(data))
    with pytest.warns(WorldWarning) as warned:
        world = load(tmp_path / "s.json")
    said = [str(each.message) for each in warned]
    assert any("weather: has no effect here" in each for each in said)
    assert any("actors[1].config_file: cannot be read, and is left out" in each for each in said)
    assert world.origin == Origin(33.3, -118.8, 100.0)
    enu = pyproj.Transformer.from_pipeline(
        "+proj=pipeline +step +proj=cart +ellps=WGS84 +step +proj=topocentric +ellps=WGS84 "
        "+lon_0=-118.8 +lat_0=33.3 +h_0=100"
    )
    [pad] = [frame for frame in world.frames if frame.name == "pad"]
    assert pad.pose[:3] == pytest.approx(enu.transform(-118.79, 33.31, 100.0), abs=1e-3)
    [motion] = world.motions
    assert motion.times_ns.tolist() == [0, 100_000_000_000]
    assert motion.poses[1, :3] == pytest.approx(enu.transform(-118.8, 33.31, 300.0), abs=1e-3)
    [sensor] = [each for each in world.sensors if each.name == "FRONT"]
    assert (sensor.parent, sensor.type, sensor.parameters["width"]) == ("ego", "camera", 640)
    assert sensor.parameters["horizontal_fov"] == pytest.approx(np.pi / 2)
    # Of an actor that faces north, two metres ahead and half a metre down; FLU of the actor.
    assert sensor.pose[:3] == pytest.approx([2, 0, -0.5])
    [top] = [each for each in world.sensors if each.name == "TOP"]
    assert top.pose.tolist() == [0, 0, 0, 0, 0, 0, 1]
    assert not any(".id: " in each for each in said)


def test_faults_of_a_scenario_are_located(tmp_path: Path) -> None:
    wrong = {**SCENARIO, "trajectories": [{"object_id": "egg", "config_file": "path.json"}]}
    (tmp_path / "s.json").write_text(json.dumps(wrong))
    with pytest.raises(
        WorldError, match=r"s.json:1:\d+: trajectories\[0\].object_id: no actor 'egg'; did you mean ego"
    ):
        load(tmp_path / "s.json")
