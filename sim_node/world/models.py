"""MJCF and URDF models in a World, kept whole as MuJoCo reads them, and their links as frames; frozen data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sim_node import names
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.fields import compared
from sim_node.world.joints import LinkJoint, link_pose
from sim_node.world.kinds import Mobility
from sim_node.world.mujoco_source import ModelSource
from sim_node.world.problems import NO_PLACE, Place
from sim_node.world.shapes import Geometry


@compared
class Link:
    """A frame of a model: one of its bodies, or the frame of a joint or site, fixed to a body.

    parent: its parent's name in the model, empty for the frame that the model is attached to; pose (7,): in the parent
    with neutral joints; is_body: whether MuJoCo has a body of this name.
    """

    name: str
    parent: str
    pose: FloatArray
    joints: tuple[LinkJoint, ...] = ()
    is_body: bool = True
    place: Place = NO_PLACE

    def at(self, q: Mapping[str, FloatArray]) -> FloatArray:
        """Return its pose (7,) in its parent for joint positions q. Joints that are not in q are neutral."""
        return link_pose(self.pose, self.joints, q)


@compared
class Start:
    """An initial state: q and qd by joint, and act and ctrl of all actuators in the model's order.

    followers: q of joints that are coupled with those of q, and follow them.
    """

    q: Mapping[str, FloatArray] = field(default_factory=dict)
    qd: Mapping[str, FloatArray] = field(default_factory=dict)
    act: FloatArray = field(default_factory=lambda: np.zeros(0))
    ctrl: FloatArray = field(default_factory=lambda: np.zeros(0))
    followers: Mapping[str, FloatArray] = field(default_factory=dict)


@compared
class Model:
    """An MJCF or URDF model attached to a frame of the world.

    Attributes:
        name: The name in its file.
        source: The model as MuJoCo reads it.
        links: Its links, parents first.
        parent: The frame that it is attached to.
        prefix: Goes before the names of its frames, and of everything in MuJoCo.
        start: The initial state.
        keyframes: Named states of the model's file.
        actuators: Names of the actuators in the model, in its order.
        mimics: URDF joints that follow another one: (joint, followed joint, multiplier, offset).
        speeds: URDF joints that actuators may not drive faster: (joint, m/s or rad/s).
        options: Options of MuJoCo that the file sets. A world takes over those of contacts, and overrides the others.
        flags: Whether parts of MuJoCo's pipeline are on, by their names, where the file says so.
        read_with: Keys of the include that its file was read with, as in a world file.
        shown: Meshes that are only shown, and the names of their links.
        urdf: The text of a URDF model with absolute paths of meshes; empty for other models.
        files: All files that were read for it, its own first.
        place: Where the world's file includes it.
        parent_place: Where the world's file gives the parent.
    """

    name: str
    source: ModelSource
    links: tuple[Link, ...]
    parent: str
    prefix: str = ""
    start: Start = field(default_factory=Start)
    keyframes: Mapping[str, Start] = field(default_factory=dict)
    actuators: tuple[str, ...] = ()
    mimics: tuple[tuple[str, str, float, float], ...] = ()
    speeds: tuple[tuple[str, float], ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    flags: Mapping[str, bool] = field(default_factory=dict)
    read_with: Mapping[str, Any] = field(default_factory=dict)
    shown: tuple[tuple[str, Geometry], ...] = ()
    urdf: str = ""
    files: tuple[Path, ...] = ()
    place: Place = NO_PLACE
    parent_place: Place = NO_PLACE

    def joints(self) -> Iterator[LinkJoint]:
        """Return its joints, parents first."""
        return (joint for link in self.links for joint in link.joints)

    def full_name(self, name: str) -> str:
        """Return the name of a link or joint in the world.

        Args:
            name: The name in the model.

        Returns:
            The name with the prefix.
        """
        return names.prefixed(self.prefix, name)

    def moves(self) -> bool:
        """Return whether it has any joint."""
        return any(link.joints for link in self.links)

    def floats(self) -> bool:
        """Return whether it has a free joint, whose parent must be the fixed frame."""
        return any(joint.kind == "free" for joint in self.joints())

    def starts(self) -> dict[str, FloatArray]:
        """Return the initial q of every joint: as set, as given by the joints that it is coupled with, or neutral."""
        given = {**self.start.q, **self.start.followers}
        q = {joint.name: given.get(joint.name, joint.neutral) for joint in self.joints()}
        for joint, followed, multiplier, offset in self.mimics:
            if joint not in given and joint in q and followed in q:
                q[joint] = q[followed] * multiplier + offset
        return q


@dataclass(frozen=True, slots=True, eq=False)
class ModelLink:
    """A link as a frame of the tree. pose (7,): in its parent at the start."""

    model: Model
    link: Link
    pose: FloatArray

    @property
    def name(self) -> str:
        """The name of the frame."""
        return self.model.full_name(self.link.name)

    @property
    def parent(self) -> str:
        """The name of the parent frame."""
        return self.model.full_name(self.link.parent) if self.link.parent else self.model.parent

    @property
    def joints(self) -> tuple[LinkJoint, ...]:
        """Its joints, by their names in the world and in MuJoCo."""
        return tuple(replace(joint, name=self.model.full_name(joint.name)) for joint in self.link.joints)

    def start(self) -> FloatArray:
        """Return its pose (7,) in its parent at the start."""
        return self.pose

    @property
    def mobility(self) -> Mobility:
        """ "dynamic" if it has joints, else "static"."""
        return "dynamic" if self.link.joints else "static"


def links_of(model: Model) -> Iterator[ModelLink]:
    """Return the links of a model, parents first."""
    q = model.starts()
    return (ModelLink(model, link, link.at(q)) for link in model.links)
