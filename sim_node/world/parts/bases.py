"""Wheeled bases as parts of a world."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bases import Base, base_problems, kind_of
from sim_node.world.declared import data_of
from sim_node.world.model import World
from sim_node.world.part import Entry, Kind, Mobility, Refer, Rename, part
from sim_node.world.problems import Place, Problem
from sim_node.world.writers.values import data_of as shape_data


@dataclass(frozen=True)
class OdometryFrame:
    """The pose of the frame of a base's odometry in the base."""

    mobility: Mobility = "dynamic"

    def start(self) -> FloatArray:
        """Return no displacement: it begins at the base."""
        return np.array(poses.IDENTITY)


@part("bases", Base)
class Bases(Kind[Base]):
    """Bodies that drive on wheels. The frame of each one's odometry is below its body."""

    def entries(self, world: World) -> Iterator[Entry]:
        """Return the frame NAME/odom of each base."""
        for base in self.parts(world):
            carrier = Place(base.place.where, f"{base.place.key}.body") if base.place.key else base.place
            yield Entry(base.odom, base.body, OdometryFrame(), base.place, carrier, base)

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every fault of names, joints and numbers."""
        return base_problems(world)

    def renamed(self, part: Base, rename: Rename) -> Base:
        """Return it on the same body, with the same joints."""
        joints = {role: tuple(map(rename.under, wheels)) for role, wheels in part.joints.items()}
        return replace(part, name=rename.under(part.name), body=rename.frame(part.body), joints=joints)

    def data(self, part: Base, refer: Refer) -> dict[str, Any]:
        """Return it with its kind and dimensions, on a body that is written among the bodies."""
        data = data_of(part, refer)
        head = {key: data.pop(key) for key in ("name", "body")}
        return {**head, "type": kind_of(part.shape), **shape_data(part.shape), **data}
