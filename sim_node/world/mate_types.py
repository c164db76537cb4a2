"""Mate types: what a mate leaves free between its two connectors. A new one is one entry.

    register(MateType("pin_in_slot", (slide(X), hinge(Z)), "slide_hinge", ("displacement", "angle")))

is all that worlds, the assembly and the physics need to know of a pin in a slot; "slide_hinge" is its joint type.
"""

from __future__ import annotations

from dataclasses import dataclass

from sim_node.registry import Registry, calling_module
from sim_node.world.joints import BALL, JOINTS, Part, X, Y, Z, hinge, slide


@dataclass(frozen=True)
class MateType:
    """What a mate leaves free, from its first connector's frame to its second's; main axes are Z, normals X.

    parts: the motions left, in their order. joint: the joint type that a mate becomes where it carries a body: one of
    the same parts with its axes left open, or none of which they are kept by anything but a loop (free). values: what
    initial values are called, those of slides and hinges in their order; a ball begins at rest. distance: nothing is
    held but how far apart the connectors' origins are: the slide among the parts, whose value is the only one.
    """

    name: str
    parts: tuple[Part, ...]
    joint: str
    values: tuple[str, ...] = ()
    distance: bool = False

    @property
    def valued(self) -> tuple[int, ...]:
        """Which of the parts `values` are of."""
        kinds = ("slide",) if self.distance else ("slide", "hinge")
        return tuple(k for k, part in enumerate(self.parts) if part.kind in kinds)

    @property
    def qd_size(self) -> int:
        """Its parts' degrees of freedom."""
        return sum(part.qd_size for part in self.parts)

    @property
    def translations(self) -> int:
        """Of the degrees of freedom left, those of the second connector's origin."""
        return 2 if self.distance else sum(part.kind == "slide" for part in self.parts)

    @property
    def rotations(self) -> int:
        """Of the degrees of freedom left, those of its axes."""
        return 3 if self.distance else sum(part.qd_size for part in self.parts if part.kind != "slide")


MATES: Registry[str, MateType] = Registry(
    "mate type", shipped=("sim_node.world.mate_types",), group="sim_node.mate_types"
)


def register(*mates: MateType) -> None:
    """Adds mate types. Raises ValueError for a name that is taken, a joint that is not there, values out of number."""
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
    MateType("distance", (hinge(X), hinge(Y), slide(Z), BALL), "free", ("distance",), distance=True),
)
