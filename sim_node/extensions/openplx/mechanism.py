"""Systems of a model of Physics3D under construction."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sim_node.extensions.openplx.objects import Object
from sim_node.extensions.openplx.parts import place_of, pose_of
from sim_node.world.mates import Mate, MateConnector
from sim_node.world.surfaces import Surface
from sim_node.world.systems import ContactGeometry, RigidBody, System


@dataclass
class Part:
    """A system under construction; mates of nested systems may be moved into it."""

    of: Object
    systems: list[Part] = field(default_factory=list)
    bodies: list[RigidBody] = field(default_factory=list)
    geometries: list[ContactGeometry] = field(default_factory=list)
    connectors: list[MateConnector] = field(default_factory=list)
    mates: list[Mate] = field(default_factory=list)

    def surface(self, surfaces: dict[str, Surface]) -> None:
        """Give geometries their surfaces by the paths of their objects, unless they make no contact at all."""
        self.geometries = [_on(surfaces, each) for each in self.geometries]
        self.bodies = [
            replace(body, geometries=tuple(_on(surfaces, each) for each in body.geometries)) for body in self.bodies
        ]

    def system(self) -> System:
        """The resulting System."""
        return System(
            self.of.name,
            pose_of(self.of, "local_transform"),
            tuple(part.system() for part in self.systems),
            tuple(self.bodies),
            tuple(self.geometries),
            tuple(self.connectors),
            tuple(self.mates),
            place=place_of(self.of),
        )


def _on(surfaces: dict[str, Surface], of: ContactGeometry) -> ContactGeometry:
    surface = surfaces.get(of.place.key)
    if surface is None or of.geometry.surface is not None:
        return of
    return replace(of, geometry=replace(of.geometry, surface=surface))
