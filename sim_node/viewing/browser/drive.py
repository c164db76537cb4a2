"""A tab for manual control: a stick for bases and multirotors, sliders for actuated joints, and a stop button."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

import numpy as np

from sim_node.simulation import Loop, Refused
from sim_node.simulation.physics.handles import VehicleHandle
from sim_node.simulation.physics.joint_handles import JointHandle
from sim_node.viewing.browser.answering import answer
from sim_node.world.bases import Base
from sim_node.world.bodies import Body

# Defaults for bases without limits, m/s and rad/s, and for joints without limits, m or rad to either side.
SPEED, TURN, REACH = 1.0, 1.5, 3.141592653589793
# Maximum number of joint sliders.
MAX_JOINTS = 40


class Stick(NamedTuple):
    """Limits of a vehicle: its maximum speed and yaw rate, and whether it moves sideways, and up and down."""

    speed: float
    turn: float
    sideways: bool
    climbs: bool = False


class Range(NamedTuple):
    """The range of a joint's target, and the present target."""

    low: float
    high: float
    now: float


class Steering(Protocol):
    """Drives vehicles and joints of a run. Methods may be called from any thread, and raise the reason of a refusal."""

    def vehicles(self) -> Mapping[str, Stick]:
        """Return the bases and multirotors that can be driven, by name."""

    def joints(self) -> Mapping[str, Range]:
        """Return the actuated joints, by name, that are not part of a base's drive."""

    def drive(self, vehicle: str, ahead: float, left: float, up: float, turn: float) -> None:
        """Make a vehicle move at a velocity along its heading until the next command."""

    def move(self, joint: str, target: float) -> None:
        """Set the target of a joint."""

    def stop(self) -> None:
        """Make all vehicles brake, all multirotors hold their positions, and all joints stay in place."""


class LoopSteering:
    """The Steering of a run in a loop.

    Args:
        loop: The loop.
    """

    def __init__(self, loop: Loop) -> None:
        self._loop = loop

    def vehicles(self) -> Mapping[str, Stick]:
        """See Steering."""
        found = {}
        world = self._loop.simulation.world
        for base in world.of(Base):
            if base.autopilot is not None:
                continue  # which commands it at every step
            limits = base.limits
            speed, turn = min(limits.linear, 1e3), min(limits.angular, 1e3)
            sideways = base.shape.moves_sideways()
            found[base.name] = Stick(speed if speed < 1e3 else SPEED, turn if turn < 1e3 else TURN, sideways)
        for vehicle in world.vehicles:
            if vehicle.pilot is not None and vehicle.autopilot is None:
                found[vehicle.name] = Stick(vehicle.pilot.speed, vehicle.pilot.yaw_rate, sideways=True, climbs=True)
        return found

    def joints(self) -> Mapping[str, Range]:
        """See Steering."""
        world = self._loop.simulation.world
        driven = {joint for base in world.of(Base) for joints in base.joints.values() for joint in joints}
        limits = {body.name: body.limits for body in world.of(Body) if body.limits is not None}
        found: dict[str, Range] = {}
        for name, joint in self._loop.simulation.joints.items():
            if name in driven or name in found or not joint.targets:
                continue
            now, (low, high) = float(joint.target[0]), (-REACH, REACH)
            if "position" in joint.targets and name in limits:
                low, high = (float(np.clip(each, -1e3, 1e3)) for each in limits[name][0])
            found[name] = Range(min(low, now), max(high, now), now)
        return found

    def drive(self, vehicle: str, ahead: float, left: float, up: float, turn: float) -> None:
        """See Steering."""
        self._loop.call(lambda: self._vehicle(vehicle).cmd_vel(ahead, left, turn, linear_z=up, timeout=0.0))

    def move(self, joint: str, target: float) -> None:
        """See Steering."""

        def act() -> None:
            self._joint(joint).target = target

        self._loop.call(act)

    def stop(self) -> None:
        """See Steering. Joints with position actuators stay in place; other targets are set to 0."""

        def act() -> None:
            for vehicle in self.vehicles():
                self._vehicle(vehicle).cmd_vel()
            for name in self.joints():
                joint = self._joint(name)
                joint.target = joint.position if "position" in joint.targets else 0.0

        self._loop.call(act)

    def _vehicle(self, name: str) -> VehicleHandle:
        return self._loop.simulation.vehicles[name]

    def _joint(self, name: str) -> JointHandle:
        return self._loop.simulation.joints[name]


