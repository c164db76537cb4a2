"""Sensors of SDF: the corresponding types, with their noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sim_node.extensions.sdf.document import part_pose
from sim_node.extensions.sdf.elements import FALSE, TRUE, SdfReading, child, gazebo_topic, place_of, text, text_of
from sim_node.extensions.sdf.mechanism import SdfMechanism, recording
from sim_node.extensions.sdf.scopes import ScopeEntry, SdfScope, frame_name, world_pose
from sim_node.messages.sensor_topics import ros_name, topic_of
from sim_node.simulation.sensors.air_data import Barometer
from sim_node.simulation.sensors.camera import MAX_PIXELS
from sim_node.simulation.sensors.distortion import Distortion, optics
from sim_node.simulation.sensors.dvl import LEAST_BEAMS
from sim_node.spatial.geometry import poses, quaternions
from sim_node.world.declared import holder_of, plan_of
from sim_node.world.model import Sensor
from sim_node.world.problems import quoted
from sim_node.world.readers.xml_elements import Element

# Parameters that turn off every term of noise.
NO_NOISE = {
    **dict.fromkeys(("density", "deviation", "random_walk", "bias_instability", "turn_on_bias"), 0.0),
    **dict.fromkeys(("scale_error", "misalignment", "resolution"), 0.0),
}
XYZ = "x y z"
# The default size of an image, pixels.
SIZE = {"width": 320, "height": 240}
GAUSS = 1e-4  # T
# The default of SDF's <magnetic_field>, T.
MAGNETIC_FIELD = (5.5645e-6, 22.8758e-6, -42.3884e-6)


def noise_of(reading: SdfReading, *owners: Element | None, ranges: bool = False) -> Any:
    """Return the noise of a quantity as parameters of a sensor; "none" if no owner has any.

    Gazebo's Gaussian noise is white noise with `stddev`, plus a bias that is drawn once from `bias_mean` and
    `bias_stddev`, plus a drift b' = exp(-dt/T) b + sqrt(s^2 T/2 (1 - exp(-2 dt/T))) n, whose standard deviation is
    therefore s sqrt(T/2): gz-sensors, GaussianNoiseModel.

    `owners` are the elements with a <noise> each. They are axes that share one noise here, the root mean square.
    """
    rows = []
    for owner in owners:
        noise = child(owner, "noise")
        if noise is None:
            rows.append([0.0] * 5)
            continue
        kind = noise.get("type", "none") or "none"
        if kind not in ("none", "gaussian", "gaussian_quantized"):
            reading.error(noise, f"no noise {quoted(kind)}; allowed: none, gaussian, gaussian_quantized", "type")
        if kind == "none" and ranges:
            kind = text(noise, "type", default="none")  # lidars in old format versions
        values = [
            abs(reading.number(noise, key, default=0.0))
            for key in ("stddev", "bias_stddev", "dynamic_bias_stddev", "dynamic_bias_correlation_time", "precision")
        ]
        if reading.number(noise, "mean", default=0.0):
            reading.approximate(noise, "the mean of a noise is treated as 0")
        if reading.number(noise, "bias_mean", default=0.0):
            reading.approximate(noise, "the mean of a noise's bias is treated as 0")
        rows.append(values if kind != "none" else [0.0] * 5)
    table = np.array(rows)
    if not np.isfinite(table).all() or not table.any():
        return "none"
    if np.ptp(table, axis=0).max() > 1e-9 and owners[0] is not None:
        reading.approximate(
            owners[0], "the noise of a sensor is the same along all axes here: the root of its mean square"
        )
    white, turn_on, drift, time, precision = np.sqrt((table**2).mean(axis=0)).tolist()
    if ranges:
        return {"deviation": white, "turn_on_bias": turn_on, "resolution": precision, "dropout": 0.0}
    found = {**NO_NOISE, "deviation": white, "turn_on_bias": turn_on, "resolution": precision}
    if drift and time:
        found |= {"bias_instability": drift * math.sqrt(time / 2.0), "correlation_time": max(time, 1e-3)}
    return found


Make = Callable[[SdfReading, Element], dict[str, Any]]


def _noises(**paths: tuple[str, ...]) -> Make:
    """Return a reader of noises: for each parameter, the path of the owner, then its axes or an empty string."""

    def read(reading: SdfReading, element: Element) -> dict[str, Any]:
        found = {}
        for name, (*path, axes) in paths.items():
            owner = child(element, *path)
            found[name] = noise_of(reading, *(child(owner, axis) if axis else owner for axis in axes.split(" ")))
        return found

    return read


def _magnetometer(reading: SdfReading, element: Element) -> dict[str, Any]:
    """Read a magnetometer. Its noise is in gauss, unless its plug-in says otherwise: gz-sim, Magnetometer.cc."""
    found = _noises(noise=("magnetometer", XYZ))(reading, element)
    if isinstance(found["noise"], str) or _in_tesla(reading):
        return found
    lengths = ("deviation", "turn_on_bias", "bias_instability", "resolution")
    return {"noise": {**found["noise"], **{key: GAUSS * found["noise"][key] for key in lengths}}}


def _in_tesla(reading: SdfReading) -> bool:
    """Return whether a plug-in of the files sets the unit of magnetometers to tesla."""
    left = list(reading.opened)
    while left:
        element = left.pop()
        left += element.children
        if element.tag == "use_units_gauss" and element.text is not None:
            element.read = True
            if element.text.text.strip() in FALSE:
                return True
    return False


def _gps(reading: SdfReading, element: Element) -> dict[str, Any]:
    tag = "navsat" if child(element, "navsat") else "gps"
    at, both = (tag, "position_sensing"), (tag, "velocity_sensing", "horizontal vertical")
    return _noises(horizontal=(*at, "horizontal", ""), vertical=(*at, "vertical", ""), velocity=both)(reading, element)


def _camera(reading: SdfReading, element: Element) -> dict[str, Any]:
    of = child(element, "camera")
    image, clip = child(of, "image"), child(of, "clip")
    width, height = (reading.whole(image, key, default=usual) for key, usual in SIZE.items())
    fov = min(max(reading.number(of, "horizontal_fov", default=1.047), 0.01), 3.0)
    lens: dict[str, Any] = {}
    if (bent := child(of, "distortion")) is not None:
        terms = tuple(reading.number(bent, key, default=0.0) for key in ("k1", "k2", "p1", "p2", "k3"))
        try:
            if any(terms) and 0 < width <= MAX_PIXELS and 0 < height <= MAX_PIXELS:
                optics(Distortion(coefficients=terms), width, height, float(0.5 * width / np.tan(0.5 * fov)))
                lens = {"distortion": {"coefficients": list(terms)}}
        except ValueError as wrong:  # Gazebo renders such images with black corners, or crops them
            reading.leave_out(bent, f"{str(wrong).removeprefix('distortion: ')}; the camera has none")
    near = reading.number(clip, "near", default=0.1)
    return {
        "width": width,
        "height": height,
        "horizontal_fov": fov,
        "near": max(near, 1e-4),
        "far": max(reading.number(clip, "far", default=100.0), near * 2.0),
        **lens,
    }


def _lidar(reading: SdfReading, element: Element) -> dict[str, Any]:
    of = child(element, "lidar") or child(element, "ray")
    fan = {key: child(of, "scan", key) for key in ("horizontal", "vertical")}
    reach = child(of, "range")
    samples = {
        key: reading.whole(scan, "samples", default=640 if key == "horizontal" else 1) for key, scan in fan.items()
    }
    across = [reading.number(fan["horizontal"], key, default=0.0) for key in ("min_angle", "max_angle")]
    found = {
        "samples": samples["horizontal"],
        "angle_min": across[0],
        "angle_max": across[1],
        "range_min": max(reading.number(reach, "min", default=0.0), 0.0),
        "range_max": min(reading.number(reach, "max", default=0.0), 1e6) or 1e6,
        "noise": noise_of(reading, of, ranges=True),
    }
    if (step := reading.number(reach, "resolution", default=0.0)) and found["noise"] == "none":
        found["noise"] = {"deviation": 0.0, "turn_on_bias": 0.0, "dropout": 0.0, "resolution": step}
    if samples["vertical"] > 1:
        up = [reading.number(fan["vertical"], key, default=0.0) for key in ("min_angle", "max_angle")]
        found |= {"rings": samples["vertical"], "vertical_min": up[0], "vertical_max": up[1]}
    return found


def _contact(reading: SdfReading, element: Element) -> dict[str, Any]:
    for contact in element.all("contact"):
        for each in contact.all("collision"):
            text_of(each)
        reading.approximate(contact, "a contact sensor measures the wrench of all contacts of its link here")
    return {}


def _force_torque(reading: SdfReading, element: Element) -> dict[str, Any]:
    of = child(element, "force_torque")
    if of is not None and text(of, "frame", default="child") == "parent":
        reading.approximate(of, "the wrench is along the axes of the child's sensor here")
    if text(of, "measure_direction", default="child_to_parent") != "parent_to_child":
        reading.approximate(
            element, "a force_torque measures what its child feels here: the opposite of child_to_parent"
        )
    return _noises(force=("force_torque", "force", XYZ), torque=("force_torque", "torque", XYZ))(reading, element)


def _logical_camera(reading: SdfReading, element: Element) -> dict[str, Any]:
    of = child(element, "logical_camera")
    near = reading.amount(of, "near", default=0.0)
    return {
        "near": near,
        "far": max(reading.amount(of, "far", default=1.0), near + 1e-6),
        "horizontal_fov": min(max(reading.number(of, "horizontal_fov", default=1.0), 1e-3), 3.1),
        "aspect_ratio": min(reading.amount(of, "aspect_ratio", default=1.0, positive=True), 1e3),
    }


def _dvl(reading: SdfReading, element: Element) -> dict[str, Any]:
    """Read a DVL. In SDF each beam has its rotation about z and its tilt from -z; here they are evenly spread."""
    of = child(element, "gz:dvl") or child(element, "ignition:dvl")
    for tag in ("type", "reference_frame"):
        text(of, tag)
    arrangement = child(of, "arrangement")
    unit = math.pi / 180.0 if arrangement is not None and arrangement.get("degrees") in TRUE else 1.0
    beams = [] if arrangement is None else list(arrangement.all("beam"))
    rows = []
    for beam in beams:
        beam.get("id")
        rows.append([unit * reading.number(beam, key, default=0.0) for key in ("aperture", "rotation", "tilt")])
    found: dict[str, Any] = {}
    if len(rows) >= LEAST_BEAMS:
        table = np.array(rows)
        turns = np.sort(np.mod(table[:, 1] - table[0, 1], 2.0 * math.pi))
        even = np.arange(len(rows)) * (2.0 * math.pi / len(rows))
        if np.abs(turns - even).max() > 1e-6 or np.ptp(table[:, 2]) > 1e-6:
            reading.approximate(arrangement or element, "the beams of a dvl are evenly spread here, with one tilt")
        tilt = float(table[:, 2].mean())
        found = {"beams": min(len(rows), 16), "rotation": rows[0][1], "tilt": min(max(tilt, 1e-3), 1.5)}
    elif arrangement is not None:
        reading.error(arrangement, f"a dvl needs {LEAST_BEAMS} beams or more, found {len(rows)}")
    tracking = child(of, "tracking")
    bottom, water = child(tracking, "bottom_mode"), child(tracking, "water_mass_mode")
    if water is not None:
        reading.leave_out(water, "a dvl tracks the ground here, not a layer of water")
    for tag in ("when", "visualize"):
        text(bottom, tag)
    least = reading.amount(of, "minimum_range", default=0.0)
    step = reading.amount(of, "resolution", default=0.0)
    return found | {
        "range_min": least,
        "range_max": max(reading.amount(of, "maximum_range", default=100.0), least + 1e-6),
        "velocity": noise_of(reading, bottom),
        "distance": {**NO_NOISE, "resolution": step} if step else "none",
    }


# The default rate of a sensor, Hz.
UNSAID = 100.0
# For each SDF type: the types here, with the suffixes of their names, and the reader of their parameters.
TYPES: dict[str, tuple[tuple[tuple[str, str], ...], Make]] = {
    "imu": (
        (("imu", ""),),
        _noises(gyroscope=("imu", "angular_velocity", XYZ), accelerometer=("imu", "linear_acceleration", XYZ)),
    ),
    "magnetometer": ((("magnetometer", ""),), _magnetometer),
    "air_pressure": ((("barometer", ""),), _noises(noise=("air_pressure", "pressure", ""))),
    "air_speed": ((("airspeed", ""),), _noises(noise=("air_speed", "pressure", ""))),
    **dict.fromkeys(("navsat", "gps"), ((("gps", ""),), _gps)),
    "camera": ((("camera", ""),), _camera),
    **dict.fromkeys(("depth_camera", "depth"), ((("depth_camera", ""),), _camera)),
    **dict.fromkeys(("rgbd_camera", "rgbd"), ((("camera", ""), ("depth_camera", "_depth")), _camera)),
    **dict.fromkeys(("gpu_lidar", "lidar", "gpu_ray", "ray"), ((("lidar_2d", ""),), _lidar)),
    "contact": ((("contact", ""),), _contact),
    "force_torque": ((("force_torque", ""),), _force_torque),
    "optical_flow": ((("optical_flow", ""),), _noises()),
    "altimeter": (
        (("altimeter", ""),),
        _noises(height=("altimeter", "vertical_position", ""), speed=("altimeter", "vertical_velocity", "")),
    ),
    "logical_camera": ((("logical_camera", ""),), _logical_camera),
    "dvl": ((("dvl", ""),), _dvl),
}
# The suffix that Gazebo adds to the name of a sensor for its topic: gz-sim's systems, and RenderUtil.cc for cameras.
TOPICS = {
    **{kind: kind for kind in ("imu", "magnetometer", "air_pressure", "air_speed", "altimeter", "contact")},
    **dict.fromkeys(("navsat", "gps"), "navsat"),
    **dict.fromkeys(("depth_camera", "depth"), "depth_image"),
    **dict.fromkeys(("rgbd_camera", "rgbd"), ""),
    **dict.fromkeys(("gpu_lidar", "lidar", "gpu_ray", "ray"), "scan"),
    **{"camera": "image", "force_torque": "forcetorque", "logical_camera": "logical_camera"},
    **{"dvl": "dvl/velocity", "optical_flow": "optical_flow"},
}
# Types without an equivalent, and what to use instead.
MISSING = {
    **dict.fromkeys(("thermal_camera", "thermal", "segmentation_camera", "segmentation", "boundingbox_camera"), ""),
    **dict.fromkeys(("wide_angle_camera", "wideanglecamera", "multicamera", "sonar", "rfid", "rfidtag"), ""),
    **dict.fromkeys(("anemometer", "wireless_receiver", "wireless_transmitter", "custom"), ""),
}


def add_sensors(reading: SdfReading, found: SdfMechanism, world: SdfScope, step_ns: int, *, included: bool) -> None:
    """Add the sensors of links and joints to a mechanism. Faults are recorded.

    Args:
        reading: What is being read.
        found: The mechanism.
        world: The scope of the world.
        step_ns: The timestep, ns.
        included: Whether another file may define where on Earth the world is.
    """
    around = _around(reading, world.element, included=included)
    for scope in world.within():
        for entry in scope.entries.values():
            for element in _sensors(entry.element) if entry.kind in ("link", "joint") else ():
                with recording(reading):
                    read = _read(reading, found, scope, entry, element, 1e9 / step_ns)
                    sensors = (
                        replace(each, parameters={**around.get(each.type, {}), **each.parameters}) for each in read
                    )
                    found.add("sensors", *sensors)


def _around(reading: SdfReading, world: Element, *, included: bool) -> dict[str, dict[str, Any]]:
    """Return parameters of sensors that the world defines, by sensor type.

    As in Gazebo, <magnetic_field> applies only to worlds without a location on Earth: gz-sim, Magnetometer.cc.
    """
    if world.tag != "world":
        return {} if included else {"magnetometer": {"field": MAGNETIC_FIELD}}
    found: dict[str, dict[str, Any]] = {}
    given = child(world, "magnetic_field")
    field = reading.vector(world, "magnetic_field", default=MAGNETIC_FIELD)
    if child(world, "spherical_coordinates") is None:
        if given is not None or not included:
            found["magnetometer"] = {"field": tuple(field.tolist())}
    elif given is not None:
        reading.ignore(given, "with spherical_coordinates, the field is the World Magnetic Model's, as in Gazebo")
    if (air := child(world, "atmosphere")) is not None:
        if (kind := air.get("type", "adiabatic") or "adiabatic") != "adiabatic":
            reading.error(air, f"no atmosphere {quoted(kind)}; allowed: adiabatic", "type")
        keys = {
            "pressure": "sea_level_pressure",
            "temperature": "sea_level_temperature",
            "temperature_gradient": "temperature_gradient",
        }
        values = reading.declared(air, Barometer, keys)
        for key, name in keys.items():
            for _, message in holder_of(Barometer, name).faults(values[name]):
                # Gazebo's sensors use the default in every atmosphere.
                values[name] = plan_of(Barometer).defaults[name]
                reading.approximate(child(air, key) or air, f"{message}; air is measured as with {values[name]:g} here")
        found["barometer"] = found["airspeed"] = values
    return found


def _sensors(owner: Element) -> Iterator[Element]:
    """Yield the sensors of a link or joint, with those that the experimental:params of a merged model adds."""
    yield from owner.all("sensor")
    for added in owner.all("experimental:params"):
        yield from added.all("sensor")


def _gazebo_topic_of(scope: SdfScope, owner: ScopeEntry, element: Element, kind: str) -> str:
    """Return a sensor's topic in Gazebo: its own, or /world/W/model/M/link/L/sensor/S with the suffix of its type."""
    given = text(element, "topic") or text(element, "contact", "topic")
    if given and given != "__default_topic__":
        return ros_name(given)
    parts, at = [owner.kind, owner.name, "sensor", element.get("name") or kind, TOPICS[kind]], scope
    while at.above is not None:
        parts[:0] = [] if at.merged else ["model", at.name]
        at = at.above
    return ros_name("/".join(["world", at.name, *parts]))


