"""The flight itself, or the drive: armed, in a mode, at a task, and what happens on the ground."""

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

# How often battery, fence and failsafes are looked at, on the simulator's clock.
_WATCH_US = 100_000


class Flight:
    """One vehicle in flight or on the ground.

    Attributes:
        craft: what its kind of vehicle does differently. airborne: whether it is in the air; a rover counts as that
            while it is armed, as for PX4's land detector.
        states: (1, 13), a row of the controller's states, of the centre of mass. position, velocity: (3,), of
            base_link, ENU. reference: (11,), the setpoint. time_us: the simulator's, 0 before its first message.
        mission, fence, rally: what was uploaded. fences: which kinds of limits of the geofence are enabled.
        reached: the mission's item that was reached last, -1 for none. finished: whether it was flown to its end.
        injected: failures that were injected by MAVLink.
        orders: how many orders other than setpoints have replaced what it was doing.
        measurements: the simulator's. settings: what parameters set. speed: of the flight, m/s; DO_CHANGE_SPEED changes
            it.
        report: shows a severity and a text to people. changed: called when what has to outlive this process has
            changed.
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
        # Where a take-off leads, as long as it is not done: height above home, position and yaw. Where a landing leads.
        self.climb: tuple[float, FloatArray | None, float] | None = None
        self._land_at: FloatArray | None = None
        self.reached, self.finished = -1, False
        self._centre = np.array(parameters.centre)

    # Commands

    def arm(self, reason: str = "external command") -> None:
        """Start the motors. Raises OrderRefused."""
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
        """Stop the motors. Raises OrderRefused in the air, unless forced."""
        if self.craft.flies and self.armed and self.airborne and not force:
            raise OrderRefused("in the air")
        if self.armed:
            self.armed = self.airborne = False
            self.climb = None
            self._ground.disarmed()
            self.report(INFO, self.dialect.texts.disarmed.format(reason=reason))
            self._do(self.craft.hold())

    def set_mode(self, mode: Mode) -> None:
        """Change the mode. Raises OrderRefused if it is impossible now, Unsupported if the dialect has none."""
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
            # As PX4's MissionFeasibilityChecker, which counts from 1.
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
        """Climb straight up, in the mode that the dialect has for it, then fly over a position.

        Args:
            height: above home, m; NaN for the settings'. over: (3,), ENU, m; None to stay. yaw: rad from east, or NaN.

        Raises:
            OrderRefused: not armed or in the wrong mode, where the dialect wants that; or in the air.
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
        """Land at a position (3,), ENU, m; None for straight down. Raises OrderRefused."""
        self._land_at = place
        self.set_mode(Mode.LAND)

    def guide(self, task: Task) -> None:
        """Change the task of the guided mode; nothing happens in other modes."""
        if self.mode is Mode.GUIDED:
            self._routine, self.climb = iter(()), None
            self._do(task)

    def go_to(
        self, goal: FloatArray, yaw: float = math.nan, speed: float | None = None, what: str = "Reposition"
    ) -> None:
        """Go to a position (3,), ENU, m, in the mode that the dialect has for it.

        Raises:
            OrderRefused: on the ground. Failed: outside of the geofence, unless the dialect drops such targets: the
                mode changes, and a text says of `what` that it is outside.
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
        """Return how far (m) a position (3,), ENU, is outside of each kind of enabled limits that it breaches."""
        return self.fence.breaches(place, self.fences, self.settings)

    def refuses_target(self, place: FloatArray) -> str:
        """Return what a target (3,), ENU, breaches, where the geofence is more than a warning; empty for nothing."""
        acts = self.settings.fence_action > Action.WARN or not self.dialect.drops_targets
        return self._outside(place) if acts else ""

    def within_fence(self, velocity: tuple[float, float, float]) -> tuple[float, float, float]:
        """Return a velocity, ENU, m/s, that ends before the geofence, where the dialect brakes there."""
        if self.dialect.drops_targets or self.mode is not Mode.GUIDED:
            return velocity
        settings = self.settings
        barriers = self.fence.barriers(self.reference[:3], self.fences, settings)
        return braked(velocity, barriers, settings.fence_margin, settings.acceleration)

    def enable_fence(self, kinds: int, *, enabled: bool) -> None:
        """Enable or disable kinds of limits of the geofence, until the next reboot."""
        self.fences = self.fences | kinds if enabled else self.fences & ~kinds
        self.changed()

    def _outside(self, place: FloatArray) -> str:
        """Return what a position breaches, as texts have it; empty for nothing."""
        found = self.breaches(place)
        what = " and ".join(self.dialect.fence_names[kind] for kind in found)
        return self.dialect.texts.fence_breached.format(what=what) if found else ""

    def drive_by_hand(self, throttle: float, turn: float) -> None:
        """Drive at parts of the largest speed and yaw rate, -1 to 1, turning counterclockwise, in the manual mode."""
        self._do(self.craft.by_hand(throttle, turn))

    def turn(self, task: Task, yaw: float) -> None:
        """Turn by a task of its own, or on the way to a position. Raises OrderRefused."""
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
        """Fly at a speed from now on, m/s, up to the vehicle's own; -2 for the settings', -1 or NaN to leave it."""
        if speed > 0.0:
            self.speed = min(speed, self.parameters.max_speed)
            if speed > self.speed:
                self.report(NOTICE, f"speed limited to {self.speed:g} m/s")
        elif speed == -2.0:
            self.speed = self.settings.speed

    def set_parameter(self, parameter: Parameter, value: float) -> None:
        """Set a parameter to a value without a fault."""
        parameter.write(self.settings, value)
        if parameter.setting == "speed":
            self.change_speed(self.settings.speed)
        elif parameter.setting == "fence_enabled":
            self.fences = ALL if value else 0
        self.changed()

    def set_home(self, place: FloatArray) -> None:
        """Set home to a position (3,), ENU, m."""
        self.places.home = float(place[0]), float(place[1]), float(place[2])
        self.fence = Fence(self.fence.items, self.places)
        self.changed()

    def fly_item(self, sequence: int) -> None:
        """Make an item the mission's next one; home stands for the item behind it. Raises OrderRefused."""
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
        """Store another mission; one that was being flown ends."""
        self.mission = Mission(items, first=int(self.dialect.home_first))
        self.reached, self.finished = -1, False
        if self.mode is Mode.MISSION:
            self.report(NOTICE, "another mission: holding")
            self.set_mode(Mode.HOLD)
        self.changed()

    def rewrite_mission(self, items: Sequence[Item]) -> None:
        """Store a mission of which some items have changed; it goes on where it is."""
        self.mission.items = tuple(items)
        self.changed()

    # Stepping

    def step(
        self, time_us: int, position: FloatArray, attitude: FloatArray, velocity: FloatArray, rate: FloatArray
    ) -> FloatArray:
        """Return the commands (R,), 0 to 1, for the next period: valid until the next call.

        Args:
            time_us: of the simulator's clock. position, attitude: (3,) and (4,) [x y z w] of base_link in ENU, m.
            velocity: (3,), along the axes of ENU, m/s. rate: (3,), along the body's (FLU), rad/s.
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
        """The commands of the present period; see `MultirotorCraft`."""
        return self.craft.commands

    def above(self, height: float) -> FloatArray:
        """Return the position at a height above home, m, straight above or below."""
        home = self.places.home or (0.0, 0.0, 0.0)
        return np.array([self.states[0, 0], self.states[0, 1], home[2] + height])

    # What happens by itself

    def _watch(self, time_us: int) -> None:
        """Look at the battery, the fence and the failsafes."""
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
            self.arm("mission start")
            self.set_mode(Mode.MISSION)
        except OrderRefused as refusal:
            self.report(CRITICAL, f"mission not begun: {refusal}")

    def begin(self) -> None:
        """Begin the mode's routine, from where the vehicle is."""
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
        place, self._land_at = self._land_at, None
        yield Land() if place is None else LandAt(place, self)

    def _return(self) -> Iterator[Task]:
        """Go to home, or to a rally point that is nearer."""
        home = self.places.home or (0.0, 0.0, 0.0)
        here = self.states[0, :2].tolist()
        goals = [(home[0], home[1], home[2] + self.settings.return_height), *rally_points(self.rally, self.places)]
        yield from self.craft.home(self, np.array(min(goals, key=lambda goal: math.dist(here, goal[:2]))))

    def _do(self, task: Task) -> None:
        if self.task.direct and not task.direct:
            self._anchor()
        self.task = task

    def _next(self) -> None:
        """Go on after the present task is done."""
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
        """Stand on the ground, armed."""
        self.airborne, self.climb = False, None
        self._routine = iter(())
        self._do(self.craft.hold())
        self.report(INFO, self.dialect.texts.landed)
        self.changed()

    def _stay(self) -> None:
        """Hold where the present task has led, to the last centimetre."""
        done = self.task
        self.set_mode(Mode.HOLD)
        if isinstance(done, Go) and self.craft.flies:
            self._do(Go(done.goal, done.yaw))

    @property
    def _at_rest(self) -> str:
        """Why a vehicle that is not under way refuses to go anywhere."""
        return "on the ground" if self.craft.flies else "not armed"

    def _anchor(self) -> None:
        """Begin the reference where the vehicle is, as fast as it is."""
        state = self.states[0]
        yaw = AttitudeEnu(state[3:7].tolist()).yaw
        self.reference[:] = 0.0
        self.reference[:3], self.reference[3:6], self.reference[9] = state[:3], state[7:10], yaw.radians
