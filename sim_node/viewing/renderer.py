"""Renders a world's shapes at given frame poses with MuJoCo, including ground, sky, sun and shadows."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import numpy.typing as npt

from sim_node.simulation.physics.appearance import compiled_to_draw, dressed
from sim_node.simulation.physics.mujoco_model import compile_model
from sim_node.simulation.physics.scene import HORIZON, own_lights, set_headlight
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.meshes import FIRST_HIDDEN_GROUP, MOVING, MUJOCO_PLAIN, PLAIN
from sim_node.viewing.mujoco_shapes import add_shown, sheets_of
from sim_node.viewing.shapes import DISC, THICKNESS, discs_of
from sim_node.viewing.view import View
from sim_node.world.layout import Layout
from sim_node.world.model import World
from sim_node.world.vehicles import Multirotor

# Maximum number of shapes and marks in a picture.
MAX_SHAPES = 20_000
_SAMPLES = 8
_SHADOW_PIXELS = 4096
# Tolerance for shapes that lie on the ground, for rounding and contacts, m.
_SUNK = 0.02
# Distance beyond which OpenGL's single-precision coordinates lose millimetres, m.
_FAR_OUT = 1e3
# Radius of shadows around the centre, in view distances.
_SHADOWS = 1.5
_HAZE = 4.0, 20.0
# Direction of the sun, and its angular radius, rad: three times the real one.
_SUN = np.array([0.42, 0.38, -0.82]) / np.linalg.norm([0.42, 0.38, -0.82])
_SUN_RADIUS = 0.014
_AMBIENT, _HEADLIGHT, _SUNLIGHT = [0.38] * 3, [0.22] * 3, [0.62, 0.60, 0.56]
_CORNERS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
_GROUND = [0.77, 0.79, 0.80], [0.69, 0.71, 0.73]
# Shape types that are ground.
_GROUNDS = (int(mujoco.mjtGeom.mjGEOM_PLANE), int(mujoco.mjtGeom.mjGEOM_HFIELD))


class Renderer:
    """The shapes of a world, rendered from frame poses alone, whether of a run or of a bag.

    Scene coordinates are relative to `origin` (3,), because OpenGL's floats are too coarse far from a world's origin.
    Raises ValueError if MuJoCo rejects a shape.

    Args:
        world: The world.
        layout: Its frames.
        size: Width and height, pixels.
        add: Adds further objects to the MuJoCo specification.

    Attributes:
        scene: MuJoCo's scene, with up to MAX_SHAPES geoms.
        is_bare: Whether the world has no shapes, or only a ground.
    """

    def __init__(
        self,
        world: World,
        layout: Layout,
        size: tuple[int, int],
        add: Callable[[mujoco.MjSpec], None] = lambda spec: None,
    ) -> None:
        spec = compile_model(world, layout).spec.copy()
        add_shown(spec, world)
        add(spec)
        for vehicle in world.vehicles:
            _add_discs(spec, vehicle)
        if not any(int(geom.type) in _GROUNDS for geom in spec.geoms):
            spec.worldbody.add_geom(
                name="sim_node/ground", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], contype=0, conaffinity=0
            )
        horizon = HORIZON if world.sky is None or world.sky.horizon is None else world.sky.horizon.tolist()
        self.model = compiled_to_draw(_lit(dressed(spec, size), horizon))
        self._has_lights = bool(own_lights(spec))
        self.origin = np.zeros(3)
        self.scene = mujoco.MjvScene(self.model, MAX_SHAPES)
        self._data = mujoco.MjData(self.model)
        # Lights keep their initial poses.
        mujoco.mj_kinematics(self.model, self._data)
        mujoco.mj_comPos(self.model, self._data)
        mujoco.mj_camlight(self.model, self._data)
        self._options = mujoco.MjvOption()
        self._visibility = None if world.sky is None else world.sky.visibility
        # Haze would hide the world's sky.
        self.scene.flags[mujoco.mjtRndFlag.mjRND_FOG] = world.sky is None or self._visibility is not None
        # Sites and tendons are MuJoCo's own marks, which do not follow frame poses.
        self._options.sitegroup[:] = 0
        self._options.flags[mujoco.mjtVisFlag.mjVIS_TENDON] = 0
        self._eye = mujoco.MjvCamera()
        self._eye.type = mujoco.mjtCamera.mjCAMERA_USER
        self._rows, offsets = _rows_of_bodies(self.model, layout)
        self._body_offsets = offsets
        bodies = self.model.geom_bodyid
        local = np.concatenate([self.model.geom_pos, self.model.geom_quat[:, [1, 2, 3, 0]]], axis=1)
        self._shape_rows = self._rows[bodies]
        self._shape_offsets = poses.compose(offsets[bodies], local)
        drawn = (self.model.geom_type != mujoco.mjtGeom.mjGEOM_PLANE) & (self.model.geom_group < FIRST_HIDDEN_GROUP)
        _paint_plain(self.model)
        # A finite ground is used for framing only if there is nothing else.
        apart = drawn & (self.model.geom_type != mujoco.mjtGeom.mjGEOM_HFIELD) & ~sheets_of(self.model)
        self._solid = apart if apart.any() else drawn
        self.is_bare = not self._solid.any()
        self._added_ground = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_GEOM, "sim_node/ground")

    def corners(self, rooted: FloatArray) -> tuple[FloatArray, npt.NDArray[np.int64]]:
        """Return the corners (T, S, 8, 3) of boxes around all shapes except the ground, and the frame row (S,) of each.

        rooted (T, N, 7): poses of all frames in the fixed frame.
        """
        boxes = self.model.geom_aabb[self._solid].astype(np.float64)
        offsets = boxes[:, None, :3] + _CORNERS * boxes[:, None, 3:]
        return poses.apply(self._solids(rooted)[..., None, :], offsets), self._shape_rows[self._solid]

    def prepare(self, view: View) -> mujoco.MjModel:
        """Return the model that a framebuffer needs to render views like this one."""
        model = self.model
        # Units of MuJoCo's ground, shadows and haze
        model.stat.extent, model.vis.map.zfar = view.distance, view.lens.far / view.distance
        model.vis.map.shadowclip = _SHADOWS
        model.vis.map.fogstart, model.vis.map.fogend = _HAZE
        if self._visibility is not None:
            model.vis.map.fogstart, model.vis.map.fogend = 0.0, self._visibility / view.distance
        return model

    def lay_ground(self, rooted: FloatArray) -> None:
        """Place a ground if the world has none: at z = 0, or below everything at the poses (T, N, 7)."""
        if self._added_ground < 0:
            return
        corners, _ = self.corners(rooted)
        # The box of a sphere rotates with it, so that its corners are outside of the sphere.
        balls = self._solids(rooted)[..., 2] - self.model.geom_rbound[self._solid]
        lows = np.maximum(corners[..., 2].min(axis=-1), balls)
        lowest = min(float(lows.min(initial=0.0)), float(rooted[..., 2].min()))
        self._shape_offsets[self._added_ground, 2] = lowest if lowest < -_SUNK else 0.0

    def place(self, rooted: FloatArray, view: View) -> None:
        """Place all shapes at the poses (N, 7) of the frames, and the camera."""
        model, data = self.model, self._data
        about = poses.apply(view.pose, np.array([view.distance, 0.0, 0.0]))
        # Rounded, to keep the pattern of the ground in place
        self.origin = origin = np.round(about / 2.0) * 2.0 if np.abs(about).max() > _FAR_OUT else np.zeros(3)
        shapes = poses.compose(rooted[self._shape_rows], self._shape_offsets)
        data.geom_xpos[:] = shapes[:, :3] - origin
        data.geom_xmat[:] = quaternions.to_matrix(shapes[:, 3:]).reshape(-1, 9)
        bodies = poses.compose(rooted[self._rows], self._body_offsets)
        data.xpos[:] = bodies[:, :3] - origin
        data.xquat[:] = bodies[:, [6, 3, 4, 5]]
        data.xmat[:] = quaternions.to_matrix(bodies[:, 3:]).reshape(-1, 9)
        self._middle, self._sun_away = about - origin, 1.5 * _SHADOWS * view.distance
        self._aim(view, origin)
        every = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(model, data, self._options, None, self._eye, every, self.scene)
        for geom in self.scene.geoms[: self.scene.ngeom]:
            # Decoration casts no shadow, and a shadow of the ground itself would be noise.
            if geom.type == mujoco.mjtGeom.mjGEOM_PLANE:
                geom.category = mujoco.mjtCatBit.mjCAT_DECOR

    def shine(self, part: int, parts: int) -> None:
        """Light the scene from one of `parts` points on each sun's disc. The mean of the pictures has soft shadows.

        The points lie on a sunflower spiral: Vogel, A better way to construct the sunflower head, 1979.
        """
        angle, radius = part * np.pi * (3.0 - np.sqrt(5.0)), _SUN_RADIUS * np.sqrt(part / parts)
        lights = [light for light in self.scene.lights[: self.scene.nlight] if not light.headlight]
        for number, light in enumerate(lights):
            middle = self._data.light_xdir[number] if self._has_lights else _SUN
            if light.type != mujoco.mjtLightType.mjLIGHT_DIRECTIONAL:
                light.pos = self._data.light_xpos[number] - self.origin
                continue
            across = np.cross(middle, [0.0, 0.0, 1.0] if abs(middle[2]) < 0.99 else [1.0, 0.0, 0.0])
            across /= np.linalg.norm(across)
            direction = middle + radius * (np.cos(angle) * across + np.sin(angle) * np.cross(middle, across))
            direction /= np.linalg.norm(direction)
            light.pos, light.dir = self._middle - self._sun_away * direction, direction

    def _solids(self, rooted: FloatArray) -> FloatArray:
        """Return the poses (T, S, 7) of all shapes except the ground."""
        return poses.compose(rooted[..., self._shape_rows[self._solid], :], self._shape_offsets[self._solid])

    def _aim(self, view: View, origin: FloatArray) -> None:
        lens = view.lens
        forward, _, up = quaternions.to_matrix(view.pose[3:]).T
        half_width = lens.near * np.tan(0.5 * lens.horizontal_fov)
        half_height = half_width * lens.height / lens.width
        for eye in self.scene.camera:
            eye.pos, eye.forward, eye.up = view.pose[:3] - origin, forward, up
            eye.frustum_center, eye.frustum_width = 0.0, half_width
            eye.frustum_bottom, eye.frustum_top = -half_height, half_height
            eye.frustum_near, eye.frustum_far = lens.near, lens.far


def _lit(spec: mujoco.MjSpec, horizon: list[float]) -> mujoco.MjSpec:
    """Replace a model's lights by the world's lights or, if there are none, by a single sun with shadows.

    horizon: red, green and blue of the haze.
    """
    view = spec.visual
    view.quality.offsamples, view.quality.shadowsize = _SAMPLES, _SHADOW_PIXELS
    set_headlight(spec, _AMBIENT, _HEADLIGHT)
    view.rgba.haze = view.rgba.fog = [*horizon, 1.0]
    for texture in spec.textures:
        if texture.name == "sim_node/ground":
            texture.rgb1, texture.rgb2 = _GROUND
    own = {light.name for light in own_lights(spec)}
    for light in list(spec.lights) if own else spec.lights[1:]:
        if light.name not in own:
            spec.delete(light)
    if own:
        return spec
    sun = spec.lights[0]
    sun.type, sun.castshadow = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL, True
    sun.diffuse, sun.ambient, sun.specular = _SUNLIGHT, [0.0] * 3, [0.15] * 3
    return spec


def _add_discs(spec: mujoco.MjSpec, vehicle: Multirotor) -> None:
    """Add the propeller discs to a vehicle's body, as visual geometry only."""
    for disc in discs_of(vehicle):
        spec.body(vehicle.body).add_geom(
            type=mujoco.mjtGeom.mjGEOM_CYLINDER,
            size=[disc.radius, 0.5 * THICKNESS, 0.0],
            pos=disc.position,
            zaxis=disc.axis,
            rgba=DISC,
            contype=0,
            conaffinity=0,
            mass=0.0,
        )


