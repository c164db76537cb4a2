"""The flight itself: armed or not, in a mode, at a task; states in, motor commands out, on the simulator's clock."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sim_node.autopilot.axes import yaw_of
from sim_node.autopilot.builtin.geo_reference import MAX_DISTANCE, GeoReference
from sim_node.autopilot.builtin.mission import Mission
from sim_node.autopilot.builtin.modes import Mode
from sim_node.autopilot.builtin.tasks import Go, Hold, Land, Task, Tilt
from sim_node.autopilot.builtin.vehicle_parameters import VehicleParameters
from sim_node.control import Controller
from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray
from sim_node.geometry.kernel import kernel
from sim_node.geometry.pose_kernels import axes

# What motors do that are armed on the ground, of their speed.
IDLE = 0.1
# How high above home a return flies at least, m.
RETURN_HEIGHT = 5.0
INFO, NOTICE, WARNING, CRITICAL = 6, 5, 4, 2  # MAV_SEVERITY


class Refused(Exception):
    """What is not done, with the reason."""


class Flight:
    """One vehicle in flight or on the ground.

    states (1, 13): a row of the controller's states, of the centre of mass. position,
    velocity (3,): of base_link, ENU.
    reference (11,): the setpoint. time_us: the simulator's, 0 before it was heard. reached: the mission's item that was
    reached last, -1 for none. tell: takes a severity and a text for people; changed: is called when what is to outlive
    this process has changed.
    """

    def __init__(
        self, parameters: VehicleParameters, tell: Callable[[int, str], None] = lambda severity, text: None
    ) -> None:
        self.parameters, self.tell = parameters, tell
        self.changed: Callable[[], None] = lambda: None
        self.period = 1.0 / parameters.rate
        self.speed = parameters.speed
        limits = np.array([[parameters.max_speed, parameters.yaw_rate]])
        self._controller = Controller([parameters.airframe], limits, self.period, parameters.gravity)
        self.max_thrust = parameters.airframe.lift / parameters.airframe.mass
        self.states, self.position, self.velocity = np.zeros((1, 13)), np.zeros(3), np.zeros(3)
        self.reference, self.demands = np.zeros(11), np.zeros(5)
        self.commands = np.zeros(len(parameters.airframe.positions))
        self.time_us, self._began_us = 0, 0
        self.places = GeoReference(parameters)
        self.mission = Mission(parameters.mission or ())
        self._waits_for_mission = parameters.mission is not None
        self.armed, self.airborne, self.mode = False, False, Mode.HOLD
        self.task: Task = Hold()
        self._routine: Iterator[Task] = iter(())
        self.reached = -1
        self._centre = np.array(parameters.centre)
        self._running = np.ones(1, dtype=np.int64)

    # What it is told

    def arm(self) -> None:
        """Turns the motors on. Raises Refused."""
        if self.armed:
            return
        if not self.time_us:
            raise Refused("no state yet: the simulator has not been heard")
        x, y = self.tilt_of()
        if max(abs(x), abs(y)) > math.radians(45.0):
            raise Refused("leaning: it does not stand upright")
        self.armed = True
        self.places.home = (float(self.position[0]), float(self.position[1]), float(self.position[2]))
        self.tell(INFO, "armed")
        if self.mode in (Mode.RTL, Mode.LAND):
            self.mode = Mode.HOLD
        self._begin()

    def disarm(self, *, force: bool = False) -> None:
        """Turns the motors off. Raises Refused in the air, unless forced."""
        if self.armed and self.airborne and not force:
            raise Refused("in the air")
        if self.armed:
            self.armed = self.airborne = False
            self.tell(INFO, "disarmed")
            self._do(Hold())

    def set_mode(self, mode: Mode) -> None:
        """Raises Refused where the mode makes no sense now."""
        if mode is Mode.AUTO and not self.mission.items:
            raise Refused("no mission")
        if mode in (Mode.RTL, Mode.LAND) and not self.airborne:
            raise Refused("on the ground")
        if mode is not self.mode:
            self.tell(INFO, f"mode {mode.name}")
        self.mode = mode
        self._waits_for_mission = False
        self._begin()

    def take_off(self, height: float) -> None:
        """Straight up to a height above home, in GUIDED. Raises Refused."""
        if not self.armed:
            raise Refused("not armed")
        if self.airborne:
            raise Refused("in the air already")
        if not 0.0 < height <= MAX_DISTANCE:
            raise Refused(f"takeoff to {height:g} m; a height above 0 is needed")
        self.set_mode(Mode.GUIDED)
        self._do(Go(self.above(height), speed=self.speed))
        self.tell(INFO, f"takeoff to {height:g} m")

    def guide(self, task: Task) -> None:
        """What to do in GUIDED; nothing in other modes."""
        if self.mode is Mode.GUIDED:
            self._do(task)

    def fly_item(self, sequence: int) -> None:
        """The mission's next item is this one. Raises Refused."""
        if not 0 <= sequence < len(self.mission.items):
            raise Refused(f"no mission item {sequence}; there are {len(self.mission.items)}")
        self.mission.current = sequence
        self.mission.jumped.clear()
        if self.mode is Mode.AUTO:
            self._begin()
        self.changed()

    # What it does

    def step(
        self, time_us: int, position: FloatArray, attitude: FloatArray, velocity: FloatArray, rate: FloatArray
    ) -> FloatArray:
        """The commands (R,) for the next period: valid until the next call.

        position (3,) and attitude (4,) of base_link in the world (ENU), velocity (3,) along the world's axes; rate (3,)
        along the body's (FLU).
        """
        first = self.time_us == 0
        self.time_us = time_us
        self.position[:], self.velocity[:] = position, velocity
        observe(position, attitude, velocity, rate, self._centre, self.states[0])
        if first:
            self._began_us = time_us
            if not self.places.home:
                self.places.home = (float(position[0]), float(position[1]), float(position[2]))
            self._anchor()
        if self._waits_for_mission and time_us - self._began_us >= self.parameters.wait * 1e6:
            self._start_by_itself()
        if self.armed and not self.airborne and self.task.lifts(self):
            self._anchor()
            self.airborne = True
            self.changed()
        if not self.airborne:
            self.commands[:] = IDLE if self.armed else 0.0
            return self.commands
        if self.task.advance(self):
            self._next()
            if not self.airborne:
                self.commands[:] = 0.0
                return self.commands
        if self.task.direct:
            self._controller.turn(self.states, self.demands[None], self._running, self.commands)
        else:
            self._controller.fly(self.states, self.reference[None], self._running, self.commands)
        return self.commands

    def above(self, height: float) -> FloatArray:
        """The place at a height above home, straight above or below."""
        home = self.places.home or (0.0, 0.0, 0.0)
        return np.array([self.states[0, 0], self.states[0, 1], home[2] + height])

    def tilt_of(self) -> tuple[float, float]:
        """Roll and pitch, rad."""
        roll, pitch, _ = quaternions.to_rpy(self.states[0, 3:7]).tolist()
        return roll, pitch

    # What outlives a process

    def memory(self) -> dict[str, Any]:
        """What `take_back` goes on from."""
        return {
            "armed": self.armed,
            "airborne": self.airborne,
            "mode": int(self.mode),
            "home": self.places.home,
            "waits": self._waits_for_mission,
            "items": [dict(item) for item in self.mission.items],
            "current": self.mission.current,
            "jumped": list(self.mission.jumped.items()),
        }

    def take_back(self, memory: dict[str, Any]) -> None:
        """Goes on where another process was, from where the vehicle is by now: before the first step."""
        self.armed, self.airborne = memory["armed"], memory["airborne"]
        self.mode = Mode(memory["mode"])
        self.places.home = tuple(memory["home"]) if memory["home"] else None
        self._waits_for_mission = memory["waits"]
        self.mission = Mission(memory["items"], memory["current"])
        self.mission.jumped.update(memory["jumped"])
        self._begin()
        if self.airborne:
            self.tell(WARNING, f"started again in the air: {self.mode.name} goes on")

    def _start_by_itself(self) -> None:
        self._waits_for_mission = False
        try:
            self.arm()
            self.set_mode(Mode.AUTO)
        except Refused as refusal:
            self.tell(CRITICAL, f"mission not begun: {refusal}")

    def _begin(self) -> None:
        """The mode's routine from its beginning."""
        routines: dict[Mode, Callable[[], Iterator[Task]]] = {
            Mode.AUTO: lambda: self.mission.fly(self),
            Mode.RTL: self._return,
            Mode.LAND: lambda: iter((Land(),)),
        }
        self._routine = routines[self.mode]() if self.mode in routines and self.armed else iter(())
        self._do(next(self._routine, None) or Hold())
        self.changed()

    def _return(self) -> Iterator[Task]:
        home = self.places.home or (0.0, 0.0, 0.0)
        height = max(float(self.states[0, 2]), home[2] + RETURN_HEIGHT)
        for place in ((*self.states[0, :2].tolist(), height), (home[0], home[1], height)):
            yield Go(np.array(place), speed=self.speed)
        yield Land()

    def _do(self, task: Task) -> None:
        if self.task.direct and not task.direct:
            self._anchor()
        self.task = task

    def _next(self) -> None:
        """The present task is done."""
        if isinstance(self.task, Land):
            self.airborne = False
            next(self._routine, None)
            self.tell(INFO, "landed")
            self.disarm()
            self.changed()
            return
        task = next(self._routine, None)
        if task is not None:
            self._do(task)
        elif self.mode is Mode.AUTO:
            self.tell(INFO, "mission flown: holding")
            self.set_mode(Mode.HOLD)

    def _anchor(self) -> None:
        """The reference begins where the vehicle is, as fast as it is."""
        state = self.states[0]
        x, y, z, w = state[3:7].tolist()
        self.reference[:] = 0.0
        self.reference[:3], self.reference[3:6], self.reference[9] = state[:3], state[7:10], yaw_of(x, y, z, w)


