"""Thrust and moments to motor commands, with roll and pitch first where motors are at their limits."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray
from sim_node.geometry.kernel import kernel

_Indices = npt.NDArray[np.int64]


@kernel(nogil=True, error_model="numpy")
def mix(wrenches: FloatArray, first: _Indices, rotors: FloatArray, running: _Indices, commands: FloatArray) -> None:
    """Writes commands (R,) in [0, 1]; the rotors of vehicle v are first[v] to first[v + 1], none where not running.

    rotors (R, 9): a rotor's row of the allocation (4), its least and most thrust (N), thrust coefficient, slowest and
    fastest speed. Roll and pitch come first: both are scaled alike where no thrust leaves room for them. Then thrust,
    as near as the room allows, so that a vehicle may rise to stay upright. Yaw takes what is left.
    """
    for v in range(wrenches.shape[0]):
        begin, end = first[v], first[v + 1]
        if not running[v]:
            commands[begin:end] = 0.0
            continue
        thrust, roll, pitch, yaw = wrenches[v, 0], wrenches[v, 1], wrenches[v, 2], wrenches[v, 3]
        # Per unit of thrust: two rotors, one of which is to have more, are at most so far apart.
        share = 1.0
        for i in range(begin, end):
            for k in range(begin, end):
                if rotors[i, 0] > 0.0 and rotors[k, 0] > 0.0:
                    apart = (rotors[i, 1] * roll + rotors[i, 2] * pitch) / rotors[i, 0]
                    apart -= (rotors[k, 1] * roll + rotors[k, 2] * pitch) / rotors[k, 0]
                    room = rotors[i, 5] / rotors[i, 0] - rotors[k, 4] / rotors[k, 0]
                    if apart * share > room:
                        share = room / apart
        roll, pitch = roll * share, pitch * share
        lowest, highest = -math.inf, math.inf
        for i in range(begin, end):
            if rotors[i, 0] > 0.0:
                turning = rotors[i, 1] * roll + rotors[i, 2] * pitch
                lowest = max(lowest, (rotors[i, 4] - turning) / rotors[i, 0])
                highest = min(highest, (rotors[i, 5] - turning) / rotors[i, 0])
        thrust = min(max(thrust, lowest), highest)
        share = 1.0
        for i in range(begin, end):
            level = rotors[i, 0] * thrust + rotors[i, 1] * roll + rotors[i, 2] * pitch
            wish = rotors[i, 3] * yaw
            if wish > 0.0:
                share = min(share, max(rotors[i, 5] - level, 0.0) / wish)
            elif wish < 0.0:
                share = min(share, max(level - rotors[i, 4], 0.0) / -wish)
        yaw *= share
        for i in range(begin, end):
            force = rotors[i, 0] * thrust + rotors[i, 1] * roll + rotors[i, 2] * pitch + rotors[i, 3] * yaw
            speed = math.sqrt(max(force, 0.0) / rotors[i, 6])
            commands[i] = min(max((speed - rotors[i, 7]) / (rotors[i, 8] - rotors[i, 7]), 0.0), 1.0)
