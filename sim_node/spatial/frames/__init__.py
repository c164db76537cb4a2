"""Coordinate conventions ENU, NED, FLU, FRD, ECEF and LLA, and conversions between them."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.spatial.frames.altitudes import VerticalDatum as VerticalDatum
    from sim_node.spatial.frames.altitudes import altitude_ellipsoid as altitude_ellipsoid
    from sim_node.spatial.frames.altitudes import altitude_msl as altitude_msl
    from sim_node.spatial.frames.altitudes import coarse_geoid_undulation as coarse_geoid_undulation
    from sim_node.spatial.frames.altitudes import convert_altitude as convert_altitude
    from sim_node.spatial.frames.altitudes import geoid_undulation as geoid_undulation
    from sim_node.spatial.frames.conventions import AttitudeRequired as AttitudeRequired
    from sim_node.spatial.frames.conventions import Convention as Convention
    from sim_node.spatial.frames.conventions import Frame as Frame
    from sim_node.spatial.frames.conventions import FrameKind as FrameKind
    from sim_node.spatial.frames.conventions import FrameMismatch as FrameMismatch
    from sim_node.spatial.frames.conventions import InvalidCoordinates as InvalidCoordinates
    from sim_node.spatial.frames.conventions import OriginRequired as OriginRequired
    from sim_node.spatial.frames.conversions import convert_covariance as convert_covariance
    from sim_node.spatial.frames.conversions import convert_orientation as convert_orientation
    from sim_node.spatial.frames.conversions import convert_transform as convert_transform
    from sim_node.spatial.frames.conversions import convert_velocity as convert_velocity
    from sim_node.spatial.frames.conversions import goto_from_ned as goto_from_ned
    from sim_node.spatial.frames.conversions import goto_to_ned as goto_to_ned
    from sim_node.spatial.frames.conversions import yaw_enu_from_ned as yaw_enu_from_ned
    from sim_node.spatial.frames.conversions import yaw_ned_from_enu as yaw_ned_from_enu
    from sim_node.spatial.frames.positions import convert_position as convert_position
    from sim_node.spatial.frames.tagged import Altitude as Altitude
    from sim_node.spatial.frames.tagged import Covariance as Covariance
    from sim_node.spatial.frames.tagged import Displacement as Displacement
    from sim_node.spatial.frames.tagged import Orientation as Orientation
    from sim_node.spatial.frames.tagged import Position as Position
    from sim_node.spatial.frames.tagged import Transform as Transform
    from sim_node.spatial.frames.tagged import Velocity as Velocity
    from sim_node.spatial.frames.tagged import convert as convert
    from sim_node.spatial.frames.vectors import AttitudeEnu as AttitudeEnu
    from sim_node.spatial.frames.vectors import AttitudeFlu as AttitudeFlu
    from sim_node.spatial.frames.vectors import AttitudeFrd as AttitudeFrd
    from sim_node.spatial.frames.vectors import AttitudeNed as AttitudeNed
    from sim_node.spatial.frames.vectors import Enu as Enu
    from sim_node.spatial.frames.vectors import Flu as Flu
    from sim_node.spatial.frames.vectors import Frd as Frd
    from sim_node.spatial.frames.vectors import Ned as Ned
    from sim_node.spatial.frames.yaws import Heading as Heading
    from sim_node.spatial.frames.yaws import YawEnu as YawEnu
    from sim_node.spatial.frames.yaws import YawNed as YawNed
