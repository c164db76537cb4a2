"""Types of sensors in scene graphs, and ours: a table, and how parameters translate both ways."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from sim_node.extensions.aerosim.graph import Json, SensorComponent
from sim_node.world.declared import holder_of
from sim_node.world.model import Sensor
from sim_node.world.problems import NO_PLACE, KeyPlace
from sim_node.world.readers.keys import Form, Keys
from sim_node.world.sensor_types import SENSOR_TYPES

# By the last part of AeroSim's names (sensors/cameras/rgb_camera), in lower case: our types. Each of our types may also
# be given by its own name, with its own parameters.
TYPES = {
    "rgb_camera": "camera",
    "depth_sensor": "depth_camera",
    "depth_camera": "depth_camera",
    "imu": "imu",
    "gnss": "gps",
    "gps": "gps",
    "lidar": "lidar_3d",
}
# What these measure is not in a scene graph: joints, and what bodies weigh and touch.
OF_BODIES = ("joint_states", "force_torque", "contact")
CAMERAS = {"camera": "rgb_camera", "depth_camera": "depth_sensor"}
CAPTURE = "capture_enabled"


class CameraParameter(NamedTuple):
    """A parameter of AeroSim's cameras: its unit, ours, and the conversion of numbers both ways."""

    unit: str
    name: str
    read: Callable[[float], float]
    write: Callable[[float], float]


def _same(number: float) -> float:
    return number


def _inverse(number: float) -> float:
    return 1.0 / number if number else math.inf


# tick_rate is the period of pictures, s, in spite of its name: AeroSim has 0.02 beside frame_rate 30.
# fov is horizontal, in degrees.
_CAMERA = {
    "tick_rate": CameraParameter("s", "rate", _inverse, _inverse),
    "fov": CameraParameter("degrees", "horizontal_fov", math.radians, math.degrees),
    "near_clip": CameraParameter("m", "near", _same, _same),
    "far_clip": CameraParameter("m", "far", _same, _same),
}


# The key of a parameter, and those in the groups that it is in before it.
Path = tuple[str, ...]


class Reading(NamedTuple):
    """A sensor component as ours: type (empty for a bare frame), parameters, their places, and why it is bare.

    unknown: the keys, from the outside inwards, of parameters that ours does not have. wrong: messages about
    parameters that are out of range, in the units of the file.
    """

    type: str = ""
    parameters: Mapping[str, Any] = {}
    places: Mapping[str, KeyPlace] = {}
    remark: str = ""
    unknown: tuple[Path, ...] = ()
    wrong: Mapping[str, str] = {}


def sensor_of(component: SensorComponent) -> Reading:
    """Return a sensor of a scene graph as ours.

    Args:
        component: The sensor component.

    Returns:
        Our type and its parameters, which are checked like those of a world file when a run begins. The type is empty
        if there is none like it, or if capture_enabled is false: the sensor is a frame then.
    """
    kind = component.type if component.type in SENSOR_TYPES else TYPES.get(component.kind, "")
    if not kind:
        known = ", ".join(dict.fromkeys((*TYPES, *SENSOR_TYPES)))
        return Reading(remark=f"no sensor is like {component.type!r}, so that it is only a frame; known: {known}")
    if kind in OF_BODIES:
        return Reading(
            remark=f"{kind} needs bodies on joints, which scene graphs do not have, so that it is only a frame"
        )
    if component.parameters.get(CAPTURE) is False:
        return Reading()
    places = {key: KeyPlace(place, place) for key, place in component.places.items()}
    unknown = tuple(_unknown(kind, component.parameters, is_ours=component.type == kind))
    given = _without(component.parameters, {*unknown, (CAPTURE,)})
    if kind not in CAMERAS or component.type == kind:
        return Reading(kind, given, places, unknown=unknown)
    parameters: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    found = {"type": places["type"]} if "type" in places else {}
    for key, value in given.items():
        at = places.get(key, KeyPlace(NO_PLACE, NO_PLACE))
        if key == "resolution":
            width, height = _resolution(value)
            parameters |= {"width": width, "height": height}
            found |= {"width": at, "height": at}
        elif key in _CAMERA:
            ours = _CAMERA[key]
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if is_number and (fault := _fault(kind, ours, value)):
                wrong[key] = fault
                continue
            parameters[ours.name] = ours.read(value) if is_number else value
            found[ours.name] = at
        else:
            parameters[key] = value
            found[key] = at
    return Reading(kind, parameters, found, unknown=unknown, wrong=wrong)


