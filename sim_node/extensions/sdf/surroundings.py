"""The surroundings of the models of an SDF world: physics, gravity, origin, wind, scene, lights and ground."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sim_node.extensions.sdf import uris
from sim_node.extensions.sdf.document import part_pose
from sim_node.extensions.sdf.elements import (
    SdfReading,
    child,
    place_of,
    text,
    text_of,
)
from sim_node.extensions.sdf.friction import ENGINES, friction_of
from sim_node.extensions.sdf.scopes import ScopeEntry, ScopeFault, SdfScope, world_pose
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.forces import Wind
from sim_node.world.image_files import TEXTURES
from sim_node.world.locate import LocateError
from sim_node.world.model import MIN_STEP_NS, Origin, TimeGrid
from sim_node.world.physics import Physics
from sim_node.world.problems import quoted
from sim_node.world.readers.report import Setting
from sim_node.world.readers.xml_elements import Element
from sim_node.world.scene import MAX_LIGHTS, Ground, Heightmap, Light, Sky
from sim_node.world.surfaces import Surface

# The default of SDF's <gravity>, m/s^2.
GRAVITY = (0.0, 0.0, -9.8)
# The default of SDF's <max_step_size>, s.
STEP_S = 1e-3
# Like Gazebo's engines, it integrates damping implicitly. With light links, rk4 would need a shorter timestep.
INTEGRATOR = "implicitfast"
LIGHTS = {"directional": "directional", "point": "point", "spot": "spot"}


@dataclass
class SdfSurroundings:
    """The global properties of a world: time, physics, location on Earth, and parts by kind."""

    time: TimeGrid = field(default_factory=lambda: TimeGrid(step_ns=round(STEP_S * 1e9)))
    physics: Physics = field(default_factory=lambda: Physics(gravity=np.array(GRAVITY), integrator=INTEGRATOR))
    origin: Origin | None = None
    parts: dict[str, list[Any]] = field(default_factory=dict)


def surroundings_of(reading: SdfReading, scope: SdfScope) -> SdfSurroundings:
    """Return the surroundings of the models of a world."""
    element, found = scope.element, SdfSurroundings()
    report = reading.report
    if scope.element.tag == "world":
        physics = _chosen_physics(element)
        for other in element.all("physics"):
            if other is not physics:
                reading.ignore(other, "another <physics> is the default")
        step = reading.number(physics, "max_step_size", default=STEP_S)
        step_ns = round(step * 1e9) if 0.0 < step < 1e3 else 0
        if step_ns < MIN_STEP_NS:
            reading.error(physics or element, f"max_step_size {step:g} s is out of range; allowed: from 1e-6 s")
            step_ns = round(STEP_S * 1e9)
        gravity = reading.vector(element, "gravity", default=GRAVITY)
        old = None if physics is None or child(element, "gravity") is not None else child(physics, "gravity")
        if old is not None:  # before 1.6, gravity was in <physics>
            gravity = reading.vector(physics, "gravity", default=GRAVITY)
        place = place_of(physics or element, "physics")
        found.time = TimeGrid(step_ns=step_ns)
        found.physics = Physics(gravity=gravity, integrator=INTEGRATOR, place=place)
        report.settings.append(Setting(place_of(element, "gravity"), ("physics", "gravity"), gravity))
        if (given := child(physics, "max_step_size")) is not None:
            report.settings.append(Setting(place_of(given), ("time", "step_ns"), step_ns))
        if (given := child(element, "spherical_coordinates")) is not None:
            found.origin = _origin(reading, given)
            report.settings.append(Setting(place_of(given), ("origin",), found.origin))
        wind = reading.vector(element, "wind", "linear_velocity", default=(0.0, 0.0, 0.0))
        if wind.any():
            found.parts["wind"] = [Wind(wind, place=place_of(element, "wind"))]
        if (sky := _sky(reading, element)) is not None:
            found.parts["sky"] = [sky]
    lights = list(_lights(reading, element, scope))
    if lights:
        found.parts["lights"] = [light for _, light in lights[:MAX_LIGHTS]]
        for other, _ in lights[MAX_LIGHTS:]:
            reading.leave_out(other, f"a world has up to {MAX_LIGHTS} lights here")
    for entry in scope.of_kind("model"):
        if entry.inner is not None and entry.inner.is_fixed and "ground" not in found.parts:
            found.parts |= _heightmap(reading, entry)
    for kind, parts in found.parts.items():
        whole = tuple(parts) if kind == "lights" else parts[0]
        report.settings.append(Setting(parts[0].place, (kind,), whole))
    return found


def elements_of(element: Element, tag: str) -> Iterator[Element]:
    """Yield the elements with a tag in a world, including those of its includes."""
    for each in element.children:
        if each.tag == tag:
            each.read = True
            yield each
        elif each.tag == "include":
            yield from (inner for inner in each.children if inner.tag == tag)


def _chosen_physics(element: Element) -> Element | None:
    rows = element.all("physics")
    return next((each for each in rows if each.get("default") in ("1", "true")), rows[0] if rows else None)


def _origin(reading: SdfReading, place: Element) -> Origin:
    if reading.number(place, "heading_deg", default=0.0):
        reading.approximate(place, "heading_deg is treated as 0: x of the world is east here")
    latitude, longitude = (reading.number(place, f"{key}_deg", default=0.0) for key in ("latitude", "longitude"))
    surface = text(place, "surface_model", default="EARTH_WGS84")
    if surface != "EARTH_WGS84":
        reading.approximate(place, f"{surface} is treated as EARTH_WGS84")
    frame = text(place, "world_frame_orientation", default="ENU")
    if frame != "ENU":
        reading.error(place, f"world_frame_orientation {quoted(frame)}; allowed: ENU")
    return Origin(latitude, longitude, reading.number(place, "elevation", default=0.0))


def _sky(reading: SdfReading, element: Element) -> Sky | None:
    scene = child(element, "scene")
    if scene is None:
        return None
    ambient, background = reading.colour(scene, "ambient"), reading.colour(scene, "background")
    for sky in scene.all("sky"):
        reading.ignore(sky, "the sky has a colour, not clouds")
    if ambient is None and background is None:
        return None
    seen = None if background is None else background[:3]
    return Sky(seen, seen, None if ambient is None else float(ambient[:3].mean()), place=place_of(scene, "sky"))


def _lights(reading: SdfReading, element: Element, scope: SdfScope) -> Iterator[tuple[Element, Light]]:
    for light in elements_of(element, "light"):
        kind = light.get("type")
        if kind not in LIGHTS:
            reading.error(light, f"no light type {quoted(kind)}; allowed: {', '.join(LIGHTS)}", "type")
            continue
        if not reading.flag(light, "light_on", default=True) or not reading.number(light, "intensity", default=1.0):
            reading.ignore(light, "it is off")
            continue
        pose = poses.IDENTITY
        with suppress(ScopeFault):  # recorded where the frame is read
            pose = part_pose(reading, scope, None, light)
        intensity = reading.number(light, "intensity", default=1.0)
        diffuse = reading.colour(light, "diffuse")
        colour = np.ones(3) if diffuse is None else diffuse[:3]
        given: dict[str, Any] = {"colour": np.clip(colour * max(intensity, 0.0), 0.0, 1.0), "place": place_of(light)}
        if kind != "directional":
            given["position"] = pose[:3]
            fade = child(light, "attenuation")
            terms = [
                reading.number(fade, key, default=default)
                for key, default in (("constant", 1.0), ("linear", 1.0), ("quadratic", 0.0))
            ]
            if any(terms) and min(terms) >= 0.0:
                given["attenuation"] = np.array(terms)
        if kind != "point":
            direction = reading.vector(light, "direction", default=(0.0, 0.0, -1.0))
            direction = quaternions.rotate(pose[3:], direction)
            given["direction"] = direction if np.linalg.norm(direction) > 0.0 else np.array([0.0, 0.0, -1.0])
            given["shadows"] = reading.flag(light, "cast_shadows")
        if kind == "spot":
            spot = child(light, "spot")
            outer = reading.number(spot, "outer_angle", default=0.0)
            given["angle"] = min(max(outer / 2.0, 1e-3), math.pi / 2.0)
        yield light, Light(LIGHTS[kind], **given)


def _heightmap(reading: SdfReading, entry: ScopeEntry) -> dict[str, list[Any]]:
    """Return the ground from the first heightmap of a static model, and remove the heightmap from the model."""
    assert entry.inner is not None
    for link in entry.inner.of_kind("link"):
        for collision in link.element.all("collision"):
            given = child(collision, "geometry", "heightmap")
            if given is None:
                continue
            pose = poses.IDENTITY
            with suppress(ScopeFault):  # recorded where the link is read
                pose = part_pose(reading, entry.inner, link, collision)
                pose = poses.compose(world_pose(entry.inner, link), pose)
            ground = _ground(reading, given, pose)
            if ground is not None:
                link.element.children.remove(collision)
                return {"ground": [replace(ground, surface=_surface(reading, child(collision, "surface")))]}
    return {}


def _surface(reading: SdfReading, given: Element | None) -> Surface:
    """Return the friction of the ground. Other properties of its surface remain unread, and are reported."""
    if given is None:
        return Surface(combine="smaller")
    for engine, along, across in ENGINES:
        first, second = (child(given, "friction", engine, name) for name in (along, across))
        if second is not None and reading.number(second, default=1.0) != reading.number(first, default=1.0):
            reading.approximate(second, f"the ground has the friction of {along} in all directions here")
    return Surface(combine="smaller", **friction_of(reading, given))


def _ground(reading: SdfReading, given: Element, pose: FloatArray) -> Ground | None:
    uri = child(given, "uri")
    size = reading.vector(given, "size", default=(1.0, 1.0, 1.0))
    at = pose[:3] + reading.vector(given, "pos", default=(0.0, 0.0, 0.0))
    if abs(pose[6]) < 1.0 - 1e-9:
        reading.leave_out(given, "a heightmap that is turned is not read")
        return None
    for key in ("texture", "blend"):
        for each in given.all(key):
            reading.ignore(each, "the ground has one colour")
    try:
        path = uris.find(text_of(uri), reading.file_of(given), reading.roots)
        if path.suffix.lower() not in TEXTURES:
            raise LocateError(f"{quoted(path.name)} is not a supported heightmap; allowed: {', '.join(TEXTURES)}")
        reading.report.read.append(path)
        heights = Heightmap(size[:2], file=path, range=np.array([0.0, size[2]]), centre=at[:2])
    except (LocateError, ValueError) as error:
        reading.error(uri or given, str(error))
        return None
    return Ground(float(at[2]), heights, place=place_of(given, "ground"))
