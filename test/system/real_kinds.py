"""The real autopilots: how each is started, which vehicle of a world it gets, and the words that it is flown by.

They are too large to come with the project: PX4_DIR and ARDUPILOT_DIR name checkouts in which they are built for
software in the loop.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

LATITUDE, LONGITUDE, ALTITUDE = -35.363262, 149.165238, 584.0
# Height (m) of a quadrotor's base_link above the ground that it stands on; that of a rover is on the ground.
STANDS = 0.13
QUADROTOR = """
physics: {{integrator: euler, timestep: 0.001}}
bodies: [{{name: ground, geometry: [{{plane: true}}]}}]
vehicles:
  - name: v
    model: iris
    sensors: {sensors}
    pose: {{position: [0, 0, 0.13], rpy_deg: [0, 0, 90]}}
    autopilot: {{type: {kind}, instance: {instance}}}
"""
ROVER = """
physics: {{integrator: implicitfast, timestep: 0.002}}
ground: {{friction: 0.9}}
bases:
  - name: v
    model: rover
    transforms: truth
    sensors: {sensors}
    pose: {{rpy_deg: [0, 0, 90]}}
    autopilot: {{type: {kind}, instance: {instance}}}
"""


@dataclass(frozen=True)
class Kind:
    """How one of the autopilots is started, and the words that it is flown by.

    step: of the world (s). modes: of MAV_CMD_DO_SET_MODE. vehicle: as the world has it. base: the frame of its body.
    stands: the height of that above the ground that it stands on (m). program and defaults: of
    ArduPilot. environment: of PX4.
    """

    name: str
    directory: str
    step: float
    modes: dict[str, tuple[int, int]]
    vehicle: str = QUADROTOR
    stands: float = STANDS
    base: str = "v/base_link"
    program: str = ""
    defaults: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_px4(self) -> bool:
        return self.name == "px4"

    @property
    def label(self) -> str:
        return f"{self.name}-{'rover' if self.vehicle is ROVER else 'quadrotor'}"

    def command(self, instance: int, parameters: Path) -> list[str]:
        """Its command line. parameters: a file of ArduPilot's parameters; PX4 takes its own from its environment."""
        root = os.environ[self.directory]
        if self.is_px4:
            build = f"{root}/build/px4_sitl_default"
            return [f"{build}/bin/px4", "-i", str(instance), "-d", f"{build}/etc"]
        shipped = f"{root}/Tools/autotest/default_params"
        files = ",".join([*(f"{shipped}/{name}" for name in self.defaults), str(parameters)])
        return [
            f"{root}/build/sitl/bin/{self.program}", "--model", "JSON:127.0.0.1", "-I", str(instance), "--wipe",
            "--speedup", "20", "--home", f"{LATITUDE},{LONGITUDE},{ALTITUDE},0",
            "--defaults", files,
        ]  # fmt: skip

    def url(self, instance: int) -> str:
        return f"udpin:127.0.0.1:{14540 + instance}" if self.is_px4 else f"tcp:127.0.0.1:{5760 + 10 * instance}"


# PX4: main and sub modes (px4_custom_mode.h); ArduPilot: its mode numbers.
_PX4_MODES = {"mission": (4, 4), "land": (4, 6), "hold": (4, 3), "return": (4, 5)}
PX4 = Kind(
    "px4", "PX4_DIR", 0.004, _PX4_MODES, environment={"PX4_SYS_AUTOSTART": "10016", "PX4_SIM_MODEL": "none_iris"}
)
ARDUPILOT = Kind(
    "ardupilot", "ARDUPILOT_DIR", 0.001, {"hold": (4, 0), "mission": (3, 0), "land": (9, 0)},
    program="arducopter", defaults=("copter.parm", "copter-X.parm"),
)  # fmt: skip
# The x500 of PX4-gazebo-models, as PX4's own airframe for it has it; its outputs are those of our link.
X500 = Kind(
    "px4", "PX4_DIR", 0.004, _PX4_MODES,
    """
physics: {{integrator: euler, timestep: 0.001}}
bodies: [{{name: ground, geometry: [{{plane: true}}]}}]
include:
  - file: x500
    prefix: v
    pose: {{position: [0, 0, 0.227], rpy_deg: [0, 0, 90]}}
    autopilot: {{type: {kind}, instance: {instance}}}
""",
    stands=0.227, base="v/x500/base_link",
    environment={
        "PX4_SYS_AUTOSTART": "4001", "PX4_SIMULATOR": "none", "PX4_SIM_MODEL": "none_x500", "PX4_PARAM_SIM_GZ_EN": "0",
        **{f"PX4_PARAM_PWM_MAIN_FUNC{number}": str(100 + number) for number in range(1, 5)},
    },
)  # fmt: skip
# The iris of ardupilot_gazebo, which says itself that ArduPilot flies it; parameters as upstream starts it.
IRIS = Kind(
    "ardupilot", "ARDUPILOT_DIR", 0.001, {"hold": (4, 0), "mission": (3, 0), "land": (9, 0)},
    """
physics: {{integrator: euler, timestep: 0.001}}
bodies: [{{name: ground, geometry: [{{plane: true}}]}}]
include:
  - {{file: iris_with_ardupilot, prefix: v, pose: {{position: [0, 0, 0.195], rpy_deg: [0, 0, 90]}}}}
""",
    stands=0.195, base="v/iris_with_ardupilot/iris_with_standoffs/base_link",
    program="arducopter", defaults=("copter.parm", "gazebo-iris.parm"),
)  # fmt: skip
# A model with a name of its own is started by its simulator; this one is to wait for ours.
PX4_ROVER = Kind(
    "px4", "PX4_DIR", 0.004, _PX4_MODES, ROVER, 0.0,
    environment={
        "PX4_SYS_AUTOSTART": "50000", "PX4_SIMULATOR": "none", "PX4_SIM_MODEL": "none_rover",
        "PX4_PARAM_SIM_GZ_EN": "0", "PX4_PARAM_PWM_MAIN_FUNC1": "101", "PX4_PARAM_PWM_MAIN_FUNC2": "102",
    },
)  # fmt: skip
ARDUPILOT_ROVER = Kind(
    "ardupilot", "ARDUPILOT_DIR", 0.002, {"hold": (4, 0), "mission": (10, 0), "guided": (15, 0)}, ROVER, 0.0,
    program="ardurover", defaults=("rover.parm", "rover-skid.parm"),
)  # fmt: skip


def built(kind: Kind) -> Any:
    """A parameter of tests, skipped where it is not built."""
    missing = kind.directory not in os.environ
    return pytest.param(
        kind,
        id=kind.label,
        marks=pytest.mark.skipif(missing, reason=f"set {kind.directory} to a checkout with a SITL build"),
    )
