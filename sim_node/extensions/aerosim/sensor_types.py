"""Sensor types of scene graphs and of sim_node: a table, and the translation of parameters in both directions."""

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

# sim_node types by the last part of AeroSim's names (sensors/cameras/rgb_camera), in lower case. Each sim_node type may
# also be given by its own name, with its own parameters.
TYPES = {
    "rgb_camera": "camera",
    "depth_sensor": "depth_camera",
    "depth_camera": "depth_camera",
    "imu": "imu",
    "gnss": "gps",
    "gps": "gps",
    "lidar": "lidar_3d",
}
# Types that a scene graph cannot support, because it has no joints, masses or contacts.
OF_BODIES = ("joint_states", "force_torque", "contact")
CAMERAS = {"camera": "rgb_camera", "depth_camera": "depth_sensor"}
CAPTURE = "capture_enabled"


class CameraParameter(NamedTuple):
    """A parameter of AeroSim's cameras: its unit, the sim_node parameter, and the conversions in both directions."""

    unit: str
    name: str
    read: Callable[[float], float]
    write: Callable[[float], float]


def _same(number: float) -> float:
    return number


def _inverse(number: float) -> float:
    return 1.0 / number if number else math.inf


# tick_rate is the period of images, s, despite its name: AeroSim has 0.02 beside frame_rate 30.
# fov is horizontal, in degrees.
_CAMERA = {
    "tick_rate": CameraParameter("s", "rate", _inverse, _inverse),
    "fov": CameraParameter("degrees", "horizontal_fov", math.radians, math.degrees),
    "near_clip": CameraParameter("m", "near", _same, _same),
    "far_clip": CameraParameter("m", "far", _same, _same),
}


# The key of a parameter, preceded by the keys of the groups that contain it.
Path = tuple[str, ...]


class Reading(NamedTuple):
    """A sensor component as a sim_node sensor.

    It has the type (empty for a bare frame), the parameters, their locations, and why it is bare. `unknown` has the
    paths of parameters that the sim_node sensor does not have, and `wrong` the messages about parameters that are out
    of range, in the units of the file.
    """

    type: str = ""
    parameters: Mapping[str, Any] = {}
    places: Mapping[str, KeyPlace] = {}
    remark: str = ""
    unknown: tuple[Path, ...] = ()
    wrong: Mapping[str, str] = {}


def sensor_of(component: SensorComponent) -> Reading:
    """Convert a sensor of a scene graph to a sim_node sensor.

    Args:
        component: The sensor component.

    Returns:
        The sim_node type and its parameters, which are checked at the start of a run like those of a world file. The
        type is empty if there is no equivalent, or if capture_enabled is false; the sensor is then a bare frame.
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
    """Return why a number is invalid for a camera parameter, in the unit of the file; empty if it is valid."""
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
    """Yield the parameters that a sim_node sensor type does not have, by sim_node's or AeroSim's names."""
    of_camera = ("resolution", *_CAMERA) if kind in CAMERAS and not is_ours else ()
    others = {key: value for key, value in parameters.items() if key not in (*of_camera, CAPTURE)}
    return _not_among(SENSOR_TYPES[kind].keys(), others)


def _not_among(forms: Keys, given: Mapping[str, Json]) -> Iterator[Path]:
    """Yield the parameters that have no form, including those in groups."""
    for key, value in given.items():
        if key not in forms:
            yield (key,)
        elif isinstance(value, Mapping) and (group := _group(forms[key])) is not None:
            yield from ((key, *path) for path in _not_among(group, value))


def _group(form: Form) -> Keys | None:
    """Return the keys of a group of parameters; None for a single parameter."""
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
    """Return parameters with those of `given` at some paths added."""
    found = dict(parameters)
    for key, *inner in paths:
        if not inner:
            found[key] = given[key]
        elif isinstance(within := found.get(key, {}), Mapping):
            found[key] = _with(within, given[key], [tuple(inner)])
    return found


def component_of(sensor: Sensor, given: Mapping[str, Json] | None = None) -> SensorComponent | None:
    """Convert a sim_node sensor to a component; None for a bare frame.

    Args:
        sensor: The sensor.
        given: Its parameters in a scene graph, of which those without an equivalent are kept.

    Returns:
        For cameras, a component with all of AeroSim's parameters; for other sensors, one with sim_node's type and
        parameters.
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
    """Return width and height of {x, y} or [width, height]. Other values are refused later, with the parameters."""
    if isinstance(value, Mapping) and {"x", "y"} <= value.keys():
        return value["x"], value["y"]
    if isinstance(value, list) and len(value) == 2:
        return value[0], value[1]
    return value, value


def _rounded(number: float) -> float:
    """Return a number without the rounding error of two conversions: 90 degrees, not 90.00000000000001."""
    nearest = float(f"{number:.14g}")
    return nearest if abs(nearest - number) <= 4e-15 * abs(number) else number
