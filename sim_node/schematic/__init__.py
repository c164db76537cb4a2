"""Schematics: what is drawn of a world and how panels are laid out, in KDL or from Python, with formulas (EQL)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_node.lazy import public

if TYPE_CHECKING:
    from sim_node.schematic.binding import Scope, Signal, UnknownName, bound, bound_pose
    from sim_node.schematic.eql import EqlFault, Formula, formula
    from sim_node.schematic.model import (
        GlbModel,
        GraphPanel,
        LiveEllipsoid,
        Object3d,
        Schematic,
        Solid,
        Split,
        Tabs,
        Viewport,
    )
    from sim_node.schematic.reader import read_schematic

__all__ = [
    "EqlFault",
    "Formula",
    "GlbModel",
    "GraphPanel",
    "LiveEllipsoid",
    "Object3d",
    "Schematic",
    "Scope",
    "Signal",
    "Solid",
    "Split",
    "Tabs",
    "UnknownName",
    "Viewport",
    "bound",
    "bound_pose",
    "formula",
    "read_schematic",
]

__getattr__, __dir__ = public(
    __name__,
    {
        "EqlFault": "eql",
        "Formula": "eql",
        "GlbModel": "model",
        "GraphPanel": "model",
        "LiveEllipsoid": "model",
        "Object3d": "model",
        "Schematic": "model",
        "Scope": "binding",
        "Signal": "binding",
        "Solid": "model",
        "Split": "model",
        "Tabs": "model",
        "UnknownName": "binding",
        "Viewport": "model",
        "bound": "binding",
        "bound_pose": "binding",
        "formula": "eql",
        "read_schematic": "reader",
    },
)
