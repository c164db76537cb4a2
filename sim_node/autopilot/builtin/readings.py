"""What the simulator told last of the vehicle's sensors, in MAVLink's units."""

from __future__ import annotations

from typing import Any

MAGNETOMETER, BAROMETER = 0x1C0, 0x1A00


class Readings:
    """fix: of HIL_GPS. inertial, magnetic, air: of the HIL_SENSOR that had them last. None before the first."""

    def __init__(self) -> None:
        self.fix: Any = None
        self.inertial: Any = None
        self.magnetic: Any = None
        self.air: Any = None

    def take(self, fields: Any) -> None:
        """HIL_SENSOR."""
        self.inertial = fields
        if fields.fields_updated & MAGNETOMETER:
            self.magnetic = fields
        if fields.fields_updated & BAROMETER:
            self.air = fields
