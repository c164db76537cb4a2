"""The signals of a world in MuJoCo's arrays and in the columns of drives, and the column of all of them."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np

from sim_node.simulation.columns import Column, Columns
from sim_node.simulation.physics.actuators import TARGET
from sim_node.simulation.physics.drives import ENGAGED, ENGAGEMENT, FORCE, name_of
from sim_node.simulation.physics.signal_handles import SIGNAL, SignalRecord
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.joint_motion import driven_joints
from sim_node.world.model import World
from sim_node.world.signals import OF_JOINTS, NamedSignal

_COLUMNS = {"target": TARGET, "force": FORCE, "engagement": ENGAGEMENT}


def signals_of(
    world: World, model: mujoco.MjModel, data: mujoco.MjData, evaluate: Callable[[], None], columns: Columns
) -> dict[str, SignalRecord]:
    """Return the signals of a world by name, and declare their column."""
    signals = world.of(NamedSignal)
    if not signals:
        return {}
    joints = driven_joints(world)
    actuators = {each.name or each.joint: name_of(each) for each in world.actuators}
    targets = columns.column(TARGET).entities or () if TARGET in columns else ()

    def placed(signal: NamedSignal) -> tuple[FloatArray, int, FloatArray]:
        """Return where a signal is read, its element, and where it is set."""
        if signal.quantity in OF_JOINTS:
            joint = int(model.joint(joints[signal.of]).id)
            if signal.quantity == "position":
                return data.qpos, int(model.jnt_qposadr[joint]), data.qpos
            return data.qvel, int(model.jnt_dofadr[joint]), data.qvel
        actuator, column = actuators[signal.of], _COLUMNS[signal.quantity]
        if signal.quantity == "target" and actuator not in targets:
            return data.ctrl, int(model.actuator(actuator).id), data.ctrl
        wanted = ENGAGED if signal.quantity == "engagement" else column
        return columns[column], int(columns.rows(column, [actuator])[0]), columns[wanted]

    found: dict[str, SignalRecord] = {}
    for signal in signals:
        array, row, wanted = placed(signal)
        found[signal.name] = SignalRecord(signal, array, row, wanted if signal.input else None, evaluate)
    meaning = "signals: numbers of joints and actuators with names of their own"
    every = Column(SIGNAL, tuple(found), unit="of the signal", meaning=meaning, state=False)
    columns.compute(every, _reader(list(found.values()), evaluate))
    return found


def _reader(records: list[SignalRecord], evaluate: Callable[[], None]) -> Callable[[], tuple[FloatArray]]:
    """Return a function that reads all signals (S,): each array at once, and the forces of the present state once."""
    arrays = {id(record.array): record.array for record in records}
    reads = []
    for key, array in arrays.items():
        places = [place for place, record in enumerate(records) if id(record.array) == key]
        reads.append((np.array(places), array, np.array([records[place].row for place in places])))
    needs_forces = any(record.signal.quantity == "force" for record in records)

    def read() -> tuple[FloatArray]:
        if needs_forces:
            evaluate()
        values = np.empty(len(records))
        for places, array, rows in reads:
            values[places] = array[rows]
        return (values,)

    return read
