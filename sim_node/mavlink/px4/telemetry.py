"""Table of the topics that PX4 publishes below fmu/out: the MAVLink message, its fields, and those of px4_msgs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from sim_node.mavlink.contents import CENTI, MILLI
from sim_node.mavlink.dialects import Readers, TopicRow, ValueSource, by, row_readers, row_topics
from sim_node.mavlink.px4.names import Px4Names, px4_topic, topics_of
from sim_node.mavlink.px4.state import FUNCTIONS
from sim_node.mavlink.topics import VehicleTopic

of = ValueSource
_NAN3 = (math.nan,) * 3
_NED = 1  # VehicleOdometry.POSE_FRAME_NED and VELOCITY_FRAME_NED


def _row(
    name: str,
    type: str,
    message: str,
    fields: Mapping[str, ValueSource],
    constants: Mapping[str, Any] | None = None,
    *unless: str,
    when: Callable[[Any], bool] | None = None,
) -> TopicRow:
    """Return the row of a topic below fmu/out, including its times."""
    topic = px4_topic(name, type)
    held = {"timestamp timestamp_sample": by("times"), **fields}
    return TopicRow(
        *(topic.name, topic.type, message, "", held, topic.profile),
        unless=unless,
        constants=constants or {},
        when=when,
    )


_ATTITUDE = {"delta_q_reset": (1.0, 0.0, 0.0, 0.0)}
_ESTIMATED = {"eph epv": by("accuracy")}
ROWS: tuple[TopicRow, ...] = (
    _row(*("vehicle_attitude", "VehicleAttitude", "ATTITUDE_QUATERNION"), {"q": by("unit", "q1 q2 q3 q4")}, _ATTITUDE),
    _row(
        *("vehicle_attitude", "VehicleAttitude", "ATTITUDE"),
        {"q": by("angles", "roll pitch yaw")},
        *(_ATTITUDE, "ATTITUDE_QUATERNION"),
    ),
    _row(
        *("vehicle_local_position", "VehicleLocalPosition", "LOCAL_POSITION_NED"),
        {
            "x y z": by("place", "x y z"),
            "vx vy vz": by("place", "vx vy vz"),
            "z_deriv": of("vz"),
            "ax ay az": by("acceleration"),
            "heading heading_good_for_control": by("heading"),
            "xy_global z_global ref_lat ref_lon ref_alt": by("origin"),
            **_ESTIMATED,
        },
        {
            **dict.fromkeys(("xy_valid", "z_valid", "v_xy_valid", "v_z_valid"), True),
            **dict.fromkeys(("vxy_max", "vz_max", "hagl_min", "hagl_max_z", "hagl_max_xy"), math.inf),
            **dict.fromkeys(("evh", "evv", "heading_var", "tilt_var", "unaided_heading", "dist_bottom"), math.nan),
        },
    ),
    _row(
        *("vehicle_odometry", "VehicleOdometry", "LOCAL_POSITION_NED"),
        {
            "position": by("place", "x y z"),
            "q": by("orientation"),
            "velocity": by("place", "vx vy vz"),
            "angular_velocity": by("rates"),
        },
        {
            **{"pose_frame": _NED, "velocity_frame": _NED},
            **dict.fromkeys(("position_variance", "orientation_variance", "velocity_variance"), _NAN3),
        },
    ),
    _row(
        *("vehicle_global_position", "VehicleGlobalPosition", "GLOBAL_POSITION_INT"),
        {"lat lon alt alt_ellipsoid": by("on_earth", "lat lon alt"), **_ESTIMATED},
        {"lat_lon_valid": True, "alt_valid": True, "terrain_alt": math.nan},
    ),
    _row(
        *("vehicle_gps_position", "SensorGps", "GPS_RAW_INT"),
        {
            "latitude_deg longitude_deg altitude_msl_m altitude_ellipsoid_m": by("on_earth", "lat lon alt"),
            "fix_type": of("fix_type"),
            "hdop": of("eph", CENTI, 65535),
            "vdop": of("epv", CENTI, 65535),
            "eph": of("h_acc", MILLI),
            "epv": of("v_acc", MILLI),
            "s_variance_m_s": of("vel_acc", MILLI),
            "vel_m_s vel_n_m_s vel_e_m_s cog_rad": by("ground_track", "vel cog"),
            "satellites_used": of("satellites_visible"),
        },
        dict.fromkeys(("vel_d_m_s", "heading", "heading_offset", "heading_accuracy", "c_variance_rad"), math.nan),
    ),
    _row(
        *("sensor_combined", "SensorCombined", "HIGHRES_IMU"),
        {
            "gyro_rad": by("place", "xgyro ygyro zgyro"),
            "accelerometer_m_s2": by("place", "xacc yacc zacc"),
            "gyro_integral_dt accelerometer_integral_dt": by("interval", "time_usec"),
        },
        # Lowest six bits: accelerometer and gyroscope.
        when=lambda fields: bool(fields.fields_updated & 0x3F),
    ),
    _row(
        *("vehicle_land_detected", "VehicleLandDetected", "EXTENDED_SYS_STATE"),
        {"ground_contact maybe_landed landed": by("on_ground", "landed_state")},
        when=lambda fields: fields.landed_state != 0,
    ),
    _row(
        *("vtol_vehicle_status", "VtolVehicleStatus", "EXTENDED_SYS_STATE"),
        {"vehicle_vtol_state": of("vtol_state")},
        when=lambda fields: fields.vtol_state != 0,
    ),
    _row(
        *("vehicle_command_ack", "VehicleCommandAck", "COMMAND_ACK"),
        {
            "command": by("answered", "command result"),
            **{name: of(name) for name in ("result", "target_system", "target_component")},
            "result_param1": of("progress"),
            "result_param2": of("result_param2"),
        },
    ),
    _row(
        *("home_position", "HomePosition", "HOME_POSITION"),
        {
            "lat lon alt": by("above_sea", "latitude longitude altitude"),
            "x y z": of("x y z"),
            "yaw": by("yaw_of", "q"),
            "update_count": by("new_home"),
        },
        dict.fromkeys(("valid_alt", "valid_hpos", "valid_lpos"), True),
    ),
    _row(
        *("wind", "Wind", "WIND_COV"),
        {
            "windspeed_north windspeed_east": of("wind_x wind_y"),
            "variance_north variance_east": of("var_horiz var_horiz"),
        },
    ),
    _row(
        *("wind", "Wind", "WIND"),
        {"windspeed_north windspeed_east": by("wind_from", "direction speed")},
        None,
        "WIND_COV",
    ),
    _row(
        *("airspeed_validated", "AirspeedValidated", "VFR_HUD"),
        {"indicated_airspeed_m_s calibrated_airspeed_m_s": of("airspeed airspeed")},
        {
            "airspeed_source": 1,
            **dict.fromkeys(
                ("true_airspeed_m_s", "calibrated_ground_minus_wind_m_s", "calibraded_airspeed_synth_m_s"), math.nan
            ),
        },
        # Without a sensor it is NaN or zero.
        when=lambda fields: fields.airspeed > 0.0,
    ),
)


def topics() -> tuple[VehicleTopic, ...]:
    """Return all topics, each once. Raises UnknownMessage without px4_msgs."""
    return tuple(each for topic in row_topics(ROWS, FUNCTIONS).values() for each in topics_of(topic))


@cache
def readers() -> Readers:
    """Return the functions that publish a message, by its name."""
    # Messages without a row are kept for other topics.
    return {**dict.fromkeys(("ESTIMATOR_STATUS", "SYS_STATUS"), ()), **row_readers(ROWS, FUNCTIONS, Px4Names)}
