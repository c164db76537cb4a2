"""Worlds made of other worlds: prefixes, places, and what is taken over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sim_node.world import World, WorldError, lay_out, load

ROVER = """\
world: rover
time: {start: 5, step: 0.5}
origin: {latitude: 1, longitude: 2, altitude: 3}
frames: [{name: base_link, pose: {position: [1, 0, 0]}}, {name: base_link/arm}]
sensors: [{name: CAM_LEFT}]
motions: [{frame: base_link/arm/hand, keyframes: [{t: 0}, {t: 1, position: [0, 0, 1]}]}]
"""


def tree(world: World) -> dict[str, str]:
    """Each frame's parent by name."""
    table = lay_out(world).frames
    return {
        name: table.names[parent] if parent >= 0 else ""
        for name, parent in zip(table.names, table.parents.tolist(), strict=True)
    }


def test_a_path_alone_takes_the_frames_in_as_they_are(write: Callable[..., Path]) -> None:
    write(ROVER, "rover.yaml")
    world = load(write("world: yard\ninclude: [rover.yaml]\nframes: [{name: base_link/lamp}]\n"))
    assert tree(world) == {
        "map": "",
        "base_link": "map",
        "base_link/arm": "base_link",
        "CAM_LEFT": "base_link",
        "base_link/arm/hand": "base_link/arm",
        "base_link/lamp": "base_link",
    }


def test_name_time_and_origin_are_the_including_worlds_own(write: Callable[..., Path]) -> None:
    write(ROVER, "rover.yaml")
    world = load(write("world: yard\ntime: {start: 1}\ninclude: [rover.yaml]\n"))
    assert (world.name, world.time.start_ns, world.time.step_ns, world.origin) == (
        "yard",
        1_000_000_000,
        10_000_000,
        None,
    )


@pytest.mark.parametrize("prefix", ["rover", "rover/"])
def test_a_prefix_goes_before_every_name_but_the_fixed_frames(write: Callable[..., Path], prefix: str) -> None:
    write(ROVER, "rover.yaml")
    world = load(write(f"include: [{{file: rover.yaml, prefix: {prefix}}}]"))
    assert tree(world) == {
        "map": "",
        "rover/base_link": "map",
        "rover/base_link/arm": "rover/base_link",
        "rover/CAM_LEFT": "rover/base_link",
        "rover/base_link/arm/hand": "rover/base_link/arm",
    }


def test_one_file_makes_many_vehicles(write: Callable[..., Path]) -> None:
    write(ROVER, "rover.yaml")
    entries = ", ".join(f"{{file: rover.yaml, prefix: fleet/{i}}}" for i in range(20))
    table = lay_out(load(write(f"include: [{entries}]"))).frames
    assert len(table) == 1 + 20 * 4
    assert table.path("fleet/7/CAM_LEFT") == "map/fleet/7/base_link/CAM_LEFT"


def test_with_a_parent_the_fixed_frame_is_that_frame(write: Callable[..., Path]) -> None:
    write(ROVER, "rover.yaml")
    world = load(write("frames: [{name: ship}]\ninclude: [{file: rover.yaml, prefix: rover, parent: ship}]\n"))
    assert tree(world)["rover/base_link"] == "ship"
    assert "rover/map" not in tree(world)


def test_with_a_pose_the_fixed_frame_becomes_a_frame_at_that_pose(write: Callable[..., Path]) -> None:
    write(ROVER, "rover.yaml")
    world = load(
        write("""\
        frames: [{name: ship, pose: {position: [10, 0, 0]}}]
        include:
          - {file: rover.yaml, prefix: a, parent: ship, pose: {position: [0, 2, 0], rpy_deg: [0, 0, 90]}}
          - {file: rover.yaml, prefix: b, pose: {position: [1, 2, -3], convention: NED}}
        """)
    )
    assert (tree(world)["a/map"], tree(world)["a/base_link"], tree(world)["b/map"]) == ("ship", "a/map", "map")
    layout = lay_out(world)
    # 10 along x to the ship, 2 along y to a/map, then 1 along a/map's x, which points along y.
    np.testing.assert_allclose(layout.frames.lookup(layout.poses, "map", "a/base_link")[:3], [10, 3, 0], atol=1e-12)
    np.testing.assert_allclose(layout.poses[layout.frames.index("b/map"), :3], [2, 1, 3])


