"""Vehicles: motor commands of pilots or external controllers become wrenches of rotors on bodies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from mujoco import MjData

from sim_node.simulation.columns import Array, Column, Columns
from sim_node.simulation.physics.compiled import Compiled
from sim_node.simulation.physics.force_elements import force_element
from sim_node.simulation.physics.handles import PilotRecord, VehicleRecord
from sim_node.simulation.physics.wind import WindField
from sim_node.spatial.geometry.arrays import IntArray
from sim_node.world.layout import Layout
from sim_node.world.model import World


@force_element("vehicles")
def open_vehicles(
    world: World, layout: Layout, compiled: Compiled, data: MjData, wind: WindField, columns: Columns
) -> Vehicles | None:
    """Return the force element of all vehicles. Raises WorldError if rotors cannot command a piloted vehicle."""
    return Vehicles(world, layout, compiled, data, wind, columns) if world.vehicles else None


class Vehicles:
    """All vehicles of a world, in one force element. Each rotor has a row in `motor_command` and `rotor_speed`.

    Attributes:
        act: Runs the pilots that are due, and applies the wrenches of the rotors.
        vehicles: Records of the vehicles by name, in the order of the world.
    """

    def __init__(
        self, world: World, layout: Layout, compiled: Compiled, data: MjData, wind: WindField, columns: Columns
    ) -> None:
        # Imported here because worlds without vehicles do not need compiled kernels.
        from sim_node.simulation.physics.pilots import airframe_of, declare_pilots, mission_of, pilot_banks
        from sim_node.simulation.physics.rotors import RotorFailures, rotor_rows

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
            self._timesteps = count.data  # a memoryview, without numpy's overhead
            self._memory += [*state, count]
        self._banks, self._ids, self._first, self._drags, self._rotors = banks, ids, first, drags, rotors
        self._commands, self._speeds, self._failures = commands, speeds, RotorFailures(rotors)
        self.act = self._acting(data, bodies, range(len(ids)), counts=True)
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

    def acted(self) -> None:
        """Count a timestep."""
        if self._banks:
            self._timesteps[0] += 1

    def part(self, data: MjData, bodies: range) -> Callable[[], None] | None:
        """Return the function that acts on the vehicles among some bodies; None if these are not consecutive.

        Args:
            data: Data of a model of these bodies alone, with ids from 1.
            bodies: Their ids in the model of the world.
        """
        rows = [row for row, body in enumerate(self._ids) if body in bodies]
        if rows and rows != [*range(rows[0], rows[-1] + 1)]:
            return None
        own = np.array([[self._ids[row] - bodies.start + 1] * 2 for row in rows], dtype=np.int64).reshape(-1, 2)
        return self._acting(data, own, range(rows[0], rows[-1] + 1) if rows else range(0), counts=False)

    def _acting(self, data: MjData, bodies: IntArray, vehicles: range, *, counts: bool) -> Callable[[], None]:
        """Return the function that acts on some vehicles. bodies (V, 2): ids in `data`, as in `observe`."""
        from sim_node.simulation.physics.rotors import observe, push
        from sim_node.spatial.geometry.kernel import bound

        rows = slice(vehicles.start, vehicles.stop)
        states, air, first = self._states[rows], self._air[rows], self._first[rows.start : rows.stop + 1]
        rotors = slice(int(first[0]), int(first[-1]))
        observed = data.xipos, data.xquat, data.cvel, data.subtree_com, bodies, states
        pushed = *observed, air, self._drags[rows], first, self._rotors
        pilots = [
            (bank.every, bank.commanding(self._states[bank.rows], self._commands[bank.rotors]))
            for bank in self._banks
            if bank.rows.start in vehicles
        ]
        commands, failures, wind = self._commands, self._failures, self._wind
        see = bound(observe, *observed)
        push_sound, push_failing = (
            bound(push, *pushed, each, self._speeds, data.xfrc_applied) for each in (commands, failures.commands)
        )
        # Do not capture self: the reference cycle would keep the model alive.
        done, sheared = self._timesteps if pilots else memoryview(b""), self._sheared

        def act() -> None:
            if pilots:
                timesteps = done[0]
                for every, command in pilots:
                    if timesteps % every == 0:
                        see()
                        command()
                if counts:
                    done[0] = timesteps + 1
            if sheared:
                see()
                air[:] = wind.velocity(states[:, :3])
            elif wind.blows:
                air[:] = wind.current
            (push_failing if failures.change(commands, rotors) else push_sound)()

        return act
