"""Frames of entities: their names on the TF tree."""

from __future__ import annotations

from typing import NamedTuple

from sim_node.spatial.frames import Frame
from sim_node.spatial.frames.conversions import axes_in_enu
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.spatial.geometry.poses import IDENTITY
from sim_node.world.model import DEFAULT_FIXED_FRAME

# The component whose entities have frames, and the root of the tree.
WORLD_POS = "world_pos"
FIXED_FRAME = DEFAULT_FIXED_FRAME
# The name of the root in scripts. It is published as a frame at the root, unless an entity has the name.
WORLD = "world"


class Reference(NamedTuple):
    """The frame in which the poses of entities are expressed.

    Attributes:
        name: Its name, which states its axes.
        pose: Its pose (7,) in the root, m.
    """

    name: str
    pose: FloatArray

    @property
    def axes(self) -> str:
        """The convention of its axes: ENU, NED or ECEF."""
        return next(axes for axes, name in REFERENCES.items() if name == self.name)

    @property
    def is_root(self) -> bool:
        """Whether it is the root of the tree."""
        return self.name == FIXED_FRAME


# The axes that a world in Python may have, and the names of their frames.
REFERENCES = {"ENU": FIXED_FRAME, "NED": f"{FIXED_FRAME}_ned", "ECEF": "earth"}


def reference_of(axes: str, origin: tuple[float, float, float] | None = None) -> Reference:
    """Return the reference frame for a convention of axes.

    Args:
        axes: ENU, NED or ECEF.
        origin: Position of the root (latitude, degrees; longitude, degrees; height above the ellipsoid, m), for ECEF.
    """
    if axes == "ENU":
        return Reference(FIXED_FRAME, IDENTITY)
    return Reference(REFERENCES[axes], axes_in_enu(Frame[axes], origin))


def frame_name(entity: str) -> str:
    """Return the name of an entity's frame, in a form that tf2 accepts.

    White space and control characters become `_`, and empty parts between slashes are removed.
    """
    plain = "".join("_" if letter.isspace() or not letter.isprintable() else letter for letter in entity)
    return "/".join(part for part in plain.split("/") if part) or "_"
