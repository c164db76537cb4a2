"""The SceneGraph: entities, their components, and the resources of a scene, as frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.declared import declared, given, place_of
from sim_node.world.problems import NO_PLACE, Place, quoted
from sim_node.world.quantities import Vector

# JSON values: numbers, strings, booleans, None, and lists and mappings of them.
Json = Any
# The component groups that are interpreted. Others are kept unchanged.
PROPERTIES, STATE, EFFECTORS, SENSOR = "actor_properties", "actor_state", "effectors", "sensor"
GROUPS = (PROPERTIES, STATE, EFFECTORS, SENSOR)
# AeroSim's documentation says sensors, but its examples and its program say sensor.
GROUP_ALIASES = {"sensors": SENSOR}


@declared
class Transform3D:
    """Position, orientation and scale as the file has them, in the file's convention.

    Raises:
        ValueError: An array has the wrong shape.
    """

    pose: FloatArray = given(Vector(7), "Pose [x y z qx qy qz qw] in the parent", "m", default=tuple(poses.IDENTITY))
    scale: FloatArray = given(Vector(3), "Scale along the entity's own axes", default=(1.0, 1.0, 1.0))
    extra: Mapping[str, Json] = given(None, "Further keys", default_factory=dict)
    beside: Mapping[str, Json] = given(None, "Further keys of the pose that holds it", default_factory=dict)


class Ellipsoid(NamedTuple):
    """The ellipsoid of geodetic coordinates; WGS84 by default.

    Attributes:
        equatorial_radius: Semi-major axis, m.
        flattening_factor: (equatorial_radius - polar_radius) / equatorial_radius.
        polar_radius: Semi-minor axis, m.
    """

    equatorial_radius: float = 6378137.0
    flattening_factor: float = 0.0033528106647474805
    polar_radius: float = 6356752.314245179


_POINT = Vector(3)


@declared
class WorldCoordinate:
    """The position of an entity on Earth, in several conventions; None for what the file leaves out.

    Raises:
        ValueError: An array has the wrong shape.
    """

    ned: FloatArray | None = given(_POINT, "North, east and down of the origin", "m", default=None)
    lla: FloatArray | None = given(
        _POINT, "Latitude and longitude (degrees), and height above the ellipsoid", "m", default=None
    )
    ecef: FloatArray | None = given(_POINT, "Earth-centred, Earth-fixed coordinates", "m", default=None)
    cartesian: FloatArray | None = given(_POINT, "ECEF coordinates minus those of the origin", "m", default=None)
    origin_lla: FloatArray | None = given(_POINT, "The origin of `ned`, like `lla`", default=None)
    ellipsoid: Ellipsoid | None = given(None, "The ellipsoid", default=None)
    extra: Mapping[str, Json] = given(None, "Further keys", default_factory=dict)
    place: Place = place_of(default=NO_PLACE)


@dataclass(frozen=True, slots=True)
class Effector:
    """A moving part of an actor: a rotor, a propeller, a flap.

    Attributes:
        id: Unique in the actor.
        path: The path of the part in the actor's asset.
        transform: The transform in the actor.
        extra: Further keys.
        place: The location of the id in the file.
    """

    id: str
    path: str = ""
    transform: Transform3D = field(default_factory=Transform3D)
    extra: Mapping[str, Json] = field(default_factory=dict)
    place: Place = field(default=NO_PLACE, compare=False)


@dataclass(frozen=True, slots=True)
class SensorComponent:
    """A sensor on an entity.

    Attributes:
        name: Its name.
        type: The type in the file, such as rgb_camera or sensors/cameras/rgb_camera.
        parameters: Its parameters, without the wrapping in the name of their class that AeroSim's program adds.
        extra: Further keys.
        places: The locations of the type and each parameter in the file.
    """

    name: str
    type: str
    parameters: Mapping[str, Json] = field(default_factory=dict)
    extra: Mapping[str, Json] = field(default_factory=dict)
    places: Mapping[str, Place] = field(default_factory=dict, compare=False)

    @property
    def kind(self) -> str:
        """The last part of its type, in lower case."""
        return self.type.rpartition("/")[2].lower()


@dataclass(frozen=True, slots=True)
class SceneEntity:
    """An entity with its components.

    Attributes:
        id: The key of the entity, such as entity_0.
        name: actor_name; empty if it has none.
        asset: actor_asset, the reference of the 3D model.
        parent: The id of the parent; empty for none.
        transform: The transform in the parent; None without actor_state.
        world_coordinate: The position on Earth; None if the file has none.
        effectors: Its effectors; None without that component, which differs from an empty list.
        sensor: Its sensor, or None.
        components: Components of other groups, by group, unchanged from the file.
        extra: Further keys of actor_properties and actor_state, by group.
        place: The location of the name in the file, or else of the id.
        parent_place: The location of the parent in the file.
    """

    id: str
    name: str = ""
    asset: str = ""
    parent: str = ""
    transform: Transform3D | None = None
    world_coordinate: WorldCoordinate | None = None
    effectors: tuple[Effector, ...] | None = None
    sensor: SensorComponent | None = None
    components: Mapping[str, Json] = field(default_factory=dict)
    extra: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    place: Place = field(default=NO_PLACE, compare=False)
    parent_place: Place = field(default=NO_PLACE, compare=False)

    @property
    def frame(self) -> str:
        """The name of its frame: its name, that of its sensor, or its id."""
        return self.name or (self.sensor.name if self.sensor else "") or self.id

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of its components, in AeroSim's order."""
        own = (
            (PROPERTIES, True),
            (STATE, self.transform is not None),
            (EFFECTORS, self.effectors is not None),
            (SENSOR, self.sensor is not None),
        )
        return (*(name for name, there in own if there), *self.components)


@dataclass(frozen=True, slots=True)
class SceneGraph:
    """A scene: entities with their components, and resources.

    Attributes:
        entities: The entities in the order of the file.
        resources: Properties of the whole scene by name, such as origin and weather.
        groups: Further component groups in the file, some of which may be empty.
        extra: Further keys of the file.
    """

    entities: tuple[SceneEntity, ...] = ()
    resources: Mapping[str, Json] = field(default_factory=dict)
    groups: tuple[str, ...] = ()
    extra: Mapping[str, Json] = field(default_factory=dict)

    def entity(self, id: str) -> SceneEntity:
        """Return an entity.

        Args:
            id: The id, such as entity_0.

        Returns:
            The entity.

        Raises:
            KeyError: There is no such entity; the message names the nearest id.
        """
        for each in self.entities:
            if each.id == id:
                return each
        raise KeyError(f"no entity {quoted(id)}{did_you_mean(id, [each.id for each in self.entities])}")
