"""The ground, the lights and the sky of a world in a MuJoCo specification."""

from __future__ import annotations

import mujoco
import numpy as np

from sim_node.simulation.physics.render_worker import VISIBILITY
from sim_node.simulation.physics.surfaces import set_material, set_surface
from sim_node.world.model import World
from sim_node.world.scene import Ground, Heightmap, Light, Sky
from sim_node.world.surfaces import Surface

# Names in the specification, by which renderers find these elements.
GROUND, LIGHT, SKY, AMBIENT = "sim_node/world_ground", "sim_node/light", "sim_node/sky", "sim_node/ambient"
ZENITH, HORIZON = [0.36, 0.56, 0.82], [0.86, 0.91, 0.96]
# A flat heightmap still needs a height, m. Below the lowest sample a heightmap is solid to this depth, m.
_FLAT, _DEPTH = 1e-3, 10.0
# Edge of a side of the sky, in pixels.
_SKY = 128
# Maximum brightness of surfaces that face the sun, to keep bright grounds shaded, and minimum ambient light.
_BRIGHT, _DIM = 1.15, 0.15
_LIGHTS = {
    "directional": mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
    # MuJoCo draws no point lights: a spotlight with a cutoff of 180 degrees replaces them.
    "point": mujoco.mjtLightType.mjLIGHT_SPOT,
    "spot": mujoco.mjtLightType.mjLIGHT_SPOT,
}


def add_ground(spec: mujoco.MjSpec, ground: Ground) -> tuple[mujoco.MjsGeom, Surface | None]:
    """Add the ground to the fixed frame. Return its geom and its surface."""
    shape = ground.shape
    if ground.heightmap is None:
        geom = spec.worldbody.add_geom(name=GROUND, type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0])
        geom.pos = [0.0, 0.0, ground.height]
    else:
        geom = _add_heightmap(spec, ground.heightmap, ground.height)
    if ground.colour is not None:
        geom.rgba = ground.colour
    if ground.surface is not None:
        set_surface(geom, ground.surface)
    set_material(spec, geom, shape)
    if ground.heightmap is not None and shape.material is not None and shape.material.texture is not None:
        # Texture coordinates of a height field run once over its whole extent.
        spec.material(geom.material).texrepeat = ground.heightmap.size / shape.material.texture_size
        spec.material(geom.material).texuniform = False
    return geom, ground.surface


def _add_heightmap(spec: mujoco.MjSpec, heightmap: Heightmap, height: float) -> mujoco.MjsGeom:
    """Add a height field. In MuJoCo, rows run along y, columns along x, and heights are fractions of the elevation."""
    grid = heightmap.grid()
    low, high = float(grid.min()), float(grid.max())
    field = spec.add_hfield(name=GROUND, nrow=grid.shape[0], ncol=grid.shape[1])
    field.size = [0.5 * heightmap.size[0], 0.5 * heightmap.size[1], max(high - low, _FLAT), _DEPTH]
    field.userdata = ((grid - low) / (high - low) if high > low else np.zeros_like(grid)).astype(np.float32).ravel()
    geom = spec.worldbody.add_geom(name=GROUND, type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname=GROUND)
    geom.pos = [*heightmap.centre, height + low]
    return geom


def add_lights_and_sky(spec: mujoco.MjSpec, world: World) -> None:
    """Add the lights and the sky that a world defines. Renderers add defaults for those that it does not."""
    for number, light in enumerate(world.lights):
        _add_light(spec, light, f"{LIGHT}/{number}")
    if world.sky is not None:
        add_sky(spec, world.sky)


def add_sky(spec: mujoco.MjSpec, sky: Sky) -> None:
    """Add the sky: a gradient from the zenith to the horizon, with the horizon's colour below it."""
    zenith = np.array(ZENITH if sky.zenith is None else sky.zenith)
    horizon = np.array(HORIZON if sky.horizon is None else sky.horizon)
    across, up = np.meshgrid(np.linspace(-1.0, 1.0, _SKY), np.linspace(1.0, -1.0, _SKY))
    side = np.arctan2(up, np.hypot(1.0, across))
    top = np.arctan2(1.0, np.hypot(across, up))
    # MuJoCo's order: right, left, up, down, front, back.
    elevation = np.concatenate([side, side, top, -top, side, side])
    share = np.clip(elevation / (0.5 * np.pi), 0.0, 1.0)[..., None]
    pixels = np.round(255.0 * (horizon + share * (zenith - horizon))).astype(np.uint8)
    kind = mujoco.mjtTexture.mjTEXTURE_SKYBOX
    texture = spec.add_texture(name=SKY, type=kind, width=_SKY, height=6 * _SKY, nchannel=3)
    texture.data = pixels.tobytes()
    if sky.visibility is not None:
        spec.visual.rgba.fog = [*horizon, 1.0]
        spec.add_numeric(name=VISIBILITY, data=[sky.visibility], size=1)
    if sky.ambient is not None:
        # MuJoCo's ambient light is part of the headlight, which renderers set.
        spec.add_numeric(name=AMBIENT, data=[sky.ambient], size=1)


def own_lights(spec: mujoco.MjSpec) -> list[mujoco.MjsLight]:
    """Return the lights that the world defines."""
    return [light for light in spec.lights if light.name.startswith(LIGHT)]


def set_headlight(spec: mujoco.MjSpec, ambient: list[float], diffuse: list[float]) -> None:
    """Set the ambient light and the light at the camera: those of the world, or else `ambient` and `diffuse` (3,).

    A world with lights of its own has no light at the camera, and less ambient light if directional ones are bright.
    """
    given = next((numeric.data[0] for numeric in spec.numerics if numeric.name == AMBIENT), None)
    light, own = spec.visual.headlight, own_lights(spec)
    room = max(_BRIGHT - sum(max(sun.diffuse) for sun in own if sun.type == _LIGHTS["directional"]), _DIM)
    light.ambient = [min(each, room) for each in ambient] if given is None else [given] * 3
    light.diffuse = [0.0] * 3 if own else diffuse


def _add_light(spec: mujoco.MjSpec, light: Light, name: str) -> None:
    spec.worldbody.add_light(
        name=name,
        type=_LIGHTS[light.type],
        pos=light.position,
        dir=light.direction / np.linalg.norm(light.direction),
        diffuse=light.colour,
        specular=0.3 * light.colour,
        cutoff=180.0 if light.type == "point" else np.degrees(light.angle),
        attenuation=light.attenuation,
        castshadow=light.shadows and light.type != "point",
    )
