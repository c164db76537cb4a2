"""Other naming schemes in which a bridge publishes and serves its vehicles: those of MAVROS, PX4 and ArduPilot."""

from __future__ import annotations

from importlib import import_module
from typing import Any

ENU = "enu"
# Class of each naming scheme, by its word in the parameter `names`. Imported only on demand, because each needs
# additional message packages.
DIALECTS = {
    "mavros": "sim_node.ros.mavros.vehicles:MavrosVehicles",
    "px4": "sim_node.ros.px4.vehicles:Px4Vehicles",
    "ap": "sim_node.ros.ardupilot.vehicles:ApVehicles",
}
NAMES = (ENU, *DIALECTS)


def dialect(name: str) -> Any:
    """Return the class of a naming scheme in DIALECTS. Raises ImportError if its message package is missing."""
    module, _, attribute = DIALECTS[name].partition(":")
    return getattr(import_module(module), attribute)
