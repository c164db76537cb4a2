"""The signals of a world in MuJoCo's arrays and in the columns of drives, and the column of all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import mujoco
import numpy as np

from sim_node.simulation.columns import Column, Columns
from sim_node.simulation.physics.actuators import TARGET
from sim_node.simulation.physics.drives import ENGAGED, ENGAGEMENT, FORCE, LIMITS, name_of
from sim_node.simulation.physics.handles import BodyRecord
from sim_node.simulation.physics.signal_handles import SIGNAL, ArrayElement, OfBody, Selected, SignalRecord
from sim_node.simulation.physics.suction import suction_name
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.joint_motion import driven_joints
from sim_node.world.model import World
from sim_node.world.signals import OF_JOINTS, SELECTION, NamedSignal, selected
from sim_node.world.suction import Suction

_COLUMNS = {"target": TARGET, "force": FORCE, "engagement": ENGAGEMENT}
_LIMITS = ("least_force", "most_force")


def signals_of(
    world: World,
    model: mujoco.MjModel,
    data: mujoco.MjData,
    evaluate: Callable[[], None],
    columns: Columns,
    bodies: Mapping[str, BodyRecord],
) -> dict[str, SignalRecord]:
    """Return the signals of a world by name, and declare their column."""
    signals = world.of(NamedSignal)
    if not signals:
        return {}
    joints = driven_joints(world)
    actuators = {each.name or each.joint: name_of(each) for each in world.actuators}
    suctions = {each.name for each in world.of(Suction)}
    targets = columns.column(TARGET).entities or () if TARGET in columns else ()

    def placed(signal: NamedSignal) -> tuple[FloatArray, int, FloatArray]:
        """Return where a signal is read, its element, and where it is set."""
        if signal.quantity in OF_JOINTS:
            joint = int(model.joint(joints[signal.of]).id)
            if signal.quantity == "position":
                return data.qpos, int(model.jnt_qposadr[joint]), data.qpos
            return data.qvel, int(model.jnt_dofadr[joint]), data.qvel
        if signal.of in suctions:
            return data.ctrl, int(model.actuator(suction_name(signal.of)).id), data.ctrl
        actuator = actuators[signal.of]
        if signal.quantity in _LIMITS:
            limits = columns[LIMITS][:, _LIMITS.index(signal.quantity)]
            return limits, int(columns.rows(LIMITS, [actuator])[0]), limits
        column = _COLUMNS[signal.quantity]
        if signal.quantity == "target" and actuator not in targets:
            return data.ctrl, int(model.actuator(actuator).id), data.ctrl
        wanted = ENGAGED if signal.quantity == "engagement" else column
        return columns[column], int(columns.rows(column, [actuator])[0]), columns[wanted]

    def record(signal: NamedSignal) -> SignalRecord:
        if signal.axis:
            return OfBody(signal, bodies[signal.of])
        if signal.quantity == SELECTION:
            some = selected(signal.of, actuators)
            rows = columns.rows(ENGAGED, [actuators[name] for name in some.values()])
            return Selected(signal, columns[ENGAGED], dict(zip(some, map(int, rows), strict=True)))
        return ArrayElement(signal, *placed(signal), evaluate)

    found = {signal.name: record(signal) for signal in signals}
    meaning = "signals: numbers of joints and actuators with names of their own"
    every = Column(SIGNAL, tuple(found), unit="of the signal", meaning=meaning, state=False)
    columns.compute(every, _reader(list(found.values()), evaluate))
    return found


def _reader(records: list[SignalRecord], evaluate: Callable[[], None]) -> Callable[[], tuple[FloatArray]]:
    """Return a function that reads all signals (S,): each array at once, and the forces of the present state once."""
    elements = [(place, record) for place, record in enumerate(records) if isinstance(record, ArrayElement)]
    others = [(place, record) for place, record in enumerate(records) if not isinstance(record, ArrayElement)]
    arrays = {id(record.array): record.array for _, record in elements}
    reads = []
    for key, array in arrays.items():
        some = [(place, record.row) for place, record in elements if id(record.array) == key]
        reads.append((*np.array(some).T, array))
    needs_forces = any(record.signal.quantity == "force" for record in records)

    def read() -> tuple[FloatArray]:
        if needs_forces:
            evaluate()
        values = np.empty(len(records))
        for places, rows, array in reads:
            values[places] = array[rows]
        for place, record in others:
            values[place] = record.get()
        return (values,)

    return read
