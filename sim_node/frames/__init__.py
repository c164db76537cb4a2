"""Coordinate conventions ENU, NED, FLU, FRD, ECEF and LLA: what they mean, and the way from each to the others."""

from sim_node.frames.altitudes import VerticalDatum, altitude_ellipsoid, altitude_msl, convert_altitude
from sim_node.frames.conventions import Convention, Frame, Kind
from sim_node.frames.covariances import convert_covariance
from sim_node.frames.errors import (
    AttitudeRequired,
    FrameMismatch,
    GeoidUnavailable,
    InvalidCoordinates,
    OriginRequired,
)
from sim_node.frames.geoid import geoid_undulation
from sim_node.frames.goto import goto_from_ned, goto_to_ned
from sim_node.frames.orientations import convert_orientation, yaw_enu_from_ned, yaw_ned_from_enu
from sim_node.frames.positions import convert_position
from sim_node.frames.tagged import Altitude, Orientation, Position, Velocity, convert
from sim_node.frames.transforms import convert_transform
from sim_node.frames.velocities import convert_velocity

__all__ = [
    "Altitude",
    "AttitudeRequired",
    "Convention",
    "Frame",
    "FrameMismatch",
    "GeoidUnavailable",
    "InvalidCoordinates",
    "Kind",
    "Orientation",
    "OriginRequired",
    "Position",
    "Velocity",
    "VerticalDatum",
    "altitude_ellipsoid",
    "altitude_msl",
    "convert",
    "convert_altitude",
    "convert_covariance",
    "convert_orientation",
    "convert_position",
    "convert_transform",
    "convert_velocity",
    "geoid_undulation",
    "goto_from_ned",
    "goto_to_ned",
    "yaw_enu_from_ned",
    "yaw_ned_from_enu",
]
