"""Models of others in a World, kept whole as MuJoCo reads them, and their links as the tree sees them; frozen data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sim_node import names
from sim_node.geometry.arrays import FloatArray
from sim_node.world.bodies import Geometry
from sim_node.world.fields import same
from sim_node.world.joints import LinkJoint, link_pose
from sim_node.world.mujoco_source import Source
from sim_node.world.part import Mobility
from sim_node.world.problems import NO_PLACE, Place


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """A frame of a model: one of its bodies, or a joint's or site's frame fixed to a body.

    parent: its parent's name in the model, empty for the frame that the model is attached to; pose (7,): in the
    parent, with its joints neutral. is_body: whether MuJoCo has a body of this name.
    """

    name: str
    parent: str
    pose: FloatArray
    joints: tuple[LinkJoint, ...] = ()
    is_body: bool = True
    place: Place = NO_PLACE

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    __hash__ = None  # type: ignore[assignment]

    def at(self, q: Mapping[str, FloatArray]) -> FloatArray:
        """Return its pose (7,) in its parent with the joints at q; those that q does not name are neutral."""
        return link_pose(self.pose, self.joints, q)


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """A state to start from: q and qd by joint, and act and ctrl of all actuators in the model's order."""

    q: Mapping[str, FloatArray] = field(default_factory=dict)
    qd: Mapping[str, FloatArray] = field(default_factory=dict)
    act: FloatArray = field(default_factory=lambda: np.zeros(0))
    ctrl: FloatArray = field(default_factory=lambda: np.zeros(0))

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """An MJCF or URDF model attached to a frame of the world.

    prefix: before the names of its frames, and of all that MuJoCo knows of it. links: parents first. keyframes: the
    states that the model's file names. actuators: their names in the model, in its order. mimics: URDF joints that
    follow another: (joint, followed, multiplier, offset). options: what the file sets of MuJoCo's options, which is
    the world's to say. shown: meshes that are drawn on a link and do nothing else. urdf: the text of a URDF model as
    its file has it, with meshes that are found from anywhere; empty for others. files: all that were read for it, its
    own first.
    """

    name: str
    source: Source
    links: tuple[Link, ...]
    parent: str
    prefix: str = ""
    start: Start = field(default_factory=Start)
    keyframes: Mapping[str, Start] = field(default_factory=dict)
    actuators: tuple[str, ...] = ()
    mimics: tuple[tuple[str, str, float, float], ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    shown: tuple[tuple[str, Geometry], ...] = ()
    urdf: str = ""
    files: tuple[Path, ...] = ()
    place: Place = NO_PLACE
    parent_place: Place = NO_PLACE

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    __hash__ = None  # type: ignore[assignment]

    def joints(self) -> Iterator[LinkJoint]:
        """Its joints, parents first."""
        return (joint for link in self.links for joint in link.joints)

    def full_name(self, name: str) -> str:
        """What the world calls a link or joint of the model."""
        return names.prefixed(self.prefix, name)

    def moves(self) -> bool:
        """Whether it has any joint."""
        return any(link.joints for link in self.links)

    def floats(self) -> bool:
        """Whether it has a joint that only the fixed frame can carry."""
        return any(joint.kind == "free" for joint in self.joints())

    def starts(self) -> dict[str, FloatArray]:
        """q of every joint at the start: as it is set, or as the joint that it mimics says, or neutral."""
        q = {joint.name: self.start.q.get(joint.name, joint.neutral) for joint in self.joints()}
        for joint, followed, multiplier, offset in self.mimics:
            if joint not in self.start.q and joint in q and followed in q:
                q[joint] = q[followed] * multiplier + offset
        return q


@dataclass(frozen=True, slots=True, eq=False)
class ModelLink:
    """A link as the tree sees it. pose (7,): in its parent at the start."""

    model: Model
    link: Link
    pose: FloatArray

    @property
    def name(self) -> str:
        """The frame's name."""
        return self.model.full_name(self.link.name)

    @property
    def parent(self) -> str:
        """Its parent frame's name."""
        return self.model.full_name(self.link.parent) if self.link.parent else self.model.parent

    @property
    def joints(self) -> tuple[LinkJoint, ...]:
        """Its joints, under the names that the world and MuJoCo have for them."""
        return tuple(replace(joint, name=self.model.full_name(joint.name)) for joint in self.link.joints)

    def start(self) -> FloatArray:
        """Return its pose (7,) in its parent at the start."""
        return self.pose

    @property
    def mobility(self) -> Mobility:
        """Whether it has joints."""
        return "dynamic" if self.link.joints else "static"


def links_of(model: Model) -> Iterator[ModelLink]:
    """The links of a model, parents first."""
    q = model.starts()
    return (ModelLink(model, link, link.at(q)) for link in model.links)
