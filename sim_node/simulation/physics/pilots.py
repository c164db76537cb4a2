"""Pilots: the built-in controller and its missions for the vehicles of a world, in banks with one rate each."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence
from itertools import groupby

import numpy as np

from sim_node.simulation.columns import Array, Column, Columns
from sim_node.simulation.control import by_hand
from sim_node.simulation.control.airframe import Airframe
from sim_node.simulation.control.controller import Controller
from sim_node.simulation.control.trajectories import MEMORY, fly_missions
from sim_node.simulation.physics.compiled import Compiled
from sim_node.simulation.physics.groups import body_ranges
from sim_node.simulation.physics.handles import PilotRecord
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.spatial.geometry.kernel import bound
from sim_node.world.layout import Layout
from sim_node.world.model import World
from sim_node.world.problems import Problem, refuse_any
from sim_node.world.vehicles import AFTER, SPINS, Multirotor, Pilot

_EPSILON_S = 1e-9


# State columns with a row for each piloted vehicle: name, size of a row, type, unit and meaning.
_STATE = (
    ("integral", 3, np.float64, "m/s²", "integral of each controller"),
    ("mission", MEMORY, np.float64, "", "phase, waypoint, times, begin of leg"),
    (
        "command",
        5,
        np.float64,
        "m/s, rad/s, s",
        "velocity by hand [ahead left up turn] along the heading, and the run's time at which it expires",
    ),
    ("by_hand", 0, np.int64, "", "0: mission; by hand 1: now, 2: stands, 3: flies"),
    ("setpoint", by_hand.MEMORY, np.float64, "", "setpoint by hand, and the time on the ground"),
)


class PilotBank:
    """Pilots of consecutive vehicles with the same rate, run together.

    Attributes:
        every: Period in timesteps.
        count: Number of vehicles.
        rows: The vehicles, as a slice of those of the world.
        rotors: Their rotors, as a slice of all rotors.
    """

    def __init__(self, world: World, layout: Layout, compiled: Compiled, rows: range, every: int) -> None:
        vehicles = [world.vehicles[row] for row in rows]
        pilots = [vehicle.pilot or Pilot() for vehicle in vehicles]
        period = every * float(compiled.model.opt.timestep)
        limits = np.array([[_fastest(pilot), pilot.yaw_rate] for pilot in pilots])
        airframes = [airframe_of(vehicle, compiled) for vehicle in vehicles]
        gravity = float(np.linalg.norm(world.physics.gravity))
        self.every, self.count = every, len(rows)
        self._controller = Controller(airframes, limits, period, gravity)
        self._period = period
        before = sum(len(vehicle.rotors) for vehicle in world.vehicles[: rows.start])
        self.rows = slice(rows.start, rows.stop)
        self.rotors = slice(before, before + sum(len(vehicle.rotors) for vehicle in vehicles))
        self._setpoints, self._running = np.zeros((len(rows), 11)), np.zeros(len(rows), dtype=np.int64)
        self._pilots = np.array([_pilot_row(pilot) for pilot in pilots])
        missions = [_waypoint_rows(v, p, layout, compiled) for v, p in zip(vehicles, pilots, strict=True)]
        self._first = np.concatenate([[0], np.cumsum([len(mission) for mission in missions])]).astype(np.int64)
        self._waypoints = np.concatenate(missions)
        self._limits = np.array([[pilot.speed, pilot.yaw_rate, pilot.acceleration] for pilot in pilots])

    def remember_in(self, state: Sequence[Array], rows: slice, now: Callable[[], float]) -> None:
        """Keep the state in some rows of that of all pilots. now: returns the time of the run, s."""
        own = (array[rows] for array in state)
        self._controller.integrals, self._memory, self._commands, self._modes, self._held = own
        self._now = now

    def commanding(self, states: FloatArray, commands: FloatArray) -> Callable[[], None]:
        """Return the function that computes the motor commands (R,) of the vehicles from their states (V, 13)."""
        follow = bound(
            fly_missions,
            *(states, self._pilots, self._first, self._waypoints, self._period),
            *(self._memory, self._setpoints, self._running),
        )
        fly = self._controller.flying(states, self._setpoints, self._running, commands)
        modes = self._modes.data.cast("B")  # compared without numpy's overhead
        on_missions = bytes(modes.nbytes)

        def command() -> None:
            follow()
            if modes.tobytes() != on_missions:
                by_hand.fly_by_hand(
                    *(states, self._limits, self._commands, self._now() + _EPSILON_S, self._period),
                    *(self._controller.integrals, self._memory, self._modes, self._held),
                    *(self._setpoints, self._running),
                )
            fly()

        return command


def pilot_banks(world: World, layout: Layout, compiled: Compiled) -> tuple[PilotBank, ...]:
    """Return the banks of a world's pilots: consecutive vehicles with the same rate and in the same group of bodies.

    Raises WorldError for vehicles whose rotors cannot control or lift them.
    """
    refuse_any(fault for vehicle in world.vehicles if vehicle.pilot for fault in _misfits(vehicle, compiled, world))
    timestep = float(compiled.model.opt.timestep)
    banks = []
    row = 0
    starts = [bodies.start for bodies in body_ranges(compiled.model, world.physics)]

    def bank_of(vehicle: Multirotor) -> tuple[int, int]:
        return _timesteps(vehicle, timestep), bisect(starts, compiled.model.body(vehicle.body).id)

    for (every, _), neighbours in groupby(world.vehicles, bank_of):
        rows = range(row, row + len(list(neighbours)))
        row = rows.stop
        if every:
            banks.append(PilotBank(world, layout, compiled, rows, every))
    return tuple(banks)


def declare_pilots(
    banks: tuple[PilotBank, ...], names: list[str], columns: Columns, now: Callable[[], float]
) -> tuple[list[Array], dict[str, PilotRecord]]:
    """Declare the state of pilots, and assign its rows to the banks. Return the arrays, and pilot records by name."""
    flown = tuple(name for bank in banks for name in names[bank.rows])
    state = [
        columns.add(Column(f"pilot/{name}", flown, (size,) if size else (), dtype, unit, meaning))
        for name, size, dtype, unit, meaning in _STATE
    ]
    at = 0
    for bank in banks:
        bank.remember_in(state, slice(at, at + bank.count), now)
        at += bank.count
    _, _, commands, modes, _ = state
    return state, {name: PilotRecord(commands[row], modes[row : row + 1], now) for row, name in enumerate(flown)}


def airframe_of(vehicle: Multirotor, compiled: Compiled) -> Airframe:
    """Return the airframe of a vehicle, including what is fixed to its body, from the compiled model."""
    model, rotors = compiled.model, vehicle.rotors
    body = model.body(vehicle.body).id
    axes = quaternions.to_matrix(model.body_iquat[body][[1, 2, 3, 0]])
    return Airframe(
        mass=float(model.body_mass[body]),
        inertia=axes @ np.diag(model.body_inertia[body]) @ axes.T,
        positions=np.array([rotor.position for rotor in rotors]) - model.body_ipos[body],
        axes=np.array([rotor.axis for rotor in rotors]),
        moments=np.array([-SPINS[rotor.spin] * rotor.moment_coefficient for rotor in rotors]),
        coefficients=np.array([rotor.thrust_coefficient for rotor in rotors]),
        slowest=np.array([rotor.min_speed for rotor in rotors]),
        fastest=np.array([rotor.max_speed for rotor in rotors]),
        lag=max(max(rotor.time_constant_up, rotor.time_constant_down) for rotor in rotors),
    )


def mission_of(vehicle: Multirotor, layout: Layout, compiled: Compiled) -> FloatArray:
    """Return the take-off and waypoints (W, 7) of a vehicle's pilot, as for fly_missions; (0, 7) without a pilot."""
    if vehicle.pilot is None:
        return np.zeros((0, 7))
    return _waypoint_rows(vehicle, vehicle.pilot, layout, compiled)