def _named(
    reading: SdfReading, found: SdfMechanism, element: Element, name: str, kind: str, type: str
) -> tuple[str, ...]:
    """Return the topics of a sensor, in the order of its messages, from its topic in Gazebo."""
    above, _, _ = name.rpartition("/")
    if kind in ("rgbd_camera", "rgbd"):
        return (f"{name}/image", f"{name}/camera_info") if type == "camera" else (f"{name}/depth_image",)
    if type == "lidar_3d":
        return (f"{name}/points",)
    if type not in ("camera", "depth_camera"):
        return (name,)
    info = text(element, "camera", "camera_info_topic")
    info = ros_name(info or f"{above}/camera_info")
    if info in found.named:
        reading.approximate(element, f"the topic {info} is of another camera, too; here this one's is below its frame")
        return (name,)
    found.named.add(info)
    return name, info


def _read(
    reading: SdfReading, found: SdfMechanism, scope: SdfScope, owner: Any, element: Element, most: float
) -> Iterator[Sensor]:
    kind = element.get("type")
    name = element.get("name") or kind
    if kind == "custom":
        kind = (element.get("gz:type") or element.get("ignition:type") or kind).removeprefix("custom_")
    if kind not in TYPES:
        instead = MISSING.get(kind)
        hint = f"; {instead}" if instead else ""
        reading.leave_out(element, f"there is no sensor of the type {quoted(kind)} here{hint}")
        return
    if owner.kind == "link":
        link = found.links[owner]
    else:
        joint = found.joints.get((scope, owner.name))
        if joint is None:
            return
        link = found.links[joint.child[1]]
        if kind == "force_torque" and found.body(link.frame).joint == "free":
            reading.leave_out(element, "a force_torque needs a joint that carries its link")
            return
    pose = part_pose(reading, scope, owner, element)
    pose = poses.relative(link.pose, poses.compose(world_pose(scope, owner), pose))
    types, make = TYPES[kind]
    parameters = make(reading, element)
    if kind == "altimeter":
        # Gazebo's altimeter measures from its initial height.
        parameters["reference"] = float(poses.compose(link.pose, pose)[2])
        frame = f"{link.frame}/{frame_name(name)}"
        topics = topic_of(frame, "height"), topic_of(frame, "vertical_speed")
        gazebo = _gazebo_topic_of(scope, owner, element, kind)
        found.altimeters[gazebo_topic(gazebo)] = (gazebo, topics[1]) if reading.gazebo_topics else topics
    if "rings" in parameters:
        types = (("lidar_3d", ""),)
    low, high = parameters.get("angle_min", 0.0), parameters.get("angle_max", 0.0)
    if max(abs(low), abs(high)) > math.pi:
        reading.approximate(
            element, "the frame of a lidar is turned to the middle of its rays, which are within half a turn"
        )
        half, turn = min((high - low) / 2.0, math.pi), poses.IDENTITY.copy()
        turn[3:] = quaternions.from_axis_angle([0.0, 0.0, 1.0], (low + high) / 2.0)
        pose = poses.compose(pose, turn)
        parameters |= {"angle_min": -half, "angle_max": half}
    rate = reading.number(element, "update_rate", default=0.0)
    if rate > most:
        reading.approximate(element, f"a sensor measures at most once in a step here, {most:g} Hz")
    elif not rate > 0.0:
        reading.approximate(
            element, f"without an update_rate, a sensor measures at {UNSAID:g} Hz here, not in every step"
        )
    rate = min(rate if rate > 0.0 else UNSAID, most)
    place = place_of(element)
    for of_type, suffix in types:
        if reading.gazebo_topics:
            topic = _gazebo_topic_of(scope, owner, element, kind)
            parameters = {**parameters, "topics": _named(reading, found, element, topic, kind, of_type)}
        yield Sensor(
            f"{link.frame}/{frame_name(name)}{suffix}",
            link.frame,
            pose,
            place=place,
            parent_place=place,
            type=of_type,
            parameters={"rate": rate, **parameters},
        )