def _fault(kind: str, ours: CameraParameter, number: float) -> str:
    """Return why a camera cannot have a number, in the unit of the file; empty if it can."""
    holds: Any = holder_of(SENSOR_TYPES[kind], ours.name)
    if not any(holds.faults(ours.read(number))):
        return ""
    if not math.isfinite(holds.high):
        return f"{number:g} is out of range; allowed: above 0 {ours.unit}"
    if holds.above > -math.inf:
        return f"{number:g} is out of range; allowed: {holds.allowed()} {ours.unit}"
    low, high = sorted((ours.write(holds.low), ours.write(holds.high)))
    return f"{number:g} is out of range; allowed: {low:.4g} to {high:.4g} {ours.unit}"


def _unknown(kind: str, parameters: Mapping[str, Json], *, is_ours: bool) -> Iterator[Path]:
    """Yield the parameters that a sensor of our type does not have, under our names or AeroSim's."""
    of_camera = ("resolution", *_CAMERA) if kind in CAMERAS and not is_ours else ()
    others = {key: value for key, value in parameters.items() if key not in (*of_camera, CAPTURE)}
    return _not_among(SENSOR_TYPES[kind].keys(), others)


def _not_among(forms: Keys, given: Mapping[str, Json]) -> Iterator[Path]:
    """Yield the parameters that have no form, also in groups."""
    for key, value in given.items():
        if key not in forms:
            yield (key,)
        elif isinstance(value, Mapping) and (group := _group(forms[key])) is not None:
            yield from ((key, *path) for path in _not_among(group, value))


def _group(form: Form) -> Keys | None:
    """Return the keys of a group of parameters; None for a parameter by itself."""
    forms = form.get("anyOf", ()) if isinstance(form, Mapping) else ()
    return next((each for each in forms if isinstance(each, Keys)), None)


def _without(given: Mapping[str, Json], paths: Collection[Path]) -> dict[str, Json]:
    """Return parameters without those at some paths."""
    return {
        key: _without(value, {path[1:] for path in paths if path[0] == key and len(path) > 1})
        if isinstance(value, Mapping)
        else value
        for key, value in given.items()
        if (key,) not in paths
    }


def _with(parameters: Mapping[str, Json], given: Mapping[str, Json], paths: Iterable[Path]) -> dict[str, Json]:
    """Return parameters with those that others have at some paths."""
    found = dict(parameters)
    for key, *inner in paths:
        if not inner:
            found[key] = given[key]
        elif isinstance(within := found.get(key, {}), Mapping):
            found[key] = _with(within, given[key], [tuple(inner)])
    return found


def component_of(sensor: Sensor, given: Mapping[str, Json] | None = None) -> SensorComponent | None:
    """Return one of our sensors as a component; None for a bare frame.

    Args:
        sensor: The sensor.
        given: The parameters that it had in a scene graph: those that ours does not have are kept.

    Returns:
        Cameras as AeroSim has them, with all their parameters; other sensors under our name, with our parameters.
    """
    if not sensor.type:
        return None
    given = given or {}
    kept = [path for path in ((CAPTURE,), *_unknown(sensor.type, given, is_ours=False)) if path[0] in given]
    if sensor.type not in CAMERAS:
        return SensorComponent(sensor.name, sensor.type, _with(sensor.parameters, given, kept))
    defaults: Any = SENSOR_TYPES[sensor.type]()
    values = {key: sensor.parameters.get(key, getattr(defaults, key)) for key in ("width", "height")}
    parameters: dict[str, Json] = {"resolution": {"x": int(values["width"]), "y": int(values["height"])}}
    for key, ours in _CAMERA.items():
        parameters[key] = _rounded(ours.write(sensor.parameters.get(ours.name, getattr(defaults, ours.name))))
    written = {"width", "height", *(each.name for each in _CAMERA.values())}
    others = {key: value for key, value in sensor.parameters.items() if key not in written}
    return SensorComponent(sensor.name, CAMERAS[sensor.type], _with({**parameters, **others}, given, kept))


def _resolution(value: Json) -> tuple[Json, Json]:
    """Return width and height of {x, y} or [width, height]; what is neither is refused with the sensor's parameters."""
    if isinstance(value, Mapping) and {"x", "y"} <= value.keys():
        return value["x"], value["y"]
    if isinstance(value, list) and len(value) == 2:
        return value[0], value[1]
    return value, value


def _rounded(number: float) -> float:
    """Return a number without the rounding of two conversions: 90 degrees, not 90.00000000000001."""
    nearest = float(f"{number:.14g}")
    return nearest if abs(nearest - number) <= 4e-15 * abs(number) else number
