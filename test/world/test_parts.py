"""Worlds as parts by kind: constructors, attributes, and kinds that others add."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import Body, Drag, Motion, Sensor, StaticFrame, Wind, World, WorldError, lay_out, load
from sim_node.world.part import PARTS, FrameEntry, Kind, Mobility
from sim_node.world.problems import NO_PLACE, Place, Problem
from sim_node.world.readers.yaml_section import SECTIONS, Context, named
from sim_node.world.readers.yaml_values import Value

IDENTITY = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
BALL = Body("ball", "map", "free")


def test_parts_are_attributes_and_keywords() -> None:
    wind = Wind(np.array([1.0, 0.0, 0.0]))
    world = World("w", bodies=[BALL], wind=wind)
    assert world.bodies == (BALL,)
    assert world.of(Body) == (BALL,)
    assert world.motions == ()
    assert world.wind is wind
    assert World("w").wind is None
    assert dict(world.parts) == {"bodies": (BALL,), "wind": (wind,)}


def test_a_class_below_that_of_a_kind_selects() -> None:
    drag, frame = Drag("ball"), StaticFrame("a", "map", IDENTITY)
    world = World("w", forces=(drag,), frames=(frame,), sensors=(Sensor("s", "map", IDENTITY),))
    assert world.of(Drag) == (drag,)
    assert world.of(StaticFrame) == (frame,), "sensors are a kind of their own"
    with pytest.raises(TypeError, match="int is not a part of a world; allowed: StaticFrame, Sensor, Motion, Body"):
        world.of(int)


def test_replace_takes_kinds() -> None:
    world = World("w", bodies=(BALL,), frames=(StaticFrame("a", "map", IDENTITY),))
    other = replace(world, bodies=(), name="v")
    assert (other.name, other.bodies, other.frames) == ("v", (), world.frames)
    assert world.bodies == (BALL,), "the first is as it was"
    assert replace(world) == world


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda world: pickle.loads(pickle.dumps(world))])
def test_copies_are_equal(way: Callable[[World], World]) -> None:
    world = World("w", bodies=(BALL,), wind=Wind(np.array([1.0, 0.0, 0.0])))
    assert way(world) == world


def test_what_is_no_kind_is_reported_with_the_nearest() -> None:
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'bodis'; did you mean bodies\?"):
        World("w", bodis=())
    with pytest.raises(TypeError, match=r"'frmes'; did you mean frames\?"):
        World("w", parts={"frmes": ()})
    with pytest.raises(AttributeError, match=r"a World has no 'bodie'; did you mean bodies\?"):
        World("w").bodie  # noqa: B018


def test_where_a_world_was_read_is_no_part_of_what_it_says() -> None:
    assert World("w", source="a.yaml", files=(Path("a.yaml"),)) == World("w")
    assert World("w") != World("v")


# A kind that the package does not know: everything that a world does with its parts, from one class and a section.


@dataclass(frozen=True)
class Belt:
    name: str
    parent: str
    height: float
    place: Place = NO_PLACE
    parent_place: Place = NO_PLACE

    def start(self) -> FloatArray:
        return np.array([0.0, 0.0, self.height, 0.0, 0.0, 0.0, 1.0])

    @property
    def mobility(self) -> Mobility:
        return "dynamic"


class Belts(Kind[Belt]):
    frame = "name"

    def entries(self, world: World) -> Iterator[FrameEntry]:
        for entry in super().entries(world):
            yield entry
            top = f"{entry.name}/top"
            yield FrameEntry(top, entry.name, StaticFrame(top, entry.name, IDENTITY), entry.place, entry.place)

    def problems(self, world: World) -> Iterator[Problem]:
        for belt in self.parts(world):
            if belt.height < 0.0:
                yield Problem(belt.place.where, belt.place.key, f"{belt.height:g} m is below the floor")


def read_belts(value: Value, context: Context) -> None:
    for entry in value.items():
        table = entry.table(("name", "parent", "height"), required=("name", "height"))
        name, place = named(table, "name")
        height = table.get("height")
        context.add(Belt(name, height=height.number() if height else 0.0, **place))


@pytest.fixture
def belts() -> Iterator[None]:
    with PARTS.extended({"belts": Belts("belts", Belt)}), SECTIONS.extended({"belts": read_belts}):
        yield


@pytest.mark.usefixtures("belts")
def test_a_kind_of_part_from_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "hall.yaml").write_text("belts: [{name: first, height: 1.5}, {name: first/second, height: 0.5}]")
    path = tmp_path / "factory.yaml"
    path.write_text("include: [{file: hall.yaml, prefix: hall, parent: dock}]\nframes: [{name: dock}]")
    world = load(path)
    assert [(belt.name, belt.parent) for belt in world.belts] == [
        ("hall/first", "dock"),
        ("hall/first/second", "hall/first"),
    ]
    layout = lay_out(world)
    assert layout.frames.names == (
        *("map", "dock", "hall/first", "hall/first/top", "hall/first/second", "hall/first/second/top"),
    )
    assert layout.frames.static.tolist() == [True, True, False, True, False, True]
    assert layout.poses[:, 2].tolist() == [0.0, 0.0, 1.5, 0.0, 0.5, 0.0]
    assert layout.of(Belt) == ((2, world.belts[0]), (4, world.belts[1]))


@pytest.mark.usefixtures("belts")
def test_faults_of_a_kind_from_elsewhere_stand_where_they_are(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text("belts:\n- {name: first, height: -1}")
    with pytest.raises(WorldError, match=r"w\.yaml:2:10: belts\[0\]\.name: -1 m is below the floor"):
        lay_out(load(path))
    with pytest.raises(WorldError, match=r"'mp' is not a frame of this world; did you mean map\?"):
        lay_out(World("w", belts=(Belt("b", "mp", 0.0),)))


def test_kinds_that_are_gone_are_unknown_again() -> None:
    assert "belts" not in PARTS
    with pytest.raises(TypeError, match="'belts'"):
        World("w", belts=())


def test_frames_of_a_motion_that_stands_still_are_static_where_they_are_mounted() -> None:
    still = np.array([0]), np.array([IDENTITY])
    base = Motion("base_link", "map", np.array([0, 1]), np.array([IDENTITY, (1.0, *IDENTITY[1:])]))
    world = World("w", motions=(base, Motion("CAM_A", "base_link", *still), Motion("arm", "base_link", *still)))
    layout = lay_out(world)
    assert dict(zip(layout.frames.names, layout.frames.static.tolist(), strict=True)) == {
        **{"map": True, "base_link": False, "CAM_A": True, "arm": False},
    }
    assert [motion.frame for _, motion in layout.moving] == ["base_link", "arm"]
