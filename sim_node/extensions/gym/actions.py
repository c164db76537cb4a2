"""Actions of a spec, opened on a simulation, which apply an agent's numbers for one control step."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from sim_node.extensions.gym.interface import (
    BODY_ACTIONS,
    JOINT_ACTIONS,
    VEHICLE_ACTIONS,
    Action,
    BodyAction,
    JointAction,
    VehicleAction,
)
from sim_node.extensions.gym.readers import check_choice, multirotors, refuse, require
from sim_node.simulation import Simulation
from sim_node.simulation.control import Controller
from sim_node.simulation.physics import BodyHandle, VehicleHandle
from sim_node.simulation.physics.engine import records_of
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bounds import fault

Apply = Callable[[FloatArray], None]
# Limits of a multirotor that tracks setpoints: yaw rate, rad/s, and speed for position setpoints, m/s.
MAX_YAW_RATE, MAX_SPEED = 2.0, 5.0
_NO_ARM: FloatArray = np.zeros(3)


class Applied:
    """An action, opened on a simulation.

    Args:
        simulation: The run.
        action: The action.

    Attributes:
        apply: Applies numbers (size,), which hold until the next call.
        low: The lower limits (size,).
        high: The upper limits (size,).

    Raises:
        WorldError: The run lacks something that the action names, does not accept the command, or the range is empty.
    """

    def __init__(self, simulation: Simulation, action: Action) -> None:
        opened = {JointAction: _joint, BodyAction: _body, VehicleAction: _vehicle}[type(action)]
        size, self.apply = opened(simulation, action)
        low, high = (np.asarray(limit, dtype=np.float64) for limit in (action.low, action.high))
        for key, limit in (("low", low), ("high", high)):
            if limit.shape not in ((), (size,)) or not np.isfinite(limit).all():
                refuse(action.place, f"{key} {limit.tolist()} needs one finite number, or {size} of them")
        if not (low < high).all():
            refuse(action.place, f"low {low.tolist()} is not below high {high.tolist()}")
        self.low, self.high = (np.array(np.broadcast_to(limit, (size,))) for limit in (low, high))


def _joint(simulation: Simulation, action: Any) -> tuple[int, Apply]:
    check_choice("value", action.value, JOINT_ACTIONS, action.place)
    require("joint", action.joint, simulation.joints, action.place)
    if wrong := fault(f"{action.value} target", np.hstack([action.low, action.high])):
        refuse(action.place, f"low or high {wrong}")
    # Access the engine directly, as readers do. The checks of a handle would take longer than the rest of a step.
    record = records_of(simulation.engines, "joints")[action.joint]
    drive = record.drives.get(action.value)
    if drive is not None:
        return 1, lambda numbers: drive.set(float(numbers[0]))
    if action.value != "effort":
        listed = ", ".join(simulation.joints[action.joint].targets) or "none"
        refuse(action.place, f"joint {action.joint!r} has no {action.value} actuator (it has: {listed})")
    try:
        record.set_effort(np.zeros(record.qd_size))
    except ValueError as error:
        refuse(action.place, str(error))
    return record.qd_size, record.set_effort


def _body(simulation: Simulation, action: Any) -> tuple[int, Apply]:
    check_choice("value", action.value, BODY_ACTIONS, action.place)
    require("body", action.body, simulation.bodies, action.place)
    try:
        wrench = simulation.bodies[action.body].wrench
    except ValueError as error:
        refuse(action.place, str(error))
    row = {"force": wrench[:3], "torque": wrench[3:], "wrench": wrench}[action.value]

    def push(numbers: FloatArray) -> None:
        row[:] = numbers

    return len(row), push


def _vehicle(simulation: Simulation, action: Any) -> tuple[int, Apply]:
    check_choice("value", action.value, tuple(VEHICLE_ACTIONS), action.place)
    require("vehicle", action.vehicle, multirotors(simulation), action.place)
    handle = simulation.vehicles[action.vehicle]
    vehicle = next(each for each in simulation.world.vehicles if each.name == action.vehicle)
    if handle.piloted or vehicle.autopilot is not None:
        flown = "its pilot" if handle.piloted else "an autopilot"
        refuse(action.place, f"vehicle {action.vehicle!r} is flown by {flown}, which overwrites other commands")
    if action.value == "command":
        command = handle.command

        def spin(numbers: FloatArray) -> None:
            command[:] = numbers

        return len(command), spin
    try:
        tracker = Tracker(simulation, handle, simulation.bodies[vehicle.body], action.value)
    except ValueError as error:  # the rotors cannot control the vehicle
        refuse(action.place, str(error))
    simulation.connect(tracker)
    return len(VEHICLE_ACTIONS[action.value]), tracker.aim


class Tracker:
    """A co-simulator that makes a multirotor track a setpoint with the built-in controller at each step of the world.

    Args:
        simulation: The run.
        vehicle: The vehicle.
        body: Its body.
        kind: position, velocity or attitude, as in VehicleAction.
    """

    def __init__(self, simulation: Simulation, vehicle: VehicleHandle, body: BodyHandle, kind: str) -> None:
        step_ns = simulation.world.time.step_ns
        gravity = float(np.linalg.norm(simulation.world.physics.gravity))
        limits = np.array([[MAX_SPEED if kind == "position" else math.inf, MAX_YAW_RATE]])
        self.rate = Fraction(10**9, step_ns)
        self._controller = Controller([vehicle.airframe], limits, step_ns * 1e-9, gravity)
        self._lift = vehicle.airframe.lift / vehicle.airframe.mass
        self._vehicle, self._body, self._kind, self._centre = vehicle, body, kind, vehicle.centre
        self._off_centre = bool(vehicle.centre.any())
        self._goal: FloatArray | None = None
        self._state, self._setpoint, self._demand = np.zeros((1, 13)), np.zeros((1, 11)), np.zeros((1, 5))
        self._running = np.array([1])
        self._track = self._controller.flying(self._state, self._setpoint, self._running, vehicle.command)

    def aim(self, numbers: FloatArray) -> None:
        """Set the setpoint (4,) to track."""
        self._goal = np.array(numbers)
        self._fly()

    def send(self, step: int, time_ns: int) -> None:
        """Command the motors for the next step. At the start of a run there is no setpoint."""
        if step == 0:
            self._goal = None
            self._controller.integrals[:] = 0.0
        if self._goal is not None:
            self._fly()

    def receive(self) -> None:
        """Do nothing: commands are applied by `send`."""

    def interrupt(self) -> None:
        """Do nothing: it never waits."""

    def close(self) -> None:
        """Do nothing: it has no resources."""

    def _fly(self) -> None:
        assert self._goal is not None
        state, arm = self._state[0], _NO_ARM
        state[:7] = self._body.pose
        state[7:] = self._body.twist
        if self._off_centre:
            # The controller needs the motion of the centre of mass.
            arm = quaternions.rotate(state[3:7], self._centre)
            state[:3] += arm
            state[7:10] += np.cross(state[10:], arm)
        first, second, third, fourth = self._goal.tolist()
        if self._kind == "attitude":
            self._demand[0] = self._attitude(first, second, third, fourth, state[3:7])
            self._controller.turn(self._state, self._demand, self._running, self._vehicle.command)
            return
        setpoint = self._setpoint[0]
        if self._kind == "position":
            setpoint[:3] = np.array((first, second, third)) + arm
            setpoint[9] = fourth
        else:
            setpoint[:3], setpoint[3:6] = state[:3], (first, second, third)
            setpoint[9], setpoint[10] = _heading(state[3:7]), fourth
        self._track()

    def _attitude(self, roll: float, pitch: float, yaw_rate: float, thrust: float, now: FloatArray) -> FloatArray:
        """Return the demand (5,) for a roll and pitch at the current heading, and a fraction of the thrust."""
        yaw = _heading(now)
        # The body's z axis after Rz(yaw) Ry(pitch) Rx(roll).
        x, y, z = math.cos(roll) * math.sin(pitch), -math.sin(roll), math.cos(roll) * math.cos(pitch)
        axis = (x * math.cos(yaw) - y * math.sin(yaw), x * math.sin(yaw) + y * math.cos(yaw), z)
        return np.array([*(part * thrust * self._lift for part in axis), yaw, yaw_rate])


def _heading(turn: FloatArray) -> float:
    x, y, z, w = turn.tolist()
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
