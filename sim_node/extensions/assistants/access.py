"""Permissions of an assistant: the folder that it can access, whether it may fly, and the limits of flights."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

from sim_node.extensions.assistants.graph import ToolRefused


@dataclass(frozen=True)
class FlightLimits:
    """Limits of flights.

    Attributes:
        distance: Maximum distance from home, m.
        height: Maximum height above home, m.
        speed: Maximum ground speed, m/s.
    """

    distance: float = 100.0
    height: float = 50.0
    speed: float = 5.0


@dataclass(frozen=True)
class Access:
    """The permissions, which the user chooses on the command line.

    Attributes:
        folder: The folder for files and results. Files outside it are neither read nor written.
        flight: Whether simulated vehicles may be flown.
        real: Whether real vehicles may also be flown.
        code: Whether worlds in Python, which are programs, may be run.
        limits: The limits of flights.
    """

    folder: Path = field(default_factory=Path.cwd)
    flight: bool = False
    real: bool = False
    code: bool = False
    limits: FlightLimits = FlightLimits()

    def path(self, given: str) -> Path:
        """Return a path within the folder.

        Args:
            given: A path relative to the folder, or absolute.

        Returns:
            The path, resolved.

        Raises:
            ToolRefused: The path is invalid or leads out of the folder.
        """
        if not given or "\0" in given:
            raise ToolRefused(f"{given!r} is not a path")
        folder = self.folder.resolve()
        found = (folder / given).resolve()
        if not found.is_relative_to(folder):
            raise ToolRefused(f"{given!r} is outside the folder {folder}, which is all that tools may read and write")
        return found

    def new_path(self, given: str, suffixes: tuple[str, ...] = ()) -> Path:
        """Return a path within the folder that does not exist yet.

        Args:
            given: A path relative to the folder, or absolute.
            suffixes: Suffixes to choose from; empty for any.

        Returns:
            The path, resolved.

        Raises:
            ToolRefused: It exists, leads out of the folder, or has another suffix.
        """
        found = self.path(given)
        if suffixes and found.suffix not in suffixes:
            raise ToolRefused(f"{given!r}: a name that ends with {' or '.join(suffixes)} is needed")
        if found.exists():
            raise ToolRefused(f"{given!r} exists; tools overwrite nothing")
        return found

    def refuse_flight(self, vehicle: str, *, simulated: bool) -> None:
        """Refuse to fly a vehicle without permission.

        Args:
            vehicle: Its name.
            simulated: Whether it is simulated, which is the case if the graph has its ground truth.

        Raises:
            ToolRefused: The user has not allowed the flight.
        """
        if not self.flight:
            raise ToolRefused("flight commands are not allowed; the user allows them by --allow-flight")
        if not simulated and not self.real:
            raise ToolRefused(
                f"{vehicle} may be a real vehicle: no simulation on this graph publishes its truth; the user allows "
                "real vehicles by --allow-real-vehicles"
            )

    def refuse_target(self, east: float, north: float, up: float, speed: float | None) -> None:
        """Refuse a target beyond the limits.

        Args:
            east: Distance east of home, m.
            north: Distance north of home, m.
            up: Height above home, m.
            speed: Speed, m/s; None for the vehicle's own.

        Raises:
            ToolRefused: A number is not finite or beyond a limit; the message names the limit.
        """
        numbers = (east, north, up, *(() if speed is None else (speed,)))
        if not all(map(math.isfinite, numbers)):
            raise ToolRefused(f"numbers are needed, found {', '.join(map(str, numbers))}")
        limits, distance = self.limits, math.hypot(east, north)
        if distance > limits.distance:
            raise ToolRefused(f"{distance:g} m from home; the limit is {limits.distance:g} m (--max-distance)")
        if not 0.0 <= up <= limits.height:
            raise ToolRefused(f"{up:g} m above home; needs 0 to {limits.height:g} m (--max-height)")
        if speed is not None and not 0.0 < speed <= limits.speed:
            raise ToolRefused(f"{speed:g} m/s; needs above 0 and up to {limits.speed:g} m/s (--max-speed)")
