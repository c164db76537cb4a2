"""Mate types: the motion that a mate leaves free between its two connectors. A new type is one entry:

    register(MateType("pin_in_slot", (slide(X), hinge(Z)), "slide_hinge", ("displacement", "angle")))

This is all that worlds, assembly and physics need to know of a pin in a slot; "slide_hinge" is its joint type.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sim_node.registry import Registry, calling_module
from sim_node.world.joints import BALL, JOINTS, JointPart, X, Y, Z, hinge, slide


@dataclass(frozen=True)
class MateType:
    """The motion that a mate leaves free, from the frame of its first connector to that of its second.

    The main axis of a connector is Z, its normal X.

    Attributes:
        name: The name in world files.
        parts: The free motions, in their order.
        joint: The joint type that the mate becomes if it carries a body: one with the same parts and open axes, or
            `free` if only a loop can maintain the mate.
        values: Names of the initial values of slides and hinges, in order. A ball starts at rest.
        distance: Whether only the distance between the connectors' origins is constrained. It is the slide among the
            parts, which has the only value.
    """

    name: str
    parts: tuple[JointPart, ...]
    joint: str
    values: tuple[str, ...] = ()
    distance: bool = False

    @cached_property
    def valued(self) -> tuple[int, ...]:
        """Indices of the parts that have values."""
        kinds = ("slide",) if self.distance else ("slide", "hinge")
        return tuple(k for k, part in enumerate(self.parts) if part.kind in kinds)

    @property
    def qd_size(self) -> int:
        """Number of degrees of freedom of the parts."""
        return sum(part.qd_size for part in self.parts)

    @property
    def translations(self) -> int:
        """Number of free degrees of freedom of the second connector's origin."""
        return 2 if self.distance else sum(part.kind == "slide" for part in self.parts)

    @property
    def rotations(self) -> int:
        """Number of free degrees of freedom of the second connector's axes."""
        return 3 if self.distance else sum(part.qd_size for part in self.parts if part.kind != "slide")


MATES: Registry[str, MateType] = Registry(
    "mate type", shipped=("sim_node.world.mate_types",), group="sim_node.mate_types"
)


def register(*mates: MateType) -> None:
    """Add mate types. Raises ValueError for a name in use, an unknown joint, or a wrong number of values."""
    module = calling_module()
    for mate in mates:
        if not JOINTS.added(mate.joint) or len(mate.valued) != len(mate.values):
            raise ValueError(
                f"mate type {mate.name!r}: joint {mate.joint!r}, values {mate.values} do not fit its parts"
            )
        MATES.add(mate.name, module=module)(mate)


register(
    MateType("lock", (), "frozen"),
    MateType("hinge", (hinge(Z),), "hinge", ("angle",)),
    MateType("prismatic", (slide(Z),), "slide", ("displacement",)),
    MateType("cylindrical", (slide(Z), hinge(Z)), "cylindrical", ("displacement", "angle")),
    MateType("ball", (BALL,), "spherical"),
    MateType("planar", (slide(X), slide(Y), hinge(Z)), "planar", ("x", "y", "angle")),
    MateType("distance", (hinge(X), hinge(Y), slide(Z), BALL), "free", ("length",), distance=True),
)
