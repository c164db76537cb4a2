"""Vehicles: their pilots' commands, or those from outside, to what their rotors do to their bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.physics.actors import actor
from sim_node.physics.wind import WindField
from sim_node.world.layout import Layout
from sim_node.world.model import World

if TYPE_CHECKING:
    from mujoco import MjData

    from sim_node.control import Airframe
    from sim_node.physics.mujoco_model import Compiled
    from sim_node.physics.pilots import PilotBank


@dataclass(frozen=True, slots=True, eq=False)
class Vehicle:
    """A vehicle of a run, on the run's own arrays: they stay the same through steps, resets and restores.

    command (R,): what each motor is told, read at each timestep: below 0 counts as 0, above 1 as 1, and what is no
    number stops the motor as 0 does. A pilot writes its vehicle's; without one it is for others to write.
    speeds (R,): of the rotors, rad/s; to be read. piloted: whether a pilot flies it within the run. airframe, centre
    (3,) of mass in its body, m, and waypoints (W, 7), its pilot's mission as a row of fly_missions each, none without
    a pilot: for those who fly it from outside.
    """

    name: str
    command: FloatArray
    speeds: FloatArray
    piloted: bool
    airframe: Airframe
    centre: FloatArray
    waypoints: FloatArray


@actor("vehicles")
def open_vehicles(world: World, layout: Layout, compiled: Compiled, data: MjData, wind: WindField) -> Vehicles | None:
    """The actor of a world's vehicles. Raises WorldError for a pilot whose vehicle its rotors do not command."""
    return Vehicles(world, layout, compiled, data, wind) if world.vehicles else None


class Vehicles:
    """All vehicles of a world at once. Commands, speeds and pilots' memories are views of one array, `_memory`.

    vehicles: in the order of the world.
    """

    def __init__(self, world: World, layout: Layout, compiled: Compiled, data: MjData, wind: WindField) -> None:
        # Here and not above: worlds without vehicles start without compiled kernels.
        from sim_node.physics.pilots import airframe_of, mission_of, pilot_banks
        from sim_node.physics.rotors import observe, push, rotor_rows

        model, timestep = compiled.model, float(compiled.model.opt.timestep)
        ids = [model.body(vehicle.body).id for vehicle in world.vehicles]
        counts = [len(vehicle.rotors) for vehicle in world.vehicles]
        first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        bodies = np.array([[body, model.body_rootid[body]] for body in ids], dtype=np.int64)
        drags = np.array([[*v.drag_linear, *v.drag_quadratic] for v in world.vehicles])
        rotors = np.concatenate(
            [rotor_rows(v.rotors, model.body_ipos[body], timestep) for v, body in zip(world.vehicles, ids, strict=True)]
        )
        self._states, self._air = np.zeros((len(ids), 13)), np.zeros((len(ids), 3))
        self._wind, self._blows = wind, world.wind is not None
        self._sheared = world.wind is not None and world.wind.exponent > 0.0

        banks: tuple[PilotBank, ...] = pilot_banks(world, layout, compiled)
        self._memory = np.zeros(2 * len(rotors) + sum(bank.size for bank in banks))
        commands, speeds, minds = np.split(self._memory, [len(rotors), 2 * len(rotors)])
        for bank in banks:
            minds = bank.remember_in(minds)
        self._pilots = [(bank.every, bank.command, self._states[bank.rows], commands[bank.rotors]) for bank in banks]
        self._timesteps = 0
        moved = data.xipos, data.xquat, data.cvel, data.subtree_com
        self._observe, self._observed = observe, (*moved, bodies, self._states)
        tables = drags, first, rotors, commands, speeds
        self._push, self._pushed = push, (*self._observed, self._air, *tables, data.xfrc_applied)
        self.vehicles = tuple(
            Vehicle(
                vehicle.name,
                commands[begin:end],
                speeds[begin:end],
                vehicle.pilot is not None and vehicle.autopilot is None,
                airframe_of(vehicle, compiled),
                np.array(model.body_ipos[body]),
                mission_of(vehicle, layout, compiled),
            )
            for vehicle, body, begin, end in zip(world.vehicles, ids, first, first[1:], strict=False)
        )

    def reset(self, seed: int) -> None:
        """Rotors at rest, commands at 0, missions at their beginning; nothing is drawn at random."""
        self._memory[:] = 0.0
        self._timesteps = 0

    def act(self) -> None:
        """Has the pilots whose turn it is command, and the rotors push."""
        for every, command, states, commands in self._pilots:
            if self._timesteps % every == 0:
                self._observe(*self._observed)
                command(states, commands)
        self._timesteps += 1
        if self._sheared:
            self._observe(*self._observed)
            self._air[:] = self._wind.velocity(self._states[:, :3])
        elif self._blows:
            self._air[:] = self._wind.current
        self._push(*self._pushed)

    def state(self) -> bytes:
        """The count of timesteps, commands, speeds of rotors, and what pilots remember."""
        return self._timesteps.to_bytes(8, "little") + self._memory.tobytes()

    def restore(self, state: bytes) -> None:
        """Goes on from a state. Raises ValueError for one of other vehicles."""
        if len(state) != 8 + self._memory.nbytes:
            raise ValueError(f"a state of {len(state)} bytes is not of these vehicles, of {8 + self._memory.nbytes}")
        self._timesteps = int.from_bytes(state[:8], "little")
        self._memory[:] = np.frombuffer(state[8:])