def test_the_fixed_frame_of_an_included_world_may_have_another_name(write: Callable[..., Path]) -> None:
    write("fixed_frame: dock\nframes: [{name: crane}]\n", "harbour.yaml")
    assert tree(load(write("include: [harbour.yaml]"))) == {"map": "", "crane": "map"}
    placed = load(write("include: [{file: harbour.yaml, pose: {}}]", "placed.yaml"))
    assert tree(placed) == {"map": "", "dock": "map", "crane": "dock"}


def test_includes_may_include(write: Callable[..., Path]) -> None:
    write("frames: [{name: wheel}]", "parts/wheels/wheel.yaml")
    write(
        "include: [{file: wheels/wheel.yaml, prefix: left}, {file: wheels/wheel.yaml, prefix: right}]",
        "parts/axle.yaml",
    )
    world = load(write("include: [{file: parts/axle.yaml, prefix: cart}]"))
    assert set(tree(world)) == {"map", "cart/left/wheel", "cart/right/wheel"}


def test_an_included_sensor_finds_the_base_link_of_the_world_around_it(write: Callable[..., Path]) -> None:
    write("sensors: [{name: CAM_FRONT}]", "payload.yaml")
    world = load(write("frames: [{name: drone/base_link}]\ninclude: [{file: payload.yaml, prefix: drone}]\n"))
    assert tree(world)["drone/CAM_FRONT"] == "drone/base_link"


def test_frames_may_be_added_to_an_included_vehicle(write: Callable[..., Path]) -> None:
    write(ROVER, "rover.yaml")
    world = load(
        write("""\
        include: [{file: rover.yaml, prefix: rover}]
        sensors: [{name: rover/LIDAR_TOP}]
        frames: [{name: rover/base_link/flag}]
        """)
    )
    assert tree(world)["rover/LIDAR_TOP"] == "rover/base_link"
    assert tree(world)["rover/base_link/flag"] == "rover/base_link"


def test_worlds_in_packages_are_included_by_uri(write: Callable[..., Path]) -> None:
    uri = "package://sim_node/config/worlds/two_vehicles.yaml"
    world = load(write(f"include: [{{file: '{uri}', prefix: demo}}]"))
    assert "demo/scout/base_link" in tree(world), "and what lies beside it there is read too"


def test_static_patterns_of_its_own_come_along_with_a_vehicle(write: Callable[..., Path]) -> None:
    write("static_patterns: [SONAR_*]", "sub.yaml")
    write("frames: []", "plain.yaml")
    assert load(write("include: [sub.yaml]")).static_patterns[-1] == "SONAR_*"
    narrow = load(write("static_patterns: [X_*]\ninclude: [plain.yaml, sub.yaml]\n", "narrow.yaml"))
    assert narrow.static_patterns == ("X_*", "SONAR_*"), "the default ones of another file do not come back"


# Faults


def lines(path: str | Path) -> list[str]:
    with pytest.raises(WorldError) as error:
        load(path)
    return error.value.lines()


def test_an_include_loop_is_reported_by_its_members(write: Callable[..., Path]) -> None:
    write("include: [b.yaml]", "a.yaml")
    write("include:\n  - {file: a.yaml, prefix: x}\n", "b.yaml")
    assert lines("a.yaml") == ["b.yaml:2:12: include[0].file: includes itself: a.yaml -> b.yaml -> a.yaml"]


def test_a_world_that_includes_itself(write: Callable[..., Path]) -> None:
    assert lines(write("include: [./w.yaml]")) == ["w.yaml:1:11: include[0]: includes itself: w.yaml -> w.yaml"]


