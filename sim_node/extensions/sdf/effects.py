"""Elements of SDF that have no effect here and are known, and the report of those that nobody read."""

from __future__ import annotations

from sim_node.extensions.sdf.elements import SdfReading
from sim_node.world.readers.report import ElementEffect
from sim_node.world.readers.unread import mark, report_unread, unread

DRAWING = "how Gazebo draws"
ENGINE = "settings of Gazebo's engines"
TOPIC = "topics have the names of frames here"
# Elements by their parent and tag, or attributes, and why they have no effect.
WITHOUT_EFFECT: dict[str, str] = {
    **dict.fromkeys(("world.gui", "world.audio", "world.state", "world.road", "world.population"), "of Gazebo itself"),
    **dict.fromkeys(
        (
            *("visual.cast_shadows", "visual.laser_retro", "visual.meta", "material.specular", "material.emissive"),
            *(
                "material.shader",
                "material.lighting",
                "material.double_sided",
                "material.render_order",
                "material.ambient",
            ),
            *("material.diffuse", "material.pbr", "metal.metalness", "metal.normal_map", "metal.roughness_map"),
            *("metal.metalness_map", "metal.environment_map", "metal.ambient_occlusion_map", "metal.emissive_map"),
            *("metal.light_map", "metal.roughness", "specular.specular_map", "specular.glossiness_map"),
            *("specular.glossiness", "specular.normal_map", "light.specular", "light.visualize", "attenuation.range"),
            *("spot.inner_angle", "spot.falloff", "scene.shadows", "scene.grid", "scene.origin_visual", "scene.fog"),
            *(
                "light.light_on",
                "collision.laser_retro",
                "mesh.convex_decomposition",
                "mesh.optimization",
                "plane.size",
            ),
            *("heightmap.sampling", "heightmap.use_terrain_paging", "attenuation.constant", "attenuation.linear"),
            *("attenuation.quadratic", "light.attenuation", "light.direction", "light.cast_shadows", "light.spot"),
        ),
        DRAWING,
    ),
    **dict.fromkeys(
        (
            *(
                "world.physics",
                "physics.name",
                "physics.type",
                "physics.default",
                "physics.real_time_factor",
                "physics.ode",
            ),
            *(
                "physics.real_time_update_rate",
                "physics.max_contacts",
                "physics.dart",
                "physics.simbody",
                "physics.bullet",
            ),
            *(
                "world.atmosphere",
                "collision.max_contacts",
                "contact.ode",
                "contact.bullet",
                "friction.bullet",
                "ode.slip1",
            ),
            *("ode.slip2", "ode.fdir1", "ode.mu2", "bounce.threshold", "limit.stiffness", "limit.dissipation"),
            *(
                "joint.physics",
                "link.velocity_decay",
                "model.allow_auto_disable",
                "surface.soft_contact",
                "torsional.ode",
            ),
            *("torsional.surface_radius", "contact.collide_without_contact_bitmask", "contact.category_bitmask"),
            *("contact.poissons_ratio", "contact.elastic_modulus", "joint.thread_pitch", "inertial.density"),
            *(
                "inertial.auto_inertia_params",
                "collision.auto_inertia_params",
                "collision.density",
                "axis.initial_position",
            ),
        ),
        ENGINE,
    ),
    **dict.fromkeys(
        (
            *("sensor.topic", "sensor.always_on", "sensor.visualize", "sensor.gz_frame_id", "sensor.ignition_frame_id"),
            *("sensor.enable_metrics", "camera.optical_frame_id", "camera.camera_info_topic", "camera.trigger_topic"),
            *("camera.triggered", "contact.topic", "camera.save", "ray.visualize", "lidar.visualize", "camera.name"),
            *("sensor.frame_id", "sensor.hz"),
        ),
        TOPIC,
    ),
    **dict.fromkeys(
        (
            *("horizontal.resolution", "vertical.resolution", "image.format", "image.anti_aliasing", "camera.lens"),
            *("camera.visibility_mask", "lidar.visibility_mask", "pressure.reference_altitude", "noise.bias_mean"),
            *("air_pressure.reference_altitude", "imu.orientation_reference_frame", "imu.enable_orientation"),
            *("camera.depth_camera", "depth_camera.clip", "horizontal.min_angle", "range.resolution", "camera.noise"),
            *("vertical.min_angle", "vertical.max_angle", "camera.box_type", "distortion.center", "contact.bullet"),
        ),
        "what sensors here do not have",
    ),
    "world.magnetic_field": "magnetometers have the World Magnetic Model of the place",
    "link.must_be_base_link": "of URDF",
    "plugin.filename": "plug-ins are known by name",
    "sdf.xmlns:xacro": "the declaration of a name",
    "sdf.version": "the format",
}
# Attributes whose elements are read, and that say nothing by themselves.
NAMES = ("name", "xmlns:xacro", "xmlns:gz", "xmlns:ignition", "xmlns:experimental")


def report_effects(reading: SdfReading) -> None:
    """Mark what is known to have no effect, and warn once of everything else that nobody read."""
    left = []
    for root in reading.opened:
        for inner in unread(root):
            why = WITHOUT_EFFECT.get(inner.key)
            if why is None and inner.key.rpartition(".")[2] not in NAMES:
                left.append(inner)
                continue
            mark(inner.part)
            if why is not None:
                reading.report.effects.append(ElementEffect(inner.file, inner.at, inner.key, "no effect", why))
    # A model that is included again is read again.
    report_unread({(inner.file, inner.at, inner.key): inner for inner in left}.values(), reading.report)
    unknown = (ElementEffect(each.file, each.at, each.key, "no effect", "unknown here") for each in left)
    reading.report.effects.extend(unknown)