@kernel(nogil=True, error_model="numpy")
def observe(
    position: FloatArray,
    attitude: FloatArray,
    velocity: FloatArray,
    rate: FloatArray,
    centre: FloatArray,
    state: FloatArray,
) -> None:
    """Writes state (13,), of the centre of mass at `centre` (3,) in the body, from what `Flight.step` is given."""
    x, y, z, w = attitude
    rows = axes(x, y, z, w)
    arm = np.empty(3)
    for i in range(3):
        a, b, c = rows[3 * i], rows[3 * i + 1], rows[3 * i + 2]
        arm[i] = a * centre[0] + b * centre[1] + c * centre[2]
        state[10 + i] = a * rate[0] + b * rate[1] + c * rate[2]
    wx, wy, wz = state[10], state[11], state[12]
    state[0], state[1], state[2] = position[0] + arm[0], position[1] + arm[1], position[2] + arm[2]
    state[3], state[4], state[5], state[6] = x, y, z, w
    state[7] = velocity[0] + wy * arm[2] - wz * arm[1]
    state[8] = velocity[1] + wz * arm[0] - wx * arm[2]
    state[9] = velocity[2] + wx * arm[1] - wy * arm[0]


def rehearse(parameters: VehicleParameters) -> None:
    """Flies a moment for nobody, so that all kernels are compiled before somebody waits for them."""
    flight = Flight(replace(parameters, mission=None))
    place, still, level = np.zeros(3), np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
    flight.step(1, place, level, still, still)
    flight.arm()
    flight.take_off(1.0)
    for task in (flight.task, Hold(), Tilt(level, (0.0, 0.0, 0.1), 0.5)):
        flight.guide(task)
        flight.step(2, place, level, still, still)
    flight.places.ellipsoid(flight.position)
    flight.places.local(0, *parameters.origin)
