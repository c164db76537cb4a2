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
# solmix of shapes whose impedance matters only in contacts with each other.
_HARDLY = 1e-9
# Geoms with 2D textures; other shapes have cube textures.
_FLAT = (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD, mujoco.mjtGeom.mjGEOM_MESH)


def set_solver(spec: mujoco.MjSpec, physics: Physics, *, has_surfaces: bool) -> None:
    """Set the options of the constraint solver. Options that the world does not state keep MuJoCo's defaults.

    Args:
        spec: The specification.
        physics: The world's physics.
        has_surfaces: Whether a shape defines friction or restitution, which makes cones elliptic by default.
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
    """Set a flag. In MuJoCo it is a disable flag or, depending on the version, an enable flag."""
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
    """Set the friction and restitution of a geom.

    Its priority overrides shapes that define neither. Between two shapes that do, MuJoCo takes the larger friction and,
    because solref is negative, the larger stiffness and damping.
    """
    if not surface.decides:
        return
    geom.priority = 1
    geom.friction, geom.condim = friction_of(surface)
    if surface.restitution is not None:
        geom.solref = solref(surface.restitution, surface.contact_time)
        geom.solimp = (IMPEDANCE, IMPEDANCE, 0.001, 0.5, 2.0)
    else:
        # MuJoCo mixes impedances by weight: let that of a shape with restitution prevail.
        geom.solmix = _HARDLY


def friction_of(surface: Surface | ContactMaterial) -> tuple[list[float], int]:
    """Return sliding, torsional and rolling friction, and the number of contact dimensions (condim)."""
    given = (surface.sliding, surface.torsional, surface.rolling)
    friction = [default if own is None else own for own, default in zip(given, DEFAULT_FRICTION, strict=True)]
    return friction, 6 if surface.rolling is not None else 4 if surface.torsional is not None else 3


def set_purpose(geom: mujoco.MjsGeom, only: str) -> None:
    """Disable the contacts of a geom that is only visual, or hide one that is only for collision."""
    if only == "visual":
        geom.contype = geom.conaffinity = 0
        geom.mass = 0.0
    elif only == "collision":
        geom.group = HIDDEN_GROUP


def set_layers(spec: mujoco.MjSpec, geoms: Iterable[tuple[mujoco.MjsGeom, Surface | None]]) -> None:
    """Set the collision masks of geoms from their layers. Without layers, MuJoCo's default masks remain.

    Args:
        spec: The specification, with models attached. Bits that their geoms use are reserved for them.
        geoms: Each colliding geom of the world, and its surface.

    Raises:
        ValueError: MuJoCo does not have enough bits.
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
    """Assign the material of a shape, with the shape's colour, to its geom."""
    material = shape.material
    if material is None:
        return
    made = spec.add_material(name=f"sim_node/material/{len(spec.materials)}")
    if shape.colour is not None:
        made.rgba = shape.colour
    elif material.texture is None:
        made.rgba = geom.rgba
    if material.roughness is not None:
        # MuJoCo's own renderer uses Phong highlights, which rough surfaces do not have.
        made.roughness, made.shininess, made.specular = material.roughness, *[1.0 - material.roughness] * 2
    if material.texture is not None:
        is_flat = geom.type in _FLAT
        made.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = add_texture(
            spec, str(material.texture.resolve()), material.texture, is_flat=is_flat
        )
        made.texuniform = is_flat and geom.type != mujoco.mjtGeom.mjGEOM_MESH
        if made.texuniform:
            # MuJoCo repeats a texture every 2 / texrepeat metres, centred on the origin of the plane.
            made.texrepeat = [2.0 / material.texture_size] * 2
    geom.material = made.name
