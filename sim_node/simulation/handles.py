"""Handles of a run by name: its bodies, joints, vehicles and signals, and the latest measurement of each sensor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from sim_node.simulation.physics import BodyHandle, Engine, JointHandles, VehicleHandle
from sim_node.simulation.physics.engine import Signalled, records_of
from sim_node.simulation.physics.handles import Handles, NamedHandle
from sim_node.simulation.physics.signal_handles import SignalHandle
from sim_node.simulation.sensors import SensorType
from sim_node.simulation.sensors.suite import SensorRecord, Suite


class SensorHandle(NamedHandle[SensorRecord]):
    """Handle of a sensor of a run: its latest measurement, as of the end of the last step.

    A measurement becomes the latest one when it is published, after its latency. A reset clears it; a restore brings
    back the one that was the latest.

    Attributes:
        name: The sensor's name, which is also its frame's.
    """

    __slots__ = ()

    @property
    def type(self) -> str:
        """Its type, as in world files."""
        return self._present.group.kind

    @property
    def together(self) -> tuple[str, ...]:
        """The sensors that measure together with it, itself among them."""
        return self._present.group.names

    @property
    def sensor(self) -> SensorType:
        """Its parameters."""
        return self._present.group.sensors[self._present.row]

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the numbers of a measurement, or of each of its points or pixels."""
        return self._present.group.type.channels

    @property
    def stamp_ns(self) -> int | None:
        """When it was measured, ns of simulation time; None before the first."""
        newest = self._present.bank.newest
        return int(newest.stamps_ns[-1]) if len(newest.stamps_ns) else None

    def newest_by(self, step: int) -> npt.NDArray[Any] | None:
        """Return the latest values that are due by a step, for co-simulators, which run before they are published.

        Args:
            step: The current step.

        Returns:
            Values as in `values`; images only once they are published.
        """
        values = self._present.bank.newest_by(step)
        return None if values is None else values[self._present.row]

    @property
    def values(self) -> npt.NDArray[Any] | None:
        """The values, in the shape, units and axes of its type, read-only; None before the first measurement."""
        newest = self._present.bank.newest
        if not len(newest.stamps_ns):
            return None
        values: npt.NDArray[Any] = newest.values[-1, self._present.row]
        values.flags.writeable = False
        return values


class RunHandles:
    """The handles of a run. They look up the entities that they name in the present generation.

    Attributes:
        bodies: Handles of bodies by name.
        joints: Handles of joints by name.
        vehicles: Handles of vehicles by name.
        sensors: Handles of sensors by name.
        signals: Handles of signals by name.
    """

    def __init__(self) -> None:
        kinds = ("bodies", "joints", "vehicles", "sensors", "signals")
        self._records: dict[str, dict[str, Any]] = {kind: {} for kind in kinds}
        self.bodies: Mapping[str, BodyHandle] = Handles("body", self._records["bodies"], BodyHandle)
        self.joints = JointHandles(self._records["joints"])
        self.vehicles: Mapping[str, VehicleHandle] = Handles("vehicle", self._records["vehicles"], VehicleHandle)
        self.sensors: Mapping[str, SensorHandle] = Handles("sensor", self._records["sensors"], SensorHandle)
        self.signals: Mapping[str, SignalHandle] = Handles("signal", self._records["signals"], SignalHandle)

    def offer(self, engines: Mapping[str, Engine], suite: Suite) -> None:
        """Make all handles look up their records in these engines and sensors."""
        for kind in ("bodies", "joints", "vehicles"):
            self._records[kind].clear()
            self._records[kind].update(records_of(engines, kind))
        self._records["signals"].clear()
        for engine in engines.values():
            if isinstance(engine, Signalled):
                self._records["signals"].update(engine.signals)
        self._records["sensors"].clear()
        self._records["sensors"].update(suite.records())