class DriveTab:
    """The tab. A vehicle moves while its sliders are off-centre. When a page is closed, its vehicles are stopped.

    Args:
        server: viser's server.
        steering: Drives vehicles and joints of the run.
    """

    def __init__(self, server: Any, steering: Steering) -> None:
        self._gui, self._steering = server.gui, steering
        # What each page drives
        self._pages: dict[int, set[str]] = {}
        stop = self._gui.add_button("Stop", color="red", hint="vehicles brake, joints stay where they are")
        stop.on_click(lambda event: answer(event, self._stop))
        self._folder: Any = None
        self._sliders: dict[str, list[Any]] = {}
        self._moved: dict[str, Any] = {}
        self._shown: tuple[Any, ...] = ()
        self.change()
        server.on_client_disconnect(lambda client: self._left(client.client_id))

    def change(self) -> None:
        """Follow a change of the world: add sliders for new vehicles and joints."""
        vehicles, joints = self._steering.vehicles(), dict(list(self._steering.joints().items())[:MAX_JOINTS])
        shown = (tuple(vehicles.items()), tuple((name, each.low, each.high) for name, each in joints.items()))
        if shown == self._shown:
            return
        self._shown = shown
        if self._folder is not None:
            self._folder.remove()
        self._sliders, self._moved = {}, {}
        self._folder = self._gui.add_folder("By hand", expand_by_default=True)
        with self._folder:
            for name, stick in vehicles.items():
                self._add_stick(name, stick)
            if joints:
                self._add_joints(joints)

    def _add_stick(self, name: str, stick: Stick) -> None:
        axes = {"ahead, m/s": stick.speed}
        axes |= {"left, m/s": stick.speed} if stick.sideways else {}
        axes |= {"up, m/s": stick.speed} if stick.climbs else {}
        axes |= {"turn, rad/s": stick.turn}
        with self._gui.add_folder(name):
            sliders = {label: self._gui.add_slider(label, -most, most, most / 50, 0.0) for label, most in axes.items()}
        self._sliders[name] = list(sliders.values())

        def drive(event: Any) -> None:
            if event.client_id is None:
                return  # reset by a stop
            values = {label.partition(",")[0]: slider.value for label, slider in sliders.items()}
            driven = self._pages.setdefault(event.client_id, set())
            (driven.add if any(values.values()) else driven.discard)(name)
            ahead, left, up, turn = (values.get(axis, 0.0) for axis in ("ahead", "left", "up", "turn"))
            answer(event, lambda: self._steering.drive(name, ahead, left, up, turn))

        for slider in sliders.values():
            slider.on_update(drive)

    def _add_joints(self, joints: Mapping[str, Range]) -> None:
        with self._gui.add_folder("Joints"):
            for name, (low, high, now) in joints.items():
                slider = self._moved[name] = self._gui.add_slider(name, low, high, max((high - low) / 500, 1e-6), now)
                slider.on_update(lambda event, name=name, slider=slider: self._move(event, name, slider))

    def _move(self, event: Any, name: str, slider: Any) -> None:
        if event.client_id is not None:
            answer(event, lambda: self._steering.move(name, slider.value))

    def _left(self, client: int) -> None:
        """Stop what a disconnected page was driving."""
        for name in self._pages.pop(client, ()):
            with suppress(Refused, KeyError):  # the run has ended, or a change has removed it
                self._steering.drive(name, 0.0, 0.0, 0.0, 0.0)
            self._centre(name)

    def _centre(self, name: str) -> None:
        for slider in self._sliders.get(name, ()):
            slider.value = 0.0

    def _stop(self) -> None:
        self._steering.stop()
        self._pages.clear()
        for name in self._sliders:
            self._centre(name)
        for name, each in self._steering.joints().items():
            if name in self._moved:
                slider = self._moved[name]
                slider.value = min(max(each.now, slider.min), slider.max)
