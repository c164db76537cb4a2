"""Flight logic: arming, modes, tasks, and take-off and landing. Rovers use it, too."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from sim_node.autopilots.builtin.battery import FlightBattery
from sim_node.autopilots.builtin.dialect import (
    CRITICAL,
    INFO,
    NOTICE,
    Dialect,
    Failed,
    Mode,
    OrderRefused,
    Unsupported,
)
from sim_node.autopilots.builtin.failsafe import Failsafe
from sim_node.autopilots.builtin.fence import ALL, Fence, Item, braked, rally_points
from sim_node.autopilots.builtin.geo_reference import MAX_DISTANCE, GeoReference
from sim_node.autopilots.builtin.ground_watch import GroundWatch
from sim_node.autopilots.builtin.injected import BATTERY, OFF, Injected
from sim_node.autopilots.builtin.mission import Climb, LandAt, Mission, numbered
from sim_node.autopilots.builtin.multirotor import MultirotorCraft
from sim_node.autopilots.builtin.px4 import PX4
from sim_node.autopilots.builtin.rover import RoverCraft
from sim_node.autopilots.builtin.settings import Action, Parameter, Settings
from sim_node.autopilots.builtin.simulator import HilMeasurements
from sim_node.autopilots.builtin.state import observe
from sim_node.autopilots.builtin.tasks import Descend, Go, Hold, Land, Task
from sim_node.autopilots.builtin.vehicle_parameters import Chassis, VehicleParameters
from sim_node.spatial.frames import AttitudeEnu
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray

# Interval at which the battery, the geofence and the failsafes are checked, in simulation time.
_WATCH_US = 100_000


class Flight:
    """A vehicle in flight or on the ground.

    Attributes:
        craft: Behaviour of its kind of vehicle.
        armed: Whether it is armed.
        airborne: Whether it is in the air. A rover counts as airborne while it is armed, as in PX4's land detector.
        mode: Present mode.
        task: Present task.
        states: State (1, 13) of the centre of mass, as a row of the controller's states.
        position: Position (3,) of base_link, ENU, m.
        velocity: Velocity (3,) of base_link, ENU, m/s.
        reference: Setpoint (11,), a row of the controller's setpoints.
        demands: Demands (5,) of direct tasks: a row of the controller's demands, or a rover's twist [vx vy wz].
        time_us: Simulation time, us; 0 before the first message.
        period: Time between two steps, s.
        mission: Uploaded mission.
        fence: Uploaded geofence.
        rally: Uploaded rally points.
        fences: Enabled kinds of limits of the geofence, as bits.
        reached: Sequence number of the mission item that was reached last, -1 for none.
        finished: Whether the mission was flown to its end.
        climb: Pending take-off: height above home (m), position (3,) to fly to afterwards or None, yaw (rad); or None.
        injected: Failures injected by MAVLink.
        orders: Number of commands, other than setpoints, that have replaced the task.
        measurements: Measurements from the simulator.
        settings: Values of parameters.
        speed: Cruise speed, m/s, which DO_CHANGE_SPEED changes.
        report: Sends a text with a severity.
        changed: Called when state that must survive this process has changed.
    """

    def __init__(
        self,
        parameters: VehicleParameters,
        dialect: Dialect = PX4,
        report: Callable[[int, str], None] = lambda severity, text: None,
        settings: Settings | None = None,
        measurements: HilMeasurements | None = None,
    ) -> None:
        self.parameters, self.dialect, self.report = parameters, dialect, report
        self.settings = settings or Settings.of(parameters, dialect.defaults)
        self.measurements = measurements or HilMeasurements()
        self.changed: Callable[[], None] = lambda: None
        self.period = 1.0 / parameters.rate
        self.speed = self.settings.speed
        airframe = parameters.airframe
        self.states, self.position, self.velocity = np.zeros((1, 13)), np.zeros(3), np.zeros(3)
        self.reference, self.demands = np.zeros(11), np.zeros(5)
        self.craft: MultirotorCraft | RoverCraft
        if isinstance(airframe, Chassis):
            self.craft = RoverCraft(parameters, airframe)
        else:
            self.craft = MultirotorCraft(parameters, airframe, self.states, self.reference)
        self.time_us, self._began_us, self._watched_us = 0, 0, 0
        self.places = GeoReference(parameters)
        self.mission = Mission(numbered(parameters.mission or (), dialect), first=int(dialect.home_first))
        self.fence, self.rally = Fence((), self.places), tuple[Item, ...]()
        self.fences = ALL if self.settings.fence_enabled else 0
        self.battery, self.failsafe = FlightBattery(), Failsafe()
        self._ground, self.injected = GroundWatch(), Injected()
        self.waits_for_mission = parameters.mission is not None
        self.armed, self.airborne, self.mode = False, False, Mode.HOLD
        self.task: Task = self.craft.hold()
        self._routine: Iterator[Task] = iter(())
        self.orders = 0
        # A pending take-off; the position of a landing.
        self.climb: tuple[float, FloatArray | None, float] | None = None
        self._land_at: FloatArray | None = None
        self.reached, self.finished = -1, False
        self._centre = np.array(parameters.centre)

    # Commands

    def arm(self, reason: str = "external command") -> None:
        """Arm the motors.

        Raises:
            OrderRefused: The vehicle is not ready; the message says why.
        """
        if self.armed:
            return
        if not self.time_us:
            raise OrderRefused("no state yet: nothing was received from the simulator")
        roll, pitch, _ = quaternions.to_rpy(self.states[0, 3:7]).tolist()
        if max(abs(roll), abs(pitch)) > math.radians(45.0):
            raise OrderRefused(self.dialect.texts.arming_denied.format(reason="the vehicle does not stand upright"))
        if self.battery.remaining <= self.settings.battery_emergency:
            raise OrderRefused(self.dialect.texts.arming_denied.format(reason="the battery is empty"))
        if self.settings.fence_action is not Action.NONE and (what := self._outside(self.position)):
            raise OrderRefused(self.dialect.texts.arming_denied.format(reason=what))
        self.armed = True
        self.set_home(self.position)
        self.report(INFO, self.dialect.texts.armed.format(reason=reason))
        if self.mode in (Mode.RETURN, Mode.LAND) or (self.mode is Mode.TAKEOFF and self.climb is None):
            self.mode = Mode.HOLD
        if not self.craft.flies:
            self._anchor()
            self.airborne = True
        self.begin()

    def disarm(self, *, force: bool = False, reason: str = "external command") -> None:
        """Disarm the motors.

        Raises:
            OrderRefused: The vehicle is in the air, and `force` is not set.
        """
        if self.craft.flies and self.armed and self.airborne and not force:
            raise OrderRefused("in the air")
        if self.armed:
            self.armed = self.airborne = False
            self.climb = None
            self._ground.disarmed()
            self.report(INFO, self.dialect.texts.disarmed.format(reason=reason))
            self._do(self.craft.hold())

    def set_mode(self, mode: Mode) -> None:
        """Change the mode.

        Raises:
            Unsupported: The dialect does not have the mode.
            OrderRefused: The mode is not available now.
        """
        if mode not in self.dialect.modes:
            raise Unsupported(f"no mode {mode.name}" + ("" if self.craft.flies else ": a rover stays on the ground"))
        why = ""
        if mode is Mode.MISSION and self.mission.is_empty:
            why = "no mission"
        elif mode in (Mode.RETURN, Mode.LAND) and not self.airborne:
            why = self._at_rest
        elif self.failsafe.position_lost and self.craft.flies and mode is not Mode.LAND:
            why = "no valid position estimate"
        elif mode is Mode.TAKEOFF and self.airborne:
            why = "in the air already"
        elif mode is Mode.MISSION and self.dialect.drops_targets:
            # As in PX4's MissionFeasibilityChecker, which counts from 1.
            outside = (number for number, place in self.mission.places(self) if self._outside(place))
            why = next((f"Geofence violation for waypoint {number + 1}" for number in outside), "")
        if why:
            raise OrderRefused(self.dialect.texts.mode_refused.format(mode=self.dialect.modes[mode].name, reason=why))
        self.climb = (self.settings.takeoff_height, None, math.nan) if mode is Mode.TAKEOFF else None
        self._enter(mode)

    def _enter(self, mode: Mode) -> None:
        if mode is not self.mode:
            self.report(INFO, f"mode {self.dialect.modes[mode].name}")
        self.mode = mode
        self.failsafe.taken_over()
        self.waits_for_mission = False
        self.begin()

    def take_off(self, height: float = math.nan, over: FloatArray | None = None, yaw: float = math.nan) -> None:
        """Climb straight up in the dialect's take-off mode, then fly to a position.

        Args:
            height: Height above home, m; NaN for the default.
            over: Position (3,) to fly to, ENU, m; None to stay.
            yaw: Yaw from east, rad; NaN to keep it.

        Raises:
            Unsupported: The vehicle is a rover.
            OrderRefused: The height is not above 0, the vehicle is in the air, or the dialect requires that it is armed
                or in another mode.
        """
        if not self.craft.flies:
            raise Unsupported("a rover cannot take off")
        height = self.settings.takeoff_height if math.isnan(height) else height
        if not self.armed and not self.dialect.takes_off_when_armed:
            raise OrderRefused("not armed")
        if self.airborne:
            raise OrderRefused("in the air already")
        if self.dialect.takes_off_in and self.mode not in self.dialect.takes_off_in:
            needed = ", ".join(self.dialect.modes[mode].name for mode in self.dialect.takes_off_in)
            raise OrderRefused(f"the mode is {self.dialect.modes[self.mode].name}; {needed} is needed")
        if not 0.0 < height <= MAX_DISTANCE:
            raise OrderRefused(f"takeoff to {height:g} m; a height above 0 is needed")
        self.climb = height, over, yaw
        self._enter(self.dialect.takeoff_mode)
        self.report(INFO, f"takeoff to {height:g} m" + ("" if self.armed else " as soon as it is armed"))

    def land(self, place: FloatArray | None = None) -> None:
        """Land at a position (3,), ENU, m; None to land straight down.

        Raises:
            Unsupported: The vehicle is a rover.
            OrderRefused: The vehicle is not in the air.
        """
        self._land_at = place
        try:
            self.set_mode(Mode.LAND)  # which begins the landing
        finally:
            self._land_at = None

    def guide(self, task: Task) -> None:
        """Change the task in guided mode. Ignored in other modes."""
        if self.mode is Mode.GUIDED:
            self._routine, self.climb = iter(()), None
            self._do(task)

    def go_to(
        self, goal: FloatArray, yaw: float = math.nan, speed: float | None = None, what: str = "Reposition"
    ) -> None:
        """Go to a position in the dialect's mode for repositioning.

        A dialect that drops targets outside of the geofence changes the mode all the same, and sends a text.

        Args:
            goal: Position (3,), ENU, m.
            yaw: Yaw from east, rad; NaN to keep it.
            speed: Speed, m/s; None for the cruise speed.
            what: Name of the command in that text.

        Raises:
            Failed: The target is outside of the geofence, and the dialect does not drop it.
            OrderRefused: The vehicle is on the ground, or a rover is disarmed.
        """
        if not self.airborne:
            raise OrderRefused(self._at_rest)
        if outside := self.refuses_target(goal):
            if not self.dialect.drops_targets:
                raise Failed(f"the target is outside of the geofence: {outside}")
            if self.mode is not self.dialect.goto_mode:
                self.set_mode(self.dialect.goto_mode)
            self.report(CRITICAL, f"{what} is outside geofence")
            return
        self.set_mode(self.dialect.goto_mode)
        self._do(self.craft.go(goal, yaw, speed=None if speed is None else min(speed, self.parameters.max_speed)))

    def breaches(self, place: FloatArray) -> dict[int, float]:
        """Return by how much (m) a position (3,), ENU, breaches each enabled kind of limits, for those it breaches."""
        return self.fence.breaches(place, self.fences, self.settings)

    def refuses_target(self, place: FloatArray) -> str:
        """Return which limits a target (3,), ENU, breaches; empty for none.

        In a dialect that drops targets, it is empty, too, if the geofence only warns.
        """
        acts = self.settings.fence_action > Action.WARN or not self.dialect.drops_targets
        return self._outside(place) if acts else ""

    def within_fence(self, velocity: tuple[float, float, float]) -> tuple[float, float, float]:
        """Reduce a velocity, ENU, m/s, so that it stops before the geofence, in dialects that brake there."""
        if self.dialect.drops_targets or self.mode is not Mode.GUIDED:
            return velocity
        settings = self.settings
        barriers = self.fence.barriers(self.reference[:3], self.fences, settings)
        return braked(velocity, barriers, settings.fence_margin, settings.acceleration)

    def enable_fence(self, kinds: int, *, enabled: bool) -> None:
        """Enable or disable kinds of limits of the geofence until the next reboot."""
        self.fences = self.fences | kinds if enabled else self.fences & ~kinds
        self.changed()

    def _outside(self, place: FloatArray) -> str:
        """Return the text about the limits that a position breaches; empty for none."""
        found = self.breaches(place)
        what = " and ".join(self.dialect.fence_names[kind] for kind in found)
        return self.dialect.texts.fence_breached.format(what=what) if found else ""

    def drive_by_hand(self, throttle: float, turn: float) -> None:
        """Drive in manual mode.

        Args:
            throttle: Fraction of the maximum speed, -1 to 1.
            turn: Fraction of the maximum yaw rate, -1 to 1, counterclockwise.
        """
        self._do(self.craft.by_hand(throttle, turn))

    def turn(self, task: Task, yaw: float) -> None:
        """Turn to a yaw: with a task, or on the way if the vehicle flies to a position.

        Args:
            task: Task that turns on the spot.
            yaw: Yaw from east, rad.

        Raises:
            OrderRefused: The vehicle is not under way, or the mode is neither hold nor guided.
        """
        if not self.airborne:
            raise OrderRefused(self._at_rest)
        if self.mode not in (Mode.HOLD, Mode.GUIDED):
            raise OrderRefused(f"not in {self.dialect.modes[self.mode].name}")
        self.orders += 1
        if isinstance(self.task, Go):
            self.task.yaw = yaw
        else:
            self._do(task)

    def change_speed(self, speed: float) -> None:
        """Change the cruise speed, m/s, up to the vehicle's maximum; -2 restores the default, -1 and NaN do nothing."""
        if speed > 0.0:
            self.speed = min(speed, self.parameters.max_speed)
            if speed > self.speed:
                self.report(NOTICE, f"speed limited to {self.speed:g} m/s")
        elif speed == -2.0:
            self.speed = self.settings.speed

    def set_parameter(self, parameter: Parameter, value: float) -> None:
        """Set a parameter to a value that has no `fault`."""
        parameter.write(self.settings, value)
        if parameter.setting == "speed":
            self.change_speed(self.settings.speed)
        elif parameter.setting == "fence_enabled":
            self.fences = ALL if value else 0
        self.changed()

    def set_home(self, place: FloatArray) -> None:
        """Set the home position (3,), ENU, m."""
        self.places.home = float(place[0]), float(place[1]), float(place[2])
        self.fence = Fence(self.fence.items, self.places)
        self.changed()

    def fly_item(self, sequence: int) -> None:
        """Make an item the mission's current one. Where item 0 is home, it stands for item 1.

        Raises:
            OrderRefused: The mission has no such item.
        """
        if sequence == 0 and not self.mission.is_empty:
            sequence = self.mission.first
        if not self.mission.first <= sequence < len(self.mission.items):
            raise OrderRefused(f"no mission item {sequence}; there are {len(self.mission.items)}")
        self.mission.current = sequence
        self.mission.jumped.clear()
        self.finished = False
        if self.mode is Mode.MISSION:
            self.begin()
        self.changed()

    def replace_mission(self, items: Sequence[Item]) -> None:
        """Replace the mission. If it was being flown, the vehicle holds."""
        self.mission = Mission(items, first=int(self.dialect.home_first))
        self.reached, self.finished = -1, False
        if self.mode is Mode.MISSION:
            self.report(NOTICE, "another mission: holding")
            self.set_mode(Mode.HOLD)
        self.changed()

    def rewrite_mission(self, items: Sequence[Item]) -> None:
        """Replace some items of the mission, which continues at its current item."""
        self.mission.items = tuple(items)
        self.changed()

    # Stepping

    def step(
        self, time_us: int, position: FloatArray, attitude: FloatArray, velocity: FloatArray, rate: FloatArray
    ) -> FloatArray:
        """Advance by one period.

        Args:
            time_us: Simulation time, us.
            position: Position (3,) of base_link, ENU, m.
            attitude: Attitude (4,) [x, y, z, w] of base_link (FLU) in ENU.
            velocity: Velocity (3,) of base_link, ENU, m/s.
            rate: Angular velocity (3,) in the body's axes (FLU), rad/s.

        Returns:
            Motor commands (R,) for the next period; see `MultirotorCraft`. The array is valid until the next call.
        """
        first = self.time_us == 0
        self.time_us = time_us
        self.position[:], self.velocity[:] = position, velocity
        rate = self.injected.gyroscope(rate)
        observe(position, attitude, velocity, rate, self._centre, self.states[0])
        if first:
            self._began_us = time_us
            if not self.places.home:
                self.places.home = (float(position[0]), float(position[1]), float(position[2]))
            self._anchor()
        if self.waits_for_mission and time_us - self._began_us >= self.parameters.wait * 1e6:
            self._start_by_itself()
        if time_us - self._watched_us >= _WATCH_US or time_us < self._watched_us:
            self._watch(time_us)
        if self.armed and not self.airborne and self.task.lifts(self):
            self._anchor()
            self.airborne = True
            self.report(INFO, self.dialect.texts.takeoff)
            self.changed()
        if self.airborne:
            if self.task.advance(self):
                self._next()
            elif self.craft.flies and self._ground.has_landed(self):
                self._touch_down()
        elif self.armed and (reason := self._ground.reason_to_disarm(self)):
            self.disarm(reason=reason)
        if self.airborne:
            self.craft.command(self)
        else:
            self.craft.stand(armed=self.armed)
        self.injected.motors(self.commands)
        return self.commands

    @property
    def commands(self) -> FloatArray:
        """Motor commands of the present period; see `MultirotorCraft`."""
        return self.craft.commands

    def above(self, height: float) -> FloatArray:
        """Return the position (3,), ENU, at a height above home, m, vertically above or below the vehicle."""
        home = self.places.home or (0.0, 0.0, 0.0)
        return np.array([self.states[0, 0], self.states[0, 1], home[2] + height])

    # Automatic behaviour

    def _watch(self, time_us: int) -> None:
        """Check the battery, the geofence and the failsafes."""
        seconds = (time_us - self._watched_us) * 1e-6 if 0 < self._watched_us < time_us else 0.0
        self._watched_us = time_us
        if self.injected.type_of(BATTERY) == OFF:
            self.battery.remaining = 0.0
        self.battery.failed = self.measurements.failed_cells
        percent = int(100.0 * self.battery.remaining)
        self.battery.drain(self.craft.load(), min(seconds, 1.0), self.settings)
        if int(100.0 * self.battery.remaining) != percent:
            self.changed()
        self.failsafe.watch(self)
        if self.armed and self.battery.remaining <= 0.0:
            self.report(CRITICAL, self.dialect.texts.battery_empty)
            self.disarm(force=True, reason="empty battery")

    def _start_by_itself(self) -> None:
        self.waits_for_mission = False
        try:
            self.set_mode(Mode.MISSION)  # first, so that a vehicle whose mission is refused stays disarmed
            self.arm("mission start")
        except OrderRefused as refusal:
            self.report(CRITICAL, f"mission not begun: {refusal}")

    def begin(self) -> None:
        """Begin the mode's sequence of tasks from the present state."""
        routines: dict[Mode, Callable[[], Iterator[Task]]] = {
            Mode.MISSION: self._fly_mission,
            Mode.RETURN: self._return,
            Mode.LAND: self._land,
            self.dialect.takeoff_mode: self._take_off,
        }
        self.orders += 1
        self._routine = routines[self.mode]() if self.mode in routines and self.armed else iter(())
        self._do(next(self._routine, None) or self.craft.hold())
        self.changed()

    def _fly_mission(self) -> Iterator[Task]:
        self.finished = False
        if self.mission.current == self.mission.first:
            self.speed = self.settings.speed
        yield from self.mission.fly(self)

    def _take_off(self) -> Iterator[Task]:
        if self.climb is not None:
            height, over, yaw = self.climb
            yield Climb(self.above(height), over, yaw)
            self.climb = None

    def _land(self) -> Iterator[Task]:
        if self.failsafe.position_lost:
            yield Descend()
            return
        yield Land() if self._land_at is None else LandAt(self._land_at, self)

    def _return(self) -> Iterator[Task]:
        """Return to home, or to a rally point that is nearer."""
        home = self.places.home or (0.0, 0.0, 0.0)
        here = self.states[0, :2].tolist()
        goals = [(home[0], home[1], home[2] + self.settings.return_height), *rally_points(self.rally, self.places)]
        yield from self.craft.home(self, np.array(min(goals, key=lambda goal: math.dist(here, goal[:2]))))

    def _do(self, task: Task) -> None:
        if self.task.direct and not task.direct:
            self._anchor()
        self.task = task

    def _next(self) -> None:
        """Continue after the present task is done."""
        if isinstance(self.task, Land):
            next(self._routine, None)
            self.finished = self.mode is Mode.MISSION
            self._touch_down()
            if self.mode in self.dialect.disarms_after:
                self.disarm(reason="landing")
                self.changed()
            return
        task = next(self._routine, None)
        if task is not None:
            self._do(task)
        elif self.mode is Mode.MISSION:
            self.finished = True
            self.report(INFO, self.dialect.texts.mission_finished)
            self._stay()
        elif self.mode is Mode.TAKEOFF:
            self._stay()
        elif self.mode is Mode.RETURN:
            self.report(INFO, "home is reached")
            self._do(self.craft.hold())
        elif isinstance(self.task, Hold) and self.mode in (Mode.HOLD, Mode.GUIDED):
            self._do(self.craft.hold())

    def _touch_down(self) -> None:
        """Stand on the ground, still armed."""
        self.airborne, self.climb = False, None
        self._routine = iter(())
        self._do(self.craft.hold())
        self.report(INFO, self.dialect.texts.landed)
        self.changed()

    def _stay(self) -> None:
        """Hold at the exact goal of the task that is done."""
        done = self.task
        self.set_mode(Mode.HOLD)
        if isinstance(done, Go) and self.craft.flies:
            self._do(Go(done.goal, done.yaw))

    @property
    def _at_rest(self) -> str:
        """Why a vehicle that is not under way refuses to move."""
        return "on the ground" if self.craft.flies else "not armed"

    def _anchor(self) -> None:
        """Restart the setpoint at the vehicle's present position, velocity and yaw."""
        state = self.states[0]
        yaw = AttitudeEnu(state[3:7].tolist()).yaw
        self.reference[:] = 0.0
        self.reference[:3], self.reference[3:6], self.reference[9] = state[:3], state[7:10], yaw.radians
