"""Gymnasium environments from worlds and small specs, and datasets of randomised runs.

`import sim_node.extensions.gym` registers the shipped environments with Gymnasium, where it is installed.
"""

import importlib.util

from sim_node.lazy import public

with public(__name__, Direction="RandomDirection"):
    from sim_node.extensions.gym.dataset import Recipe as Recipe
    from sim_node.extensions.gym.dataset import simulate as simulate
    from sim_node.extensions.gym.dataset import write_dataset as write_dataset
    from sim_node.extensions.gym.draws import RandomDirection as RandomDirection
    from sim_node.extensions.gym.draws import draw_of as draw_of
    from sim_node.extensions.gym.environment import Environment as Environment
    from sim_node.extensions.gym.interface import BodyAction as BodyAction
    from sim_node.extensions.gym.interface import ColumnSignal as ColumnSignal
    from sim_node.extensions.gym.interface import FrameSignal as FrameSignal
    from sim_node.extensions.gym.interface import JointAction as JointAction
    from sim_node.extensions.gym.interface import JointSignal as JointSignal
    from sim_node.extensions.gym.interface import SensorSignal as SensorSignal
    from sim_node.extensions.gym.interface import VehicleAction as VehicleAction
    from sim_node.extensions.gym.interface import VehicleSignal as VehicleSignal
    from sim_node.extensions.gym.loader import Dataset as Dataset
    from sim_node.extensions.gym.spec import Route as Route
    from sim_node.extensions.gym.spec import Spec as Spec
    from sim_node.extensions.gym.spec_file import load_spec as load_spec

if importlib.util.find_spec("gymnasium") is not None:
    from sim_node.extensions.gym.shipped import register

    register()
