"""Mate types: what a mate leaves free between its two connectors. A new one is one entry.

    register(MateType("universal", (hinge(X), hinge(Y)), "universal"))

is all that worlds, the assembly and the physics need to know of a universal mate; its joint is one of joints.JOINTS.
"""

from __future__ import annotations

from dataclasses import dataclass

from sim_node.registry import registering
from sim_node.world.joints import BALL, JOINTS, Part, X, Y, Z, hinge, slide


@dataclass(frozen=True)
class MateType:
    """What a mate leaves free, from its first connector's frame to its second's; main axes are Z, normals X.

    parts: the motions left, in their order; initial values list theirs, in m and rad. joint: the joint type that a
    mate becomes where it carries a body. distance: the mate holds nothing but the distance of the connectors' origins,
    its one value: along the main axis, which the first parts turn; a body that it carries floats free.
    """

    name: str
    parts: tuple[Part, ...]
    joint: str
    distance: bool = False

    @property
    def translations(self) -> int:
        """Of the degrees of freedom left, those of the origin."""
        return 2 if self.distance else sum(part.kind == "slide" for part in self.parts)

    @property
    def rotations(self) -> int:
        """Of the degrees of freedom left, those of the axes."""
        return 3 if self.distance else sum(3 if part.kind == "ball" else part.kind == "hinge" for part in self.parts)

    @property
    def values(self) -> tuple[str, ...]:
        """What each initial value is: of slides and hinges in their order. A ball begins at rest."""
        if self.distance:
            return ("distance",)
        names = {"slide": "displacement", "hinge": "angle"}
        return tuple(names[part.kind] for part in self.parts if part.kind != "ball")


MATES: dict[str, MateType] = {}


def register(mate: MateType) -> None:
    """Adds a mate type. Raises ValueError for a name that is taken, or a joint that is not there."""
    if mate.joint not in JOINTS:
        raise ValueError(f"mate type {mate.name!r}: no joint type {mate.joint!r}")
    registering(MATES, "mate type", mate.name)(mate)


register(MateType("lock", (), "frozen"))
register(MateType("hinge", (hinge(Z),), "rz"))
register(MateType("prismatic", (slide(Z),), "pz"))
register(MateType("cylindrical", (slide(Z), hinge(Z)), "cylindrical"))
register(MateType("ball", (BALL,), "spherical"))
register(MateType("planar", (slide(X), slide(Y), hinge(Z)), "planar"))
register(MateType("distance", (hinge(X), hinge(Y), BALL), "free", distance=True))