def test_faults_of_an_included_file_are_located_in_it(write: Callable[..., Path]) -> None:
    write("frames:\n  - {name: a, parant: b}\n", "parts/rover.yaml")
    assert lines(write("include:\n  - parts/rover.yaml\nframs: []\n")) == [
        "w.yaml:3:1: frams: unknown key; did you mean frames? (known: world, fixed_frame, origin, time, "
        "static_patterns, frames, sensors, include, motions, physics, bodies, actuators, transmissions, "
        "joint_commands, signals, triggers, forces, vehicles, bases, systems, loop_closures, contact_exclusions, "
        "contact_materials, suction, body_commands, "
        "vehicle_commands, processes, ground, lights, sky, camera, schematic, actors, resources, "
        "expect, fmus, fmu_frames, scenario)",
        "parts/rover.yaml:2:15: frames[0].parant: unknown key; did you mean parent? (known: name, parent, pose, mate, "
        "size, description, tags)",
    ]


def test_a_missing_file_is_one_fault_and_not_that_of_every_frame_in_it(write: Callable[..., Path]) -> None:
    write("{}", "rover.yaml")
    found = lines(write("include: [{file: rovr.yaml, prefix: r}]\nframes: [{name: a, parent: r/base_link}]\n"))
    assert found == ["w.yaml:1:18: include[0].file: no file 'rovr.yaml' beside w.yaml; did you mean rover.yaml?"]


def test_a_parent_that_is_not_there_is_reported_where_it_is_named(write: Callable[..., Path]) -> None:
    write(ROVER, "rover.yaml")
    found = lines(write("frames: [{name: ship}]\ninclude:\n  - {file: rover.yaml, prefix: r, parent: shop}\n"))
    assert found == ["w.yaml:3:43: include[0].parent: 'shop' is not a frame of this world; did you mean ship?"]


def test_two_vehicles_without_prefixes_collide(write: Callable[..., Path]) -> None:
    write("frames: [{name: base_link}]", "rover.yaml")
    write("frames: [{name: base_link}]", "scout.yaml")
    assert lines(write("include: [rover.yaml, scout.yaml]")) == [
        "scout.yaml:1:17: frames[0].name: a second frame 'base_link', the first is at rover.yaml:1:17"
    ]


def test_a_place_needs_a_prefix_where_both_fixed_frames_have_one_name(write: Callable[..., Path]) -> None:
    write(ROVER, "rover.yaml")
    assert lines(write("include: [{file: rover.yaml, pose: {position: [1, 0, 0]}}]")) == [
        "w.yaml:1:36: include[0].pose: needs a prefix, too: both worlds have a frame 'map'"
    ]


@pytest.mark.parametrize("prefix", ["/rover", "'my rover'", "'//'", "a//b"])
def test_prefixes_are_names(write: Callable[..., Path], prefix: str) -> None:
    write(ROVER, "rover.yaml")
    (line,) = lines(write(f"include: [{{file: rover.yaml, prefix: {prefix}}}]"))
    assert line.startswith(f"w.yaml:1:38: include[0].prefix: the prefix '{prefix.strip(chr(39))}' ")


def test_only_world_files_are_included(write: Callable[..., Path]) -> None:
    write("t,x,y,z\n", "path.csv")
    assert lines(write("include: [path.csv]")) == [
        "path.csv: worlds have the suffix .yaml, .yml, .xml, .urdf, .mjcf, .xacro, .json, .openplx, .sdf, .world; "
        "found '.csv'"
    ]


def test_a_chain_of_includes_ends_at_32(write: Callable[..., Path]) -> None:
    """It would end in Python's recursion limit."""
    for i in range(200):
        write(f"include: [part{i + 1}.yaml]", f"part{i}.yaml")
    (line,) = lines("part0.yaml")
    assert line == "part31.yaml:1:11: include[0]: too many includes; allowed: 32 levels, 1000 files in a world"


# Takes seconds: make test has includes that are not found, and circles of them.
@pytest.mark.nightly
def test_includes_that_double_end_at_a_thousand_files(write: Callable[..., Path]) -> None:
    """Thirty small files would be read 2^30 times."""
    for i in range(30):
        write(f"include: [part{i + 1}.yaml, part{i + 1}.yaml]", f"part{i}.yaml")
    write("{}", "part30.yaml")
    assert "too many includes" in lines("part0.yaml")[0]
