"""Surfaces, layers and materials of shapes, and the solver's options, in a MuJoCo specification."""

from __future__ import annotations

from collections.abc import Iterable

import mujoco

from sim_node.world.contact_materials import ContactMaterial
from sim_node.world.image_textures import add_texture
from sim_node.world.layers import DEFAULT, filter_of, masks_of
from sim_node.world.mujoco_source import HIDDEN_GROUP
from sim_node.world.physics import Physics
from sim_node.world.shapes import Geometry
from sim_node.world.surfaces import DEFAULT_FRICTION, IMPEDANCE, STICKING_CONE, STICKING_IMPRATIO, Surface, solref

_BITS = 0xFFFF_FFFF
# Weight of an impedance that counts only beside its like.
_HARDLY = 1e-9
# Textures on planes, heightmaps and meshes lie flat; those on other shapes are on the sides of a cube around them.
_FLAT = (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD, mujoco.mjtGeom.mjGEOM_MESH)


def set_solver(spec: mujoco.MjSpec, physics: Physics, *, has_surfaces: bool) -> None:
    """Set the options of the constraint solver. Without any, those of MuJoCo remain.

    Args:
        spec: The specification.
        physics: The world's physics.
        has_surfaces: Whether a shape gives friction or restitution. Then cones are elliptic by default.
    """
    cone, impratio = physics.cone, physics.impratio
    if cone is None and has_surfaces:
        cone, impratio = STICKING_CONE, STICKING_IMPRATIO if impratio is None else impratio
    if cone is not None:
        spec.option.cone = getattr(mujoco.mjtCone, f"mjCONE_{cone.upper()}")
    if impratio is not None:
        spec.option.impratio = impratio
    if physics.solver is not None:
        spec.option.solver = getattr(mujoco.mjtSolver, f"mjSOL_{physics.solver.upper()}")
    if physics.iterations is not None:
        spec.option.iterations = physics.iterations
    for name, is_on in physics.flags.items():
        _set_flag(spec.option, name, is_on=is_on)


def _set_flag(option: mujoco.MjOption, name: str, *, is_on: bool) -> None:
    """Set a flag, which MuJoCo has among those that disable or, in some versions, among those that enable."""
    disable, enable = mujoco.mjtDisableBit, mujoco.mjtEnableBit
    kinds = (disable, "mjDSBL", "disableflags", False), (enable, "mjENBL", "enableflags", True)
    for bits, prefix, flags, enables in kinds:
        bit = getattr(bits, f"{prefix}_{name.upper()}", None)
        if bit is not None:
            present = int(getattr(option, flags))
            setattr(option, flags, present | int(bit) if is_on == enables else present & ~int(bit))
            return
    raise ValueError(f"physics.flags.{name}: MuJoCo {mujoco.__version__} has no such flag")


def set_surface(geom: mujoco.MjsGeom, surface: Surface) -> None:
    """Set friction and restitution of a geometry.

    Its priority lets it decide contacts with shapes that give neither. Between two that do, MuJoCo takes the larger
    friction and, as solref is negative, the larger stiffness and damping.
    """
    if not surface.decides:
        return
    geom.priority = 1
    geom.friction, geom.condim = friction_of(surface)
    if surface.restitution is not None:
        geom.solref = solref(surface.restitution, surface.contact_time)
        geom.solimp = (IMPEDANCE, IMPEDANCE, 0.001, 0.5, 2.0)
    else:
        # MuJoCo mixes impedances by weight: that of a shape with restitution counts.
        geom.solmix = _HARDLY


def friction_of(surface: Surface | ContactMaterial) -> tuple[list[float], int]:
    """Return sliding, torsional and rolling friction, and in how many dimensions there is some."""
    given = (surface.sliding, surface.torsional, surface.rolling)
    friction = [default if own is None else own for own, default in zip(given, DEFAULT_FRICTION, strict=True)]
    return friction, 6 if surface.rolling is not None else 4 if surface.torsional is not None else 3


def set_purpose(geom: mujoco.MjsGeom, only: str) -> None:
    """Let a geometry make no contact, or hide it."""
    if only == "visual":
        geom.contype = geom.conaffinity = 0
        geom.mass = 0.0
    elif only == "collision":
        geom.group = HIDDEN_GROUP


def set_layers(spec: mujoco.MjSpec, geoms: Iterable[tuple[mujoco.MjsGeom, Surface | None]]) -> None:
    """Set the masks of geometries by their layers. Without layers, those of MuJoCo remain.

    Args:
        spec: The specification, in which models are attached: bits that their geometries use are left to them.
        geoms: Each geometry of the world that makes contact, and its surface.

    Raises:
        ValueError: MuJoCo has not enough bits.
    """
    filters = [(geom, filter_of(surface)) for geom, surface in geoms]
    if all(each == DEFAULT for _, each in filters):
        return
    reserved = 0
    for geom in spec.geoms:
        reserved |= (int(geom.contype) | int(geom.conaffinity)) & _BITS
    masks = masks_of((each for _, each in filters), reserved)
    for geom, each in filters:
        geom.contype, geom.conaffinity = masks[each]


def set_material(spec: mujoco.MjSpec, geom: mujoco.MjsGeom, shape: Geometry) -> None:
    """Give a geometry the material of its shape, which has its colour."""
    material = shape.material
    if material is None:
        return
    made = spec.add_material(name=f"sim_node/material/{len(spec.materials)}")
    if shape.colour is not None:
        made.rgba = shape.colour
    elif material.texture is None:
        made.rgba = geom.rgba
    if material.roughness is not None:
        # MuJoCo's own renderer has Phong's highlights: none on a matt surface.
        made.roughness, made.shininess, made.specular = material.roughness, *[1.0 - material.roughness] * 2
    if material.texture is not None:
        is_flat = geom.type in _FLAT
        made.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = add_texture(
            spec, str(material.texture.resolve()), material.texture, is_flat=is_flat
        )
        made.texuniform = is_flat and geom.type != mujoco.mjtGeom.mjGEOM_MESH
        if made.texuniform:
            # MuJoCo repeats a texture every 2 / texrepeat metres, from its middle at the origin of the plane.
            made.texrepeat = [2.0 / material.texture_size] * 2
    geom.material = made.name