def _paint_plain(model: mujoco.MjModel) -> None:
    """Give shapes without a colour the default ones of pages: one for what stands, another for what moves."""
    plain = np.isclose(model.geom_rgba, MUJOCO_PLAIN, atol=1e-6).all(axis=1) & (model.geom_matid < 0)
    plain &= model.geom_type != mujoco.mjtGeom.mjGEOM_PLANE
    stands = model.body_weldid[model.geom_bodyid] == 0
    model.geom_rgba[plain & stands], model.geom_rgba[plain & ~stands] = PLAIN, MOVING


def _rows_of_bodies(model: mujoco.MjModel, layout: Layout) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Return the frame row of each MuJoCo body, or of its nearest ancestor with a frame, and its pose in that frame."""
    names = {name: row for row, name in enumerate(layout.frames.names)}
    rows, offsets = np.zeros(model.nbody, dtype=np.int64), np.tile(poses.IDENTITY, (model.nbody, 1))
    for body in range(1, model.nbody):
        row = names.get(model.body(body).name)
        if row is not None:
            rows[body] = row
            continue
        above = model.body_parentid[body]
        rest = np.concatenate([model.body_pos[body], model.body_quat[body][[1, 2, 3, 0]]])
        rows[body], offsets[body] = rows[above], poses.compose(offsets[above], rest)
    return rows, offsets
