"""Vehicles: from the commands of pilots, or those from outside, to the rotors' wrenches on bodies."""

from __future__ import annotations

import numpy as np
from mujoco import MjData

from sim_node.simulation.columns import Array, Column, Columns
from sim_node.simulation.physics.compiled import Compiled
from sim_node.simulation.physics.force_elements import force_element
from sim_node.simulation.physics.handles import PilotRecord, VehicleRecord
from sim_node.simulation.physics.wind import WindField
from sim_node.world.layout import Layout
from sim_node.world.model import World


@force_element("vehicles")
def open_vehicles(
    world: World, layout: Layout, compiled: Compiled, data: MjData, wind: WindField, columns: Columns
) -> Vehicles | None:
    """Return the force element of all vehicles. Raises WorldError if rotors cannot command a piloted vehicle."""
    return Vehicles(world, layout, compiled, data, wind, columns) if world.vehicles else None


class Vehicles:
    """All vehicles of a world at once; each rotor has a row in the columns `motor_command` and `rotor_speed`.

    vehicles: records of the vehicles, by name, in the order of the world.
    """

    def __init__(
        self, world: World, layout: Layout, compiled: Compiled, data: MjData, wind: WindField, columns: Columns
    ) -> None:
        # Imported here: worlds without vehicles do not need compiled kernels.
        from sim_node.simulation.physics.pilots import airframe_of, declare_pilots, mission_of, pilot_banks
        from sim_node.simulation.physics.rotors import RotorFailures, observe, push, rotor_rows

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
        self._wind = wind
        self._sheared = world.wind is not None and world.wind.exponent > 0.0

        banks = pilot_banks(world, layout, compiled)
        motors = tuple(f"{vehicle.name}/rotor{k}" for vehicle in world.vehicles for k in range(len(vehicle.rotors)))
        commands = columns.add(Column("motor_command", motors, unit="1", meaning="part of the speed range, 0 to 1"))
        speeds = columns.add(Column("rotor_speed", motors, unit="rad/s", meaning="speed of each rotor"))
        self._memory: list[Array] = [commands, speeds]
        hands: dict[str, PilotRecord] = {}
        if banks:

            def now() -> float:
                return float(data.time)

            state, hands = declare_pilots(banks, [vehicle.name for vehicle in world.vehicles], columns, now)
            timesteps = Column("pilot/timesteps", ("pilots",), dtype=np.int64, meaning="timesteps since the start")
            count = columns.add(timesteps)
            self._timesteps = count.data  # counted without numpy's overhead
            self._memory += [*state, count]
        self._pilots = [(bank.every, bank.command, self._states[bank.rows], commands[bank.rotors]) for bank in banks]
        moved = data.xipos, data.xquat, data.cvel, data.subtree_com
        self._observe, self._observed = observe, (*moved, bodies, self._states)
        self._commands, self._failures = commands, RotorFailures(rotors)
        self._push, self._pushed = push, (*self._observed, self._air, drags, first, rotors)
        self._pushing = speeds, data.xfrc_applied
        self.vehicles = {
            vehicle.name: VehicleRecord(
                commands[begin:end],
                speeds[begin:end],
                hands.get(vehicle.name),
                vehicle.autopilot.type if vehicle.autopilot is not None else "",
                airframe_of(vehicle, compiled),
                np.array(model.body_ipos[body]),
                mission_of(vehicle, layout, compiled),
                self._failures,
                int(begin),
            )
            for vehicle, body, begin, end in zip(world.vehicles, ids, first, first[1:], strict=False)
        }

    def reset(self, seed: int) -> None:
        """Reset rotors to rest, commands to 0 and missions to their start; there are no random numbers."""
        for array in self._memory:
            array[:] = 0
        self._failures.clear()

    def act(self) -> None:
        """Let the pilots command that are due, and apply the wrenches of rotors."""
        if self._pilots:
            timesteps = self._timesteps[0]
            for every, command, states, commands in self._pilots:
                if timesteps % every == 0:
                    self._observe(*self._observed)
                    command(states, commands)
            self._timesteps[0] = timesteps + 1
        if self._sheared:
            self._observe(*self._observed)
            self._air[:] = self._wind.velocity(self._states[:, :3])
        elif self._wind.blows:
            self._air[:] = self._wind.current
        self._push(*self._pushed, self._failures.followed(self._commands), *self._pushing)
