"""Coordinate conventions ENU, NED, FLU, FRD, ECEF and LLA, and conversions between them."""

from sim_node.frames.altitudes import (
    VerticalDatum,
    altitude_ellipsoid,
    altitude_msl,
    coarse_geoid_undulation,
    convert_altitude,
    geoid_undulation,
)
from sim_node.frames.conventions import (
    AttitudeRequired,
    Convention,
    Frame,
    FrameKind,
    FrameMismatch,
    InvalidCoordinates,
    OriginRequired,
)
from sim_node.frames.conversions import (
    convert_covariance,
    convert_orientation,
    convert_transform,
    convert_velocity,
    goto_from_ned,
    goto_to_ned,
    yaw_enu_from_ned,
    yaw_ned_from_enu,
)
from sim_node.frames.positions import convert_position
from sim_node.frames.tagged import Displacement, Orientation, Position, Transform, Velocity, convert
from sim_node.frames.tagged_altitudes import Altitude
from sim_node.frames.tagged_covariances import Covariance
from sim_node.frames.vectors import AttitudeEnu, AttitudeFlu, AttitudeFrd, AttitudeNed, Enu, Flu, Frd, Ned
from sim_node.frames.yaws import Heading, YawEnu, YawNed

__all__ = [
    "Altitude",
    "AttitudeEnu",
    "AttitudeFlu",
    "AttitudeFrd",
    "AttitudeNed",
    "AttitudeRequired",
    "Convention",
    "Covariance",
    "Displacement",
    "Enu",
    "Flu",
    "Frame",
    "FrameKind",
    "FrameMismatch",
    "Frd",
    "Heading",
    "InvalidCoordinates",
    "Ned",
    "Orientation",
    "OriginRequired",
    "Position",
    "Transform",
    "Velocity",
    "VerticalDatum",
    "YawEnu",
    "YawNed",
    "altitude_ellipsoid",
    "altitude_msl",
    "coarse_geoid_undulation",
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
