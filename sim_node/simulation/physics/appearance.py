"""The default appearance of a world in camera images: sky, light, ground, and colours of shapes without one."""

from __future__ import annotations

import warnings

import mujoco

from sim_node.simulation.physics.scene import HORIZON, SKY, ZENITH, set_headlight

# Brightness of the headlight, which is at the camera, and of the sun.
_AMBIENT, _HEADLIGHT, _SUN = [0.45] * 3, [0.25] * 3, [0.55, 0.54, 0.5]
_GROUND = [0.62, 0.63, 0.62], [0.53, 0.55, 0.55]
# A check of the ground, m. The texture has two by two, and MuJoCo repeats it every 2 / texrepeat metres.
_CHECK = 2.0
_PLAIN = [0.5, 0.5, 0.5, 1.0]


def dressed(spec: mujoco.MjSpec, size: tuple[int, int]) -> mujoco.MjSpec:
    """Return a copy of a model for images up to `size` (width, height), with a sky, a sun and a ground if it has none.

    Its bodies, joints and shapes are those of the model, in the same order.
    """
    spec = spec.copy()
    view = spec.visual
    view.global_.offwidth, view.global_.offheight = size
    set_headlight(spec, _AMBIENT, _HEADLIGHT)
    view.headlight.specular = [0.0] * 3
    if not any(texture.type == mujoco.mjtTexture.mjTEXTURE_SKYBOX for texture in spec.textures):
        spec.add_texture(
            name=SKY,
            type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
            builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
            rgb1=ZENITH,
            rgb2=HORIZON,
            width=256,
            height=256,
        )
    if not spec.lights:
        spec.worldbody.add_light(
            type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
            pos=[0.0, 0.0, 50.0],
            dir=[0.45, 0.3, -0.84],
            diffuse=_SUN,
            specular=[0.1] * 3,
            castshadow=False,
        )
    plain = [geom for geom in spec.geoms if not geom.material and _is_plain(geom)]
    grounds = [geom for geom in plain if geom.type == mujoco.mjtGeom.mjGEOM_PLANE]
    if grounds:
        spec.add_texture(
            name="sim_node/ground",
            type=mujoco.mjtTexture.mjTEXTURE_2D,
            builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
            rgb1=_GROUND[0],
            rgb2=_GROUND[1],
            width=256,
            height=256,
        )
        material = spec.add_material(name="sim_node/ground", texuniform=True, texrepeat=[1.0 / _CHECK] * 2)
        material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "sim_node/ground"
        for geom in grounds:
            geom.material = "sim_node/ground"
            geom.rgba = [1.0, 1.0, 1.0, 1.0]
    return spec


def _is_plain(geom: mujoco.MjsGeom) -> bool:
    """Return whether a geom has the default colour."""
    return all(abs(given - plain) < 1e-6 for given, plain in zip(geom.rgba, _PLAIN, strict=True))


def compiled_to_draw(spec: mujoco.MjSpec) -> mujoco.MjModel:
    """Compile a model for rendering. Ignore MuJoCo's warnings, which were reported when the world was compiled.

    Raises ValueError if MuJoCo rejects it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return spec.compile()
