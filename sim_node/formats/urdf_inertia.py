"""Inertias of URDF links as MuJoCo needs them: those of no body balanced, and links without mass carried along."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.massless import CARRIER_MASS, undefined_joints
from sim_node.world.mujoco_source import ModelSource
from sim_node.world.problems import Problem, WorldError
from sim_node.world.readers.numbers import as_number
from sim_node.world.readers.report import Report
from sim_node.world.readers.xml_elements import Element, XmlAttribute

if TYPE_CHECKING:
    from mujoco import MjSpec

MOMENTS, PRODUCTS = ("ixx", "iyy", "izz"), ("ixy", "ixz", "iyz")
# Relative to the largest moment: files round their numbers.
_ROUNDING = 1e-6
# Links in a message.
_NAMED = 5


def mend_inertials(root: Element, report: Report, *, balance: bool | None) -> list[str]:
    """Make the inertials of a robot's links such that MuJoCo takes them.

    A body's principal moments are positive, and none is above the sum of the others. Where they are not, all three
    become their mean, as with MuJoCo's balanceinertia. A point mass, and a link without mass that a joint moves, get
    nearly nothing; a mass of zero without inertia is as no inertial.

    Args:
        root: The robot.
        report: Where faults are recorded.
        balance: Whether inertias that no body has are replaced; None replaces them with a warning.

    Returns:
        The links without mass that joints move.
    """
    moved = {
        child.get("link") for joint in root.all("joint") if joint.get("type") != "fixed" for child in joint.all("child")
    }
    carriers: list[str] = []
    balanced: list[Element] = []
    for link in root.all("link"):
        for inertial in link.all("inertial"):
            inertia = next(iter(inertial.all("inertia")), None)
            matrix = None if inertia is None else _matrix(inertia)
            if inertia is None or matrix is None:
                continue
            mass = next((as_number(each.get("value")) for each in inertial.all("mass")), 0.0)
            if not matrix.any():
                if mass == 0.0:
                    link.children.remove(inertial)
                else:
                    _set_moments(inertia, CARRIER_MASS)
            elif not _is_of_a_body(matrix):
                _set_moments(inertia, max(float(np.trace(matrix)) / 3.0, CARRIER_MASS))
                balanced.append(link)
        if link.get("name") in moved and not link.all("inertial"):
            link.children.append(_carrier(link))
            carriers.append(link.get("name"))
    if balanced and not balance:
        names = ", ".join(link.get("name") for link in balanced[:_NAMED])
        names += f" and {len(balanced) - _NAMED} more" if len(balanced) > _NAMED else ""
        message = f"the inertia of {names} is that of no body: each principal moment is at most the sum of the others"
        at = balanced[0].all("inertial")[0].at
        if balance is None:
            report.warning(f"{message}; all three are set to their mean (balance_inertia)", at, "inertia")
        else:
            report.error(f"{message}; mend it, or allow balance_inertia", at, "inertia")
    return carriers


def refuse_undefined(spec: MjSpec, source: ModelSource, carriers: list[str]) -> None:
    """Raise WorldError if what links without mass carry does not define how they move."""
    if not carriers:
        return
    model = spec.compile()
    bodies = [model.body(name).id for name in carriers]
    problems = []
    for joint in undefined_joints(model, model.qpos0, bodies):
        link = model.body(int(model.jnt_bodyid[joint])).name
        message = (
            f"{link}: it has no mass, and nothing that it carries defines how its joint {model.joint(joint).name} "
            "moves; give it an <inertial>, or make the joint fixed"
        )
        where = next((at for at, name in source.places if name == link), source.places[0][0])
        problems.append(Problem(where, "", message))
    if problems:
        raise WorldError(problems)


def _matrix(inertia: Element) -> FloatArray | None:
    """Return the inertia (3, 3) of an element, or None if a number is invalid, for which MuJoCo has a message."""
    xx, yy, zz = (as_number(inertia.get(key, "0")) for key in MOMENTS)
    xy, xz, yz = (as_number(inertia.get(key, "0")) for key in PRODUCTS)
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return matrix if np.isfinite(matrix).all() else None


def _is_of_a_body(matrix: FloatArray) -> bool:
    least, middle, most = np.linalg.eigvalsh(matrix).tolist()
    return bool(least > 0.0 and most <= (least + middle) * (1.0 + _ROUNDING))


def _set_moments(inertia: Element, moment: float) -> None:
    for key in (*MOMENTS, *PRODUCTS):
        at = inertia.attributes[key].at if key in inertia.attributes else inertia.at
        inertia.attributes[key] = XmlAttribute(repr(moment) if key in MOMENTS else "0", at)


def _carrier(link: Element) -> Element:
    moments = {**dict.fromkeys(MOMENTS, repr(CARRIER_MASS)), **dict.fromkeys(PRODUCTS, "0")}
    mass = link.beside("mass", value=repr(CARRIER_MASS))
    return link.beside("inertial", mass, link.beside("inertia", **moments))
