"""Scene graphs in JSON: AeroSim's example, both spellings, and errors with line and column."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node.extensions.aerosim import consistent, load_scene_graph, scene_graph, to_json
from sim_node.extensions.aerosim.json_text import compose_json, json_text, plain_of
from sim_node.world import WorldError
from sim_node.world.readers.report import Report

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
