"""The part: belts in a world, their frames, their checks and their section `belts` of world files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import Problem, StaticFrame, World
from sim_node.world.part import FrameEntry, Kind, Mobility, Refer, part
from sim_node.world.readers.yaml_poses import read_pose
from sim_node.world.readers.yaml_section import Context, named, section
from sim_node.world.readers.yaml_values import Value
from sim_node.world.writers.values import pose_data

MAX_LENGTH, MAX_RATE, MAX_PALLETS = 1000.0, 20.0, 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Belt(StaticFrame):
    """A belt of `length` m along the x axis of its frame, with evenly spaced pallets that move at `speed` m/s.

    A pallet that reaches the end goes on from the beginning: the belt returns below.
    """

    length: float = 1.0
    speed: float = 0.0
    pallets: int = 1


@dataclass(frozen=True)
class Pallet:
    """What stands at a frame that a belt moves."""

    belt: Belt
    number: int

    @property
    def name(self) -> str:
        return f"{self.belt.name}/pallet_{self.number}"

    @property
    def mobility(self) -> Mobility:
        return "dynamic"

    def offset(self) -> float:
        """Where it is on the belt at time 0, in m."""
        return self.number * self.belt.length / self.belt.pallets

    def start(self) -> FloatArray:
        return np.array([self.offset(), 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


@part("belts", Belt)
class Belts(Kind[Belt]):
    """World.belts, and the keyword of World(...)."""

    frame = "name"

    def entries(self, world: World) -> Iterator[FrameEntry]:
        """The belt, which stands still, then its pallets."""
        for entry, belt in zip(super().entries(world), self.parts(world), strict=True):
            yield entry
            for number in range(belt.pallets):
                pallet = Pallet(belt, number)
                yield FrameEntry(pallet.name, belt.name, pallet, belt.place, belt.place, pallet)

    def problems(self, world: World) -> Iterator[Problem]:
        """Numbers out of range: a world that is made in Python has been through no reader."""
        for belt in self.parts(world):
            if not 0.0 < belt.length <= MAX_LENGTH:
                yield Problem(belt.place.where, f"belts[{belt.name}].length", f"{belt.length:g} m is out of range")

    def data(self, part: Belt, refer: Refer) -> dict[str, Any]:
        """What `read_belts` reads."""
        place = {"name": part.name, "parent": part.parent, "pose": pose_data(part.pose)}
        return {**place, "length": part.length, "speed": part.speed, "pallets": part.pallets}


@section("belts")
def read_belts(value: Value, context: Context) -> None:
    """belts: [{name: infeed, parent: hall, pose: {position: [0, 0, 0.8]}, length: 2.0, speed: 0.5, pallets: 4}]"""
    for entry in value.items():
        table = entry.table(("name", "parent", "pose", "length", "speed", "pallets"), required=("name", "length"))
        name, place = named(table, "name")
        pose, _ = read_pose(table.get("pose"))
        length, speed, pallets = (table.get(key) for key in ("length", "speed", "pallets"))
        if name:
            belt = Belt(
                name,
                pose=pose,
                length=length.number(1e-3, MAX_LENGTH, default=1.0) if length else 1.0,
                speed=speed.number(-MAX_RATE, MAX_RATE) if speed else 0.0,
                pallets=_whole(pallets) if pallets else 1,
                **place,
            )
            context.add(belt)


def _whole(value: Value) -> int:
    number = value.number(0, MAX_PALLETS)
    if number != int(number):
        value.error(f"a whole number is needed, found {value.found()}")
    return int(number)
