"""Gains from masses, motors and bandwidths: nothing is tuned to a model."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sim_node.control.airframe import Airframe, allocation

# Each loop is so many times slower than the one inside it, so that it may take that one for granted.
APART = 3.0
# Of rotors without lag, rad/s.
MAX_LOOP_RATE = 20.0
# A loop on a lag T at 0.4/T is damped by 0.8: the roots of T s^2 + s + 0.4/T.
OF_LAG = 0.4
# Yaw's moment is but the drag of propellers: its attitude loop is slower than those of roll and pitch by this.
YAW = 0.4
# Thrust points at most this far from the vertical, and keeps this part of what would hover, at least.
STEEPEST, LEAST_HOVER = math.radians(35.0), 0.3
# Of the most thrust: what is left over is for turning.
MAX_THRUST = 0.9
# Of the turn rate from which an airframe can brake, as the attitude loop asks it to.
BRAKING = 0.7


class Gains(NamedTuple):
    """A row of the controller's parameters; rates 1/s."""

    position: float
    velocity: float
    integral: float
    attitude: float
    yaw: float
    rate: float
    max_speed: float
    max_turn: float
    max_yaw: float
    max_thrust: float
    mass: float


def gains(airframe: Airframe, max_speed: float, max_yaw: float) -> Gains:
    """The gains of an airframe that is asked for at most `max_speed` m/s and `max_yaw` rad/s.

    Raises ValueError where its rotors do not command it.
    """
    rate = MAX_LOOP_RATE if airframe.lag <= 0.0 else min(MAX_LOOP_RATE, OF_LAG / airframe.lag)
    attitude = rate / APART
    velocity = attitude / APART
    position = velocity / APART
    return Gains(
        position=position,
        velocity=velocity,
        integral=0.5 * velocity * position,
        attitude=attitude,
        yaw=YAW * attitude,
        rate=rate,
        max_speed=max_speed,
        max_turn=BRAKING * _max_acceleration(airframe) / attitude,
        max_yaw=max_yaw,
        max_thrust=MAX_THRUST * float(airframe.most @ airframe.axes[:, 2]) / airframe.mass,
        mass=airframe.mass,
    )


def _max_acceleration(airframe: Airframe) -> float:
    """The angular acceleration, rad/s^2, that the rotors give about x and y around half of their thrust."""
    headroom = 0.5 * (airframe.most - airframe.least)
    moments = allocation(airframe)[:, 1:3]
    with np.errstate(divide="ignore"):
        most = np.min(headroom[:, None] / np.abs(moments), axis=0)
    return float(np.min(most / np.diagonal(airframe.inertia)[:2]))
