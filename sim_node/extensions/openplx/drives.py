"""Conversion of the interactions of a model to actuators and transmissions on its mates and shafts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sim_node.extensions.openplx.interactions import (
    Ignored,
    Law,
    capacity_of,
    friction_of,
    law_of,
    range_of,
    shifted_gears,
)
from sim_node.extensions.openplx.models import Fault
from sim_node.extensions.openplx.objects import Object
from sim_node.extensions.openplx.parts import line_of, place_of, value_of
from sim_node.extensions.openplx.values import Undefined, with_article
from sim_node.spatial.geometry import poses
from sim_node.world.joint_motion import RIGID, UNLIMITED, Actuator, Stop
from sim_node.world.mates import Mate, MateConnector
from sim_node.world.suction import Suction
from sim_node.world.systems import RigidBody
from sim_node.world.transmissions import Transmission

SHAFT, SHAFT_ACTUATOR = "Physics1D.Bodies.RotationalBody", "DriveTrain.Actuator"
LINEAR_RANGE = "Physics3D.Interactions.LinearRange"
RANGE, INTERACTION_1DOF = "Physics3D.Interactions.RangeInteraction1DOF", "Physics.Interactions.Interaction1DOF"
# The default inertia of a shaft, kg m^2.
SHAFT_INERTIA = 0.01
# Atmospheric pressure, Pa. A vacuum_level is a fraction of it.
ATMOSPHERE = 101_325.0
# The free motions of each kind of mate, in the order of its coordinates, and the attributes of their friction.
MOTIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "hinge": (("rotational", "friction"),),
    "prismatic": (("linear", "friction"),),
    "cylindrical": (("linear", "friction_translational"), ("rotational", "friction_rotational")),
}
Report = Callable[[Object, str], None]
Terms = tuple[tuple[str, float], ...]


class ModelDrives:
    """The actuators and transmissions of one model, created once its mates have names.

    Args:
        root: The name of its system.
        ignore: Reports an object that has no effect.
        note: Reports anything else about an object.
    """

    def __init__(self, root: str, ignore: Report, note: Report) -> None:
        self.actuators: list[Actuator] = []
        self.transmissions: list[Transmission] = []
        self.suction: list[Suction] = []
        # The names of the suctions of each vacuum gripper.
        self.grippers: dict[Object, list[str]] = {}
        self._root, self._ignore, self._note = root, ignore, note
        # Gear boxes whose gear is changed by signals.
        self.shifted: set[Object] = set()
        # The mates between each pair of connectors, and their kinds.
        self._mates: dict[tuple[Object, ...], list[tuple[Object, str]]] = {}
        self._names: dict[Object, str] = {}
        self._kinds: dict[Object, str] = {}
        self._driven: dict[Object, Actuator] = {}
        self._ranges: dict[tuple[Object, ...], list[Object]] = {}
        self._limiting: set[Object] = set()
        self._shafts: dict[Object, str] = {}
        # Initial angles by the names of the shafts' joints, rad.
        self._angles: dict[str, float] = {}

    def name(self, of: Object) -> str:
        """Return the name of an object in the world: the path of its system, then its own."""
        return "/".join([self._root, *filter(None, of.path.split("."))])

    def coordinates_of(self, of: Object) -> dict[str, str]:
        """Return the joints of a mate or shaft by motion, "linear" or "rotational"; empty for anything else."""
        if of in self._shafts:
            return {"rotational": self._shafts[of]}
        motions = MOTIONS.get(self._kinds.get(of, ""), ())
        return {motion: f"{self._names[of]}#{k}" for k, (motion, _) in enumerate(motions)}

    def actuator_of(self, of: Object) -> Actuator | None:
        """Return the actuator made from an interaction, or None if there is none."""
        return self._driven.get(of)

    def add_range(self, of: Object) -> None:
        """Add a range. Call this before the mates are added."""
        connectors = tuple(of.objects("connectors"))
        if (of.value("start"), of.value("end")) == UNLIMITED:
            return
        if of.value("enabled") is False:
            of.reported = True  # the model itself says so
            return
        if of.value("max_effort") != np.inf or of.value("min_effort") not in (0, -np.inf):
            self._note(of, f"the limits of effort of {with_article(of.kind)} are not simulated; they are ignored")
        self._ranges.setdefault(connectors, []).append(of)

    def motion(self, mate: Object, kind: str, connectors: tuple[Object, ...]) -> dict[str, Any]:
        """Return the limits, stop and friction of a mate, as fields of a Mate."""
        motions = MOTIONS.get(kind, ())
        limits, stops = [UNLIMITED for _ in motions], dict[Stop | None, Object]()
        # With the connectors in the opposite order, the coordinate has the opposite sign.
        for pair, sign in ((connectors, 1.0), (connectors[::-1], -1.0)):
            for of in self._ranges.get(pair, ()):
                along = "linear" if of.is_a(LINEAR_RANGE) else "rotational"
                k = next((k for k, (motion, _) in enumerate(motions) if motion == along), None)
                if k is None:
                    continue
                self._limiting.add(of)
                ends, stop = range_of(of)
                low, high = sorted(sign * end for end in ends)
                limits[k] = max(limits[k][0], low), min(limits[k][1], high)
                stops.setdefault(stop, of)
        first, *others = stops or (None,)
        for stop in others:
            self._note(stops[stop], f"{with_article(mate.kind)} gives way at its limits as its first range does")
        losses = tuple(self._friction(mate, name) for _, name in motions)
        return {
            "limits": tuple(limits) if any(pair != UNLIMITED for pair in limits) else None,
            "stop": first,
            "friction_loss": losses if any(losses) else None,
        }

    def _friction(self, mate: Object, name: str) -> float:
        try:
            friction = friction_of(mate, name)
        except Ignored as reason:
            self._ignore(mate.value(name), str(reason))
            return 0.0
        return 0.0 if isinstance(friction, tuple) else friction

    def add_mate(self, of: Object, kind: str, name: str, connectors: tuple[Object, ...]) -> None:
        """Add a mate by its name in the world, with any friction that depends on the direction."""
        self._mates.setdefault(connectors, []).append((of, kind))
        self._names[of], self._kinds[of] = name, kind
        for k, (_, friction) in enumerate(MOTIONS.get(kind, ())):
            try:
                found = friction_of(of, friction)
            except Ignored:
                continue
            if isinstance(found, tuple):
                fields: dict[str, Any] = {"type": "velocity", "damping": RIGID, "implicit": True, "force": found}
                self.actuators.append(Actuator(f"{name}#{k}", name=f"{name}/{friction}", place=place_of(of), **fields))

    def add_shaft(self, of: Object) -> tuple[RigidBody, MateConnector, Mate]:
        """Return a shaft as a body on a hinge of its system, with the connector of the system."""
        inertia = of.value("inertia").value("inertia")
        moment = SHAFT_INERTIA if isinstance(inertia, Undefined) else value_of(of.value("inertia"), "inertia")
        if moment <= 0.0:
            message = f"an inertia of {moment:g} kg m^2; it must be above zero"
            raise Fault(line_of(of.value("inertia"), "inertia"), message)
        kinematics, place = of.value("kinematics"), place_of(of)
        angle = value_of(kinematics, "angle") if kinematics.has("angle") else 0.0
        bearing = f"{of.name}.bearing"
        # The mass is arbitrary (1 kg per kg m^2): the shaft turns about its centre, so only the inertia matters.
        body = RigidBody(
            of.name,
            np.array(poses.IDENTITY),
            connectors=(MateConnector("axis"),),
            mass=moment,
            inertia=moment * np.eye(3),
            place=place,
        )
        ends = (bearing, f"{of.name}/axis")
        speeds = (value_of(kinematics, "velocity"),)
        mate = Mate(bearing, "hinge", ends, (angle,), speeds=speeds, snap=False, place=place)
        self._shafts[of] = f"{self.name(of)}.bearing"
        self._angles[self._shafts[of]] = angle
        return body, MateConnector(bearing, place=place), mate

    def add_shaft_actuator(self, of: Object) -> None:
        """Add a shaft actuator, which couples a mate to a shaft."""
        connector, mate = of.value("connector_1d"), of.value("mate_3d")
        shaft = self._shafts.get(connector.owner) if isinstance(connector, Object) and connector.owner else None
        if shaft is None or not isinstance(mate, Object) or mate not in self._names:
            self._ignore(of, f"{with_article(of.kind)} has no mate of the model or no shaft")
            return
        terms = ((self._names[mate], 1.0), (shaft, -1.0))
        self.transmissions.append(Transmission(self.name(of), terms, place=place_of(of)))

    def add_gripper(self, of: Object) -> None:
        """Add a vacuum gripper: one suction for each of its cups. Raises Fault."""
        vacuum, engaged = of.value("vacuum_system"), float(of.value("activated") is True)
        if not isinstance(vacuum, Object) or not vacuum.has("vacuum_level"):
            self._ignore(of, f"{with_article(of.kind)} without a vacuum_level holds nothing")
            return
        cups, name = of.objects("suction_cups"), self.name(of)
        for cup in cups:
            area = math.pi * value_of(cup, "lip_radius") ** 2
            made = Suction(
                name if len(cups) == 1 else f"{name}/{cup.name}",
                self.name(cup.value("body")),
                float(value_of(vacuum, "vacuum_level")) * ATMOSPHERE * area,
                engagement=engaged,
                place=place_of(of),
            )
            self.suction.append(made)
            self.grippers.setdefault(of, []).append(made.name)

    def refuse_ranges(self) -> None:
        """Report the ranges that limit no mate. Call this after all mates are added."""
        for pair, ranges in self._ranges.items():
            mates = [mate for each in (pair, pair[::-1]) for mate, _ in self._mates.get(each, ())]
            for of in ranges:
                if of not in self._limiting:
                    self._ignore(of, _without_effect(of, mates))

    def add(self, of: Object) -> None:
        """Add an interaction. Call this after the mates and shafts are added. Raises Fault."""
        if of.kind == INTERACTION_1DOF:  # a placeholder that more specific models replace
            return
        try:
            found = None if of in self.shifted else law_of(of)
            if found is None and of not in self.shifted:
                raise Ignored(f"{with_article(of.kind)} is not simulated")
            laws = {f"/{gear}": law for gear, law in shifted_gears(of).items()} if found is None else {"": found}
            for suffix, law in laws.items():
                terms = self._shaft_terms(of, law) if law.coordinate == "shafts" else self._mate_terms(of, law)
                self._drive(of, law, terms, suffix)
        except Ignored as reason:
            self._ignore(of, str(reason))

    def _mate_terms(self, of: Object, law: Law) -> Terms:
        connectors = tuple(of.objects("connectors"))
        mates = [(connectors, 1.0), (connectors[::-1], -1.0)]
        between = [(mate, kind, sign) for pair, sign in mates for mate, kind in self._mates.get(pair, ())]
        for mate, kind, sign in between:
            for k, (motion, _) in enumerate(MOTIONS.get(kind, ())):
                if motion == law.coordinate:
                    return ((f"{self._names[mate]}#{k}", sign),)
        raise Ignored(_without_effect(of, [mate for mate, _, _ in between]))

    def _shaft_terms(self, of: Object, law: Law) -> Terms:
        connectors = of.objects("connectors")
        shafts = [self._shafts.get(connector.owner) for connector in connectors if connector.owner is not None]
        if not shafts or None in shafts:
            raise Ignored(f"{with_article(of.kind)} is not between shafts of the model")
        coefficients = law.coefficients or (1.0, -1.0)
        needed = [len(coefficients)] if law.coefficients else [1, 2]
        if len(shafts) not in needed:
            allowed = " or ".join(map(str, needed))
            raise Fault(
                line_of(of, "connectors"), f"{with_article(of.kind)} has {allowed} connectors, found {len(shafts)}"
            )
        return tuple((str(shaft), factor) for shaft, factor in zip(shafts, coefficients, strict=False))

    def _drive(self, of: Object, law: Law, terms: Terms, suffix: str = "") -> None:
        name, place = f"{self.name(of)}{suffix}", place_of(of)
        enabled = of.value("enabled") is not False
        is_sum = len(terms) > 1 or terms[0][1] != 1.0
        if is_sum:
            self.transmissions.append(Transmission(name, terms, held=law.held and enabled, place=place))
        if law.held and not enabled:
            self._note(of, f"{with_article(of.kind)} that is not enabled couples nothing; it is ignored")
        if law.lock is not None and enabled:
            between = ((terms[-2][0], 1.0), (terms[-1][0], -1.0))
            self.transmissions.append(Transmission(f"{name}/lock", between, held=False, place=place))
            self.actuators.append(Actuator(f"{name}/lock", name=name, place=place, **law.lock))
        if law.actuator is None:
            return
        fields = dict(law.actuator)
        if not enabled:
            fields["engagement"] = 0.0
        if "damping" in fields and not fields["damping"] and not fields.get("stiffness"):
            raise Ignored(f"{with_article(of.kind)} without stiffness and damping has no effect")
        if law.coordinate == "shafts" and "stiffness" in fields:
            fields["target"] = sum(factor * self._angles[shaft] for shaft, factor in terms)
        joint = name if is_sum and not law.last_alone else terms[-1][0]
        self._driven[of] = Actuator(joint, force=capacity_of(of), name=name, place=place, **fields)
        self.actuators.append(self._driven[of])


def _without_effect(of: Object, mates: list[Object]) -> str:
    """Return why an interaction does not act on any mate between its connectors."""
    if mates:
        return f"{with_article(of.kind)} has no effect on {with_article(mates[0].kind)}"
    return f"{with_article(of.kind)} has no mate between its connectors; without one it is not simulated"
