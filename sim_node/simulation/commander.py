"""External commands to bodies and multirotors while a run steps, each valid for a limited time."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from copy import copy
from fractions import Fraction

import numpy as np

from sim_node.simulation import control  # its Controller needs numba, and few worlds need that
from sim_node.simulation.columns import Columns
from sim_node.simulation.latest_commands import CommandRefused, LatestCommands, Trials, Undone, warn_undone
from sim_node.simulation.simulation import Simulation
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean, shown
from sim_node.world.bounds import fault
from sim_node.world.commands import BodyCommands, VehicleCommands
from sim_node.world.problems import Place, Problem, WorldError, WorldWarning

# Maximum turn rate about the thrust axis while a multirotor follows a commanded attitude, rad/s.
MAX_YAW_RATE = 2.0


class Commander:
    """Applies commands to bodies and multirotors. Attach it to the simulation as a co-simulator.

    The methods that take commands may be called from any thread. A command takes effect at the next step, or when
    `drain` is called from the loop's thread. If there are several for one target, only the last one takes effect.

    Args:
        simulation: The run.
        undone: Called with a body and a reason when a command is undone because the next step would diverge.

    Raises:
        WorldError: A body cannot move, or the rotors of a vehicle cannot follow attitudes.
    """

    def __init__(self, simulation: Simulation, undone: Undone = warn_undone) -> None:
        self._trials, step_ns = Trials(simulation, undone), simulation.world.time.step_ns
        self.rate = Fraction(10**9, step_ns)
        self._simulation, self._step_s = simulation, step_ns * 1e-9
        self._bodies: dict[str, _Pushed] = {}
        self._vehicles: dict[str, _Flown] = {}
        self._find()
        self._received: LatestCommands[Callable[[float], None]] = LatestCommands()
        self._last_step = -1

    # For any thread

    def push(self, body: str, frame: str, wrench: FloatArray) -> None:
        """Apply a wrench to a body.

        Args:
            body: The body.
            frame: Frame along whose axes the wrench is given; empty for the fixed frame.
            wrench: Force and torque (6,) at the centre of mass, N and N m.

        Raises:
            CommandRefused: The frame does not exist, or a number is not finite or out of range.
        """
        if wrong := fault("wrench", wrench):
            raise CommandRefused(f"the wrench {wrench.tolist()} {wrong}")
        if frame and frame not in self._simulation.frames.names:
            raise CommandRefused(
                f"there is no frame {shown(frame)!r}{did_you_mean(frame, self._simulation.frames.names)}"
            )

        def begin(now: float) -> None:
            if (pushed := self._bodies.get(body)) is None:  # a change of the world has removed it
                return
            before, size = copy(pushed), float(np.abs(wrench).max())
            if self._trials.apply(body, size, lambda: pushed.begin(now, frame, wrench)):
                self._bodies[body] = before

        self._received.put(f"body {body}", begin)

    def spin(self, vehicle: str, speeds: FloatArray) -> None:
        """Command the rotor speeds (R,) of a vehicle, rad/s, in the order of the world.

        Raises:
            CommandRefused: The number of speeds is wrong, one is not finite or out of range, or the vehicle is gone.
        """
        flown = self._vehicles.get(vehicle)
        if flown is None:
            raise CommandRefused(f"the vehicle {vehicle!r} is gone")
        if speeds.shape != (flown.rotors,):
            raise CommandRefused(f"{speeds.size} speeds; the vehicle has {flown.rotors} rotors")
        if wrong := fault("speeds", speeds):
            raise CommandRefused(f"the speeds: {speeds.tolist()} {wrong}")

        def begin(now: float) -> None:
            if self._vehicles.get(vehicle) is flown:
                flown.spin(now, speeds)

        self._received.put(f"vehicle {vehicle}", begin)

    def turn(self, vehicle: str, orientation: FloatArray, thrust: float, age_s: float = 0.0) -> None:
        """Command the attitude and thrust of a vehicle.

        Args:
            vehicle: The vehicle.
            orientation: Quaternion (4,) [x y z w] of its body (FLU) in the fixed frame (ENU).
            thrust: Thrust as a fraction of that of all rotors at full speed, 0 to 1.
            age_s: Age of the command, s, by which its time-out is shortened.

        Raises:
            CommandRefused: The quaternion is not of unit length, or the thrust is out of range.
        """
        attitude = checked_attitude(orientation)
        checked_thrust(thrust)

        def begin(now: float) -> None:
            if (flown := self._vehicles.get(vehicle)) is not None:
                flown.turn(now - age_s, attitude, thrust)

        self._received.put(f"vehicle {vehicle}", begin)

    # For the loop's thread

    def adapt(self, columns: Columns) -> bool:
        """Adapt to a change of the world: drop commands to targets that it no longer describes, and add new targets."""
        try:
            self._find()
        except WorldError as error:
            warnings.warn(WorldWarning(f"not commanded: {error}"), stacklevel=2)
        return True

    def _find(self) -> None:
        """Keep the targets that the world describes, and add new ones. Raises WorldError."""
        simulation, world, step_s = self._simulation, self._simulation.world, self._step_s
        bodies = {each.body: each for each in world.of(BodyCommands)}
        vehicles = {each.vehicle: each for each in world.of(VehicleCommands)}
        self._bodies = {name: each for name, each in self._bodies.items() if name in bodies}
        self._vehicles = {name: each for name, each in self._vehicles.items() if name in vehicles}
        for name, body in bodies.items():
            if name not in self._bodies:
                self._bodies[name] = _Pushed(simulation, body, step_s)
        for name, vehicle in vehicles.items():
            if name not in self._vehicles:
                self._vehicles[name] = _Flown(simulation, vehicle, step_s)

    def drain(self) -> None:
        """Apply the commands received."""
        now = self._now()
        for begin in self._received.take().values():
            begin(now)

    def send(self, step: int, time_ns: int) -> None:
        """Apply the commands received, and update those that are still active for the next step."""
        if step < self._last_step:
            for target in self._targets():
                target.forget()
        self._last_step = step
        self.drain()
        now = self._now()
        for target in self._targets():
            target.hold(now)

    def receive(self) -> None:
        """Do nothing: commands are applied by `send`."""

    def interrupt(self) -> None:
        """Do nothing: it never waits."""

    def close(self) -> None:
        """Do nothing: it has no resources."""

    def _targets(self) -> list[_Pushed | _Flown]:
        return [*self._bodies.values(), *self._vehicles.values()]

    def _now(self) -> float:
        return self._simulation.steps * self._step_s


def checked_attitude(orientation: FloatArray) -> FloatArray:
    """Return a quaternion (4,) normalised. Raises CommandRefused if it is not of unit length within 1e-3."""
    if not (np.isfinite(orientation).all() and abs(float(np.linalg.norm(orientation)) - 1.0) <= 1e-3):
        raise CommandRefused(f"the quaternion {orientation.tolist()} is not of unit length")
    return np.asarray(orientation / np.linalg.norm(orientation))


def checked_thrust(thrust: float) -> float:
    """Return a thrust. Raises CommandRefused if it is not between 0 and 1."""
    if wrong := fault("thrust", thrust):
        raise CommandRefused(f"the thrust {thrust:g} {wrong}")
    return thrust


class _Pushed:
    """A body, and the wrench that acts on it. Times are in s since the start of the run."""

    def __init__(self, simulation: Simulation, commands: BodyCommands, step_s: float) -> None:
        self._simulation, self._step_s, self._duration = simulation, step_s, commands.duration or math.inf
        self._body = simulation.bodies[commands.body]
        try:
            row = self._body.wrench
        except ValueError as error:
            raise _world_error(commands.place, str(error)) from None
        self._frame, self._wrench, self._until = "", np.zeros(6), -math.inf
        # The wrench without the command, and the wrench that this object wrote last.
        self._base, self._written = np.zeros(6), np.array(row)

    def begin(self, now: float, frame: str, wrench: FloatArray) -> None:
        self._frame, self._wrench, self._until = frame, wrench, now + self._duration
        self._write(now)

    def hold(self, now: float) -> None:
        if self._until > -math.inf:
            self._write(now)

    def forget(self) -> None:
        self._until = -math.inf

    def _write(self, now: float) -> None:
        row = self._body.wrench
        if not np.array_equal(row, self._written):
            self._base = np.array(row)  # set by someone else
        # In the last step, scale the wrench to the remaining fraction of the step, so that the impulse is exact.
        share = min((self._until - now) / self._step_s, 1.0)
        if share <= 1e-9:
            self._until, share = -math.inf, 0.0
        row[:] = self._base + share * self._along_fixed_axes()
        self._written = np.array(row)

    def _along_fixed_axes(self) -> FloatArray:
        if not self._frame:
            return self._wrench
        frames, fixed = self._simulation.frames, self._simulation.world.fixed_frame
        turn = frames.lookup(self._simulation.present().poses, fixed, self._frame)[3:]
        return quaternions.rotate(turn, self._wrench.reshape(2, 3)).reshape(6)


class _Flown:
    """A multirotor, and the rotor speeds or the attitude that it follows."""

    def __init__(self, simulation: Simulation, commands: VehicleCommands, step_s: float) -> None:
        vehicle = next(each for each in simulation.world.vehicles if each.name == commands.vehicle)
        self._handle, self._body = simulation.vehicles[vehicle.name], simulation.bodies[vehicle.body]
        airframe = self._handle.airframe
        self.rotors = len(airframe.positions)
        self._timeout = commands.timeout or math.inf
        self._slowest, self._span = airframe.slowest, airframe.fastest - airframe.slowest
        self._lift = airframe.lift / airframe.mass
        self._controller: control.Controller | None = None
        if "attitude" in commands.accept:
            try:
                self._controller = control.Controller([airframe], np.array([[1.0, MAX_YAW_RATE]]), step_s)
            except ValueError as error:
                raise _world_error(commands.place, str(error)) from None
        self._demand: FloatArray | None = None
        self._until = -math.inf

    def spin(self, now: float, speeds: FloatArray) -> None:
        self._until, self._demand = now + self._timeout, None
        # Any motor command above 0 gives at least the minimum rotor speed.
        part = np.maximum((speeds - self._slowest) / self._span, np.finfo(np.float64).tiny)
        self._handle.command = np.where(speeds > 0.0, np.minimum(part, 1.0), 0.0)

    def turn(self, now: float, attitude: FloatArray, thrust: float) -> None:
        self._until, self._demand = now + self._timeout, _demand(attitude, thrust * self._lift)
        self._fly()

    def hold(self, now: float) -> None:
        if self._until == -math.inf:
            return
        if now >= self._until - 1e-9:
            self.forget()
            self._handle.command = np.zeros(self.rotors)
        elif self._demand is not None:
            self._fly()

    def forget(self) -> None:
        self._until, self._demand = -math.inf, None

    def _fly(self) -> None:
        assert self._controller is not None
        assert self._demand is not None
        state = np.concatenate([self._body.pose, self._body.twist])[None]
        self._controller.turn(state, self._demand[None], np.array([1]), self._handle.command)


def _demand(attitude: FloatArray, thrust: float) -> FloatArray:
    """Return the controller's demand (5,) for an attitude and a thrust over mass, m/s^2."""
    x, z = quaternions.rotate(attitude, np.eye(3)[[0, 2]])
    # The heading is the direction of the body's x axis, projected along the thrust onto the horizontal plane.
    level = x - z * (x[2] / z[2]) if abs(z[2]) > 1e-6 else x
    return np.array([*(z * thrust), math.atan2(level[1], level[0]), 0.0])


def _world_error(place: Place, message: str) -> WorldError:
    return WorldError([Problem(place.where, place.key, message)])
