"""Other names under which a bridge publishes and serves its vehicles: MAVROS', PX4's and ArduPilot's."""

from __future__ import annotations

from importlib import import_module
from typing import Any

ENU = "enu"
# The class of each, by the word of the parameter `names`; imported only if it is asked for, as it needs messages of
# others.
DIALECTS = {
    "mavros": "sim_node.ros.mavros.vehicles:MavrosVehicles",
    "px4": "sim_node.ros.px4.vehicles:Px4Vehicles",
    "ap": "sim_node.ros.ardupilot.vehicles:ApVehicles",
}
NAMES = (ENU, *DIALECTS)


def dialect(name: str) -> Any:
    """Return the class of a name of DIALECTS. Raises ImportError without the package of its messages."""
    module, _, attribute = DIALECTS[name].partition(":")
    return getattr(import_module(module), attribute)
