"""A battery: voltage, current and charge under a load, as a battery monitor measures them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from sim_node.names import prefixed
from sim_node.simulation.columns import Array
from sim_node.simulation.sensors.context import SensorContext
from sim_node.simulation.sensors.noise import Noise, Quantities
from sim_node.simulation.sensors.parameters import group, listing, parameter
from sim_node.simulation.sensors.registry import Channels, Measure, Message, SensorType, channels, sensor
from sim_node.simulation.sensors.truth import FrameState
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.declared import declared
from sim_node.world.joint_motion import driven_joints
from sim_node.world.model import Sensor, World
from sim_node.world.problems import quoted

# sensor_msgs/BatteryState.
_DISCHARGING, _NOT_CHARGING = 2, 3
# Voltage below which a battery is empty, V.
_EMPTY = 1e-3
_HOUR = 3600.0


@sensor("battery")
@declared
class Battery(SensorType):
    """Measures the voltage (V), current (A) and charge (Ah) of a battery that a load of constant power discharges.

    The voltage falls in a line with the charge q: open + slope (1 - q / capacity) - resistance i. The current i follows
    load / voltage with a time constant; all is integrated with the world's timestep. Loads begin at once, or with the
    first effort of an actuator of `joints`. An empty battery keeps its voltage, and stops nothing. The default is an
    assumption: four cells of lithium polymer, 3.5 V to 4.2 V.
    """

    rate: float = parameter(10.0, "Hz", "measurements per second", above=0.0)
    capacity: float = parameter(5.0, "Ah", "charge that it can hold", above=0.0, high=1e9)
    initial: float = parameter(1.0, "1", "share of the capacity that it holds at the start", low=0.0, high=1.0)
    open_voltage: float = parameter(16.8, "V", "voltage at full charge without a load", above=0.0, high=1e6)
    voltage_slope: float = parameter(-2.8, "V", "what is added to it without any charge", low=-1e6, high=1e6)
    resistance: float = parameter(0.02, "Ohm", "internal resistance", low=0.0, high=1e6)
    load: float = parameter(0.0, "W", "power of the load", low=0.0, high=1e9)
    smoothing: float = parameter(1.0, "s", "time constant of the current", above=0.0, high=1e6)
    joints: tuple[str, ...] = listing("joints whose first effort begins the load; by default it begins at once")
    voltage: Noise = group(Noise(), "V", "voltage")
    current: Noise = group(Noise(), "A", "current")

    channels: ClassVar = ("voltage", "current", "charge", "percentage", "status")
    units: ClassVar = ("V", "A", "Ah", "", "")

    def in_world(self, mounting: Sensor, world: World) -> Battery:
        """Return the sensor with the names of its joints. Raises ValueError for an unknown joint."""
        known, prefix = driven_joints(world), mounting.name.rpartition("/")[0]
        # An included file names them without its prefix.
        joints = tuple(name if name in known else prefixed(prefix, name) for name in self.joints)
        for name, joint in zip(self.joints, joints, strict=True):
            if joint not in known:
                raise ValueError(f"joints: there is no joint {quoted(name)}{did_you_mean(name, known)}")
        return replace(self, joints=joints)

    def quantities(self) -> Quantities:
        """Return the noise of voltage and current; the other channels have none."""
        return ((self.voltage, 1), (self.current, 1), *[(Noise(), 1)] * 3)

    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """Return a sensor_msgs/BatteryState, whose current is negative while it discharges."""
        fields = {
            "voltage": channels(0),
            "current": channels(1),
            "charge": channels(2),
            "percentage": channels(3),
            "power_supply_status": Channels(slice(4, 5), within=np.zeros(1, np.uint8)),
            "temperature": math.nan,
            "capacity": self.capacity,
            "design_capacity": self.capacity,
            "present": True,
        }
        return (Message("battery_state", "sensor_msgs/msg/BatteryState", fields),)

    @classmethod
    def measure(cls, sensors: Sequence[Battery], context: SensorContext) -> Measure:
        """Return the function that measures voltage, current, charge, percentage and status (S, 5)."""
        return _Discharge(sensors, context)


class _Discharge:
    """The channels of batteries (S, 5), from their current, charge and voltage at the last measurement."""

    def __init__(self, sensors: Sequence[Battery], context: SensorContext) -> None:
        def column(key: str) -> FloatArray:
            return np.array([getattr(each, key) for each in sensors])

        self._capacity, self._open, self._slope = column("capacity"), column("open_voltage"), column("voltage_slope")
        self._resistance, self._load = column("resistance"), column("load")
        self._step_ns = context.world.time.step_ns
        self._keep = np.minimum(self._step_ns * 1e-9 / column("smoothing"), 1.0)
        self._start = column("initial") * self._capacity
        self._efforts = [context.environment.joints(each.joints) if each.joints else None for each in sensors]
        self._current, self._charge, self._voltage = np.zeros((3, len(sensors)))
        self._began, self._time_ns = np.zeros(len(sensors), np.bool_), -1
        self.reset()

    def reset(self) -> None:
        self._current[:], self._charge[:], self._time_ns = 0.0, self._start, -1
        self._voltage[:] = self._open + self._slope * (1.0 - self._charge / self._capacity)
        self._began[:] = [efforts is None for efforts in self._efforts]

    def state(self) -> dict[str, Array]:
        before = np.full(len(self._charge), self._time_ns)
        return {
            "current": self._current, "charge": self._charge, "voltage": self._voltage, "began": self._began,
            "before_ns": before,
        }  # fmt: skip

    def restore(self, state: Mapping[str, Array]) -> None:
        self._current[:], self._charge[:], self._voltage[:] = (state[key] for key in ("current", "charge", "voltage"))
        self._began[:], self._time_ns = state["began"], int(state["before_ns"][0])

    def __call__(self, state: FrameState) -> FloatArray:
        before_ns, self._time_ns = self._time_ns, state.time_ns
        if before_ns >= 0:
            for _ in range(round((state.time_ns - before_ns) / self._step_ns)):
                self._discharge()
        for row, efforts in enumerate(self._efforts):
            if efforts is not None and not self._began[row]:
                self._began[row] = bool(efforts()[2].any())
        status = np.where(self._began, _DISCHARGING, _NOT_CHARGING)
        share = self._charge / self._capacity
        return np.stack([self._voltage, -self._current, self._charge, share, status], axis=1)

    def _discharge(self) -> None:
        """Advance by a timestep."""
        has = self._began & (np.abs(self._voltage) >= _EMPTY) & (self._charge >= 0.0)
        wanted = np.divide(self._load, self._voltage, out=np.zeros_like(self._load), where=has)
        self._current += np.where(has, self._keep * (wanted - self._current), 0.0)
        self._charge -= np.where(has, self._step_ns * 1e-9 * self._current / _HOUR, 0.0)
        used = 1.0 - self._charge / self._capacity
        self._voltage[:] = np.where(
            has, self._open + self._slope * used - self._resistance * self._current, self._voltage
        )
