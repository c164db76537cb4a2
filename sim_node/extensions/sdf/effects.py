"""SDF elements that are known but have no effect, and the report of elements that were not read."""

from __future__ import annotations

from collections.abc import Mapping

from sim_node.extensions.sdf.elements import SdfReading, text_of
from sim_node.world.readers.report import ElementEffect
from sim_node.world.readers.unread import Inner, mark, report_unread, unread
from sim_node.world.readers.xml_elements import Element

# Reasons why elements and attributes have no effect, with their parents.
_WHY: Mapping[str, Mapping[str, str]] = {
    "of Gazebo itself": {"world": "gui audio state road population"},
    "how Gazebo draws": {
        "visual": "cast_shadows laser_retro meta",
        "material": "specular emissive shader lighting double_sided render_order ambient diffuse pbr",
        "metal": "metalness normal_map roughness_map metalness_map environment_map ambient_occlusion_map emissive_map "
        "light_map roughness",
        "specular": "specular_map glossiness_map glossiness normal_map",
        "light": "specular visualize light_on attenuation direction cast_shadows spot",
        "attenuation": "range constant linear quadratic",
        "spot": "inner_angle falloff",
        "scene": "shadows grid origin_visual fog",
        "collision": "laser_retro",
        "mesh": "convex_decomposition optimization",
        "plane": "size",
        "heightmap": "sampling use_terrain_paging",
    },
    "settings of Gazebo's engines": {
        "world": "physics",
        "physics": "name type default real_time_factor real_time_update_rate max_contacts ode dart simbody bullet",
        "collision": "max_contacts auto_inertia_params density",
        "contact": "ode collide_without_contact_bitmask category_bitmask poissons_ratio elastic_modulus",
        "friction": "bullet",
        "ode": "fdir1",
        "bullet": "fdir1 rolling_friction",
        "bounce": "threshold",
        "limit": "stiffness dissipation",
        "joint": "physics thread_pitch",
        "link": "velocity_decay",
        "model": "allow_auto_disable",
        "surface": "soft_contact",
        "torsional": "ode surface_radius",
        "inertial": "density auto_inertia_params",
        "axis": "initial_position",
    },
    "topics have the names of frames here": {
        "sensor": "topic always_on visualize gz_frame_id ignition_frame_id enable_metrics frame_id hz",
        "camera": "optical_frame_id camera_info_topic trigger_topic triggered save name",
        "contact": "topic",
        "ray": "visualize",
        "lidar": "visualize",
    },
    "what sensors here do not have": {
        "camera": "lens visibility_mask depth_camera noise box_type",
        "image": "format anti_aliasing",
        "distortion": "center",
        "depth_camera": "clip",
        "lidar": "visibility_mask",
        "horizontal": "resolution min_angle",
        "vertical": "resolution min_angle max_angle",
        "range": "resolution",
        "noise": "bias_mean",
        "pressure": "reference_altitude",
        "air_pressure": "reference_altitude",
        "imu": "orientation_reference_frame enable_orientation",
        "contact": "bullet",
    },
    "MuJoCo has no limits of speeds, and nothing drives the joint": {"limit": "velocity"},
    "of URDF": {"link": "must_be_base_link"},
    "plug-ins are known by name": {"plugin": "filename"},
    "the declaration of a name": {"sdf": "xmlns:xacro"},
    "the format": {"sdf": "version"},
}
# The same reasons by the keys of messages: parent.tag or parent.attribute.
WITHOUT_EFFECT = {
    f"{parent}.{tag}": why for why, parents in _WHY.items() for parent, tags in parents.items() for tag in tags.split()
}
# Flags that are off by default, and that are not read for static models and worlds without wind.
_OFF = ("self_collide", "enable_wind")
# Attributes that have no meaning of their own once their elements are read.
NAMES = ("name", "xmlns:xacro", "xmlns:gz", "xmlns:ignition", "xmlns:experimental")


def _why_usual(inner: Inner) -> str | None:
    """Return why an element has no effect if it is a flag with its default value, otherwise None."""
    element = inner.part
    is_off = isinstance(element, Element) and element.tag in _OFF and text_of(element) in ("false", "0")
    return "the default" if is_off else None


def report_effects(reading: SdfReading) -> None:
    """Mark elements that are known to have no effect, and warn once of all others that were not read."""
    left = []
    for root in reading.opened:
        for inner in unread(root):
            why = WITHOUT_EFFECT.get(inner.key) or _why_usual(inner)
            if why is None and inner.key.rpartition(".")[2] not in NAMES:
                left.append(inner)
                continue
            mark(inner.part)
            if why is not None:
                reading.report.effects.append(ElementEffect(inner.file, inner.at, inner.key, "no effect", why))
    # Deduplicate: a model that is included several times is read several times.
    report_unread({(inner.file, inner.at, inner.key): inner for inner in left}.values(), reading.report)
    unknown = (ElementEffect(each.file, each.at, each.key, "no effect", "unknown here") for each in left)
    reading.report.effects.extend(unknown)
