"""Options for reading scene graphs: the axes of a file, and the files that represent its assets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from sim_node.spatial.frames import Frame
from sim_node.world.model import World
from sim_node.world.problems import Place

# The axes of (parent, child) for roots, by the convention of a file. Everything below uses the axes of the child.
ROOTS = {"NED": (Frame.NED, Frame.FRD), "ENU": (Frame.ENU, Frame.FLU)}
MOUNTED = {"NED": (Frame.FRD, Frame.FRD), "ENU": (Frame.FLU, Frame.FLU)}
EFFECTOR_CONVENTIONS = {"FRD": (Frame.FRD, Frame.FRD), "FLU": (Frame.FLU, Frame.FLU)}


class Asset(NamedTuple):
    """A file that represents an asset: a mesh, or the world of a URDF or MJCF model. `place`: where it is given."""

    file: Path
    world: World | None = None
    place: Place = Place()


@dataclass(frozen=True)
class Options:
    """How a scene graph is read.

    Attributes:
        convention: "NED": positions of roots in NED with bodies FRD, children and effectors in FRD of their parents.
            "ENU": in ENU with bodies FLU, and in FLU.
        effectors: "FRD" or "FLU", the axes of effectors; empty for those of `convention`.
        assets: Files by the names of assets.
        scaled_children: Whether the scale of an entity also applies to its descendants: to their positions, and
            multiplied with their own scales. AeroSim's program does not scale children.
    """

    convention: str = "NED"
    effectors: str = ""
    assets: Mapping[str, Asset] = field(default_factory=dict)
    scaled_children: bool = False
