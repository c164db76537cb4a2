"""Topics of sensors that a world file names."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim_node.messages.sensor_topics import topics_of
from sim_node.world import World, WorldError, load
from sim_node.world.writers.yaml import to_yaml

FRAMES = "world: w\nframes: [{name: base_link}]\nsensors:\n  - "


def world_of(folder: Path, sensor: str, text: str = FRAMES) -> World:
    """Return a world with a sensor."""
    path = folder / "w.yaml"
    path.write_text(text + sensor + "\n", encoding="utf-8")
    return load(path)


def test_the_messages_of_a_sensor_have_the_topics_that_it_names_in_their_order(tmp_path: Path) -> None:
    camera = (
        "{name: cam, parent: base_link, type: camera, transports: [compressed], topics: [/front/image, front/info]}"
    )
    world = world_of(tmp_path, camera)
    assert topics_of(world, "") == ["/front/image", "front/info", "/front/image/compressed"]
    # Those of the run are behind the prefix of its frames, like its other topics.
    assert topics_of(world, "a/") == ["/front/image", "a/front/info", "/front/image/compressed"]
    (tmp_path / "again.yaml").write_text(to_yaml(world), encoding="utf-8")
    assert load(tmp_path / "again.yaml").sensors == world.sensors


def test_topics_that_are_not_named_stay_below_the_sensor(tmp_path: Path) -> None:
    camera = "{name: cam, parent: base_link, type: camera, topics: [seen]}"
    assert topics_of(world_of(tmp_path, camera), "") == ["seen", "cam/camera_info"]


def test_an_include_puts_them_below_its_prefix_and_leaves_transports_alone(tmp_path: Path) -> None:
    camera = "{name: cam, parent: base_link, type: camera, transports: [compressed], topics: [seen, /info]}"
    world_of(tmp_path, camera)
    (tmp_path / "two.yaml").write_text(
        "world: two\ninclude:\n  - {file: w.yaml, prefix: one}\n"
        "  - {file: w.yaml, prefix: two, pose: {position: [1, 0, 0]}}\n",
        encoding="utf-8",
    )
    world = load(tmp_path / "two.yaml")
    assert topics_of(world, "") == [
        "one/seen",
        "/info",
        "one/seen/compressed",
        "two/seen",
        "/info",
        "two/seen/compressed",
    ]


@pytest.mark.parametrize(
    ("topics", "message"),
    [
        ("[a, b]", "topics: imu has 1 here, found 2: data_raw"),
        ("['a b']", "topics: 'a b' is no name of a topic"),
        ("[a//b]", "topics: 'a//b' is no name of a topic"),
    ],
)
def test_more_topics_than_messages_and_bad_names_are_located_faults(tmp_path: Path, topics: str, message: str) -> None:
    world = world_of(tmp_path, f"{{name: imu, parent: base_link, type: imu, topics: {topics}}}")
    with pytest.raises(WorldError) as error:
        topics_of(world, "")
    assert message in str(error.value)
    assert "w.yaml:4:" in str(error.value)