def _timesteps(vehicle: Multirotor, timestep: float) -> int:
    """Return the period of a vehicle's pilot in timesteps; 0 if it has no pilot, or an autopilot flies it."""
    pilot = vehicle.pilot
    return 0 if pilot is None or vehicle.autopilot is not None else max(round(1.0 / (pilot.rate * timestep)), 1)


def _misfits(vehicle: Multirotor, compiled: Compiled, world: World) -> list[Problem]:
    place, airframe = vehicle.place, airframe_of(vehicle, compiled)
    key = f"{place.key or vehicle.name}.pilot"
    try:
        Controller([airframe], np.ones((1, 2)), 1.0)
    except ValueError as error:
        return [Problem(place.where, key, str(error))]
    lift, weight = airframe.lift, airframe.mass * np.linalg.norm(world.physics.gravity)
    if lift <= weight:
        return [Problem(place.where, key, f"its rotors lift {lift:.4g} N at most, it weighs {weight:.4g} N")]
    return []


def _fastest(pilot: Pilot) -> float:
    return max([pilot.speed, *(w.speed for w in pilot.waypoints if w.speed is not None)])


def _pilot_row(pilot: Pilot) -> tuple[float, ...]:
    return pilot.wait, pilot.acceleration, pilot.landing_speed, pilot.yaw_rate, AFTER.index(pilot.after)


def _waypoint_rows(vehicle: Multirotor, pilot: Pilot, layout: Layout, compiled: Compiled) -> FloatArray:
    """Return the take-off and the waypoints (W, 7) of a mission, in the fixed frame."""
    row, body = next((row, body) for row, body in layout.bodies if body.name == vehicle.body)
    # The parent is static, so its pose in its carrier is its pose in the fixed frame.
    parent = np.array(compiled.offsets[int(layout.frames.parents[row])])
    start = poses.compose(parent, poses.compose(body.pose, body.start()))
    heading = float(quaternions.to_rpy(parent[3:])[2])
    rows = [[*start[:2], start[2] + pilot.take_off, np.nan, pilot.speed, 0.0, 0.5]]
    for waypoint in pilot.waypoints:
        yaw = np.nan if waypoint.yaw is None else waypoint.yaw + heading
        speed = pilot.speed if waypoint.speed is None else waypoint.speed
        rows.append([*poses.apply(parent, waypoint.position), yaw, speed, waypoint.hold, waypoint.radius])
    return np.array(rows)
