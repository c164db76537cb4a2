"""Gymnasium environments from worlds and small specs, and datasets of randomised runs.

`import sim_node.gym` registers the shipped environments with Gymnasium, where it is installed.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from sim_node.lazy import public

if TYPE_CHECKING:
    from sim_node.gym.dataset import Recipe, simulate, write_dataset
    from sim_node.gym.draws import Direction, draw_of
    from sim_node.gym.environment import Environment
    from sim_node.gym.interface import (
        BodyAction,
        ColumnSignal,
        FrameSignal,
        JointAction,
        JointSignal,
        SensorSignal,
        VehicleAction,
        VehicleSignal,
    )
    from sim_node.gym.loader import Dataset
    from sim_node.gym.route import Route
    from sim_node.gym.spec import Spec
    from sim_node.gym.spec_file import load_spec

__all__ = [
    "BodyAction",
    "ColumnSignal",
    "Dataset",
    "Direction",
    "Environment",
    "FrameSignal",
    "JointAction",
    "JointSignal",
    "Recipe",
    "Route",
    "SensorSignal",
    "Spec",
    "VehicleAction",
    "VehicleSignal",
    "draw_of",
    "load_spec",
    "simulate",
    "write_dataset",
]

__getattr__, __dir__ = public(
    __name__,
    {
        "BodyAction": "interface",
        "ColumnSignal": "interface",
        "Dataset": "loader",
        "Direction": "draws",
        "Environment": "environment",
        "FrameSignal": "interface",
        "JointAction": "interface",
        "JointSignal": "interface",
        "Recipe": "dataset",
        "Route": "route",
        "SensorSignal": "interface",
        "Spec": "spec",
        "VehicleAction": "interface",
        "VehicleSignal": "interface",
        "draw_of": "draws",
        "load_spec": "spec_file",
        "simulate": "dataset",
        "write_dataset": "dataset",
    },
)

if importlib.util.find_spec("gymnasium") is not None:
    from sim_node.gym.shipped import register

    register()
