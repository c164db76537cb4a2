"""Cameras on entities: a callback requests a frame, which is rendered synchronously at the current tick."""

from __future__ import annotations

import atexit
import math
import weakref
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sim_node.extensions.elodin.conversions import unit_poses
from sim_node.extensions.elodin.errors import EcsError
from sim_node.extensions.elodin.frame_names import WORLD_POS, frame_name
from sim_node.extensions.elodin.live import Live
from sim_node.text import did_you_mean
from sim_node.world.problems import NOWHERE, Where

if TYPE_CHECKING:
    from sim_node.simulation.sensors.context import Lens
    from sim_node.spatial.geometry.arrays import FloatArray
    from sim_node.viewing.framebuffer import Framebuffer
    from sim_node.viewing.view import View
    from sim_node.world.model import World

Pixels = npt.NDArray[np.uint8]
# Bytes per pixel, by format.
FORMATS = {"rgba": 4, "gray": 1}
# Maximum number and total bytes of the frames of a camera that are kept for `read_msg`.
KEPT, KEPT_BYTES = 256, 64 << 20
MAX_SIZE = 8192


@dataclass(frozen=True)
class SensorCamera:
    """A camera on an entity.

    Attributes:
        entity: The name of the entity.
        name: `entity.camera`.
        size: Width and height, pixels.
        fov: Vertical field of view, rad.
        near: Distance of the near clipping plane, m.
        far: Distance of the far clipping plane, m.
        position: Its position (3,) in the axes of the entity, m.
        target: The point (3,) that it looks at, in the axes of the entity, m; or
        turn: Intrinsic rotations (3,) about the entity's x, y and z axes, degrees.
        format: A format of FORMATS.
        effect: An effect of EFFECTS.
        parameters: The parameters of the effect.
        where: Where it was added.
        fps: Frames per simulated second (Hz) that are rendered automatically; None to render only on request.
    """

    entity: str
    name: str
    size: tuple[int, int]
    fov: float
    near: float
    far: float
    position: tuple[float, ...]
    target: tuple[float, ...] = (0.0, 0.0, -1.0)
    format: str = "rgba"
    effect: str = "normal"
    parameters: Mapping[str, float] = field(default_factory=dict)
    where: Where = NOWHERE
    turn: tuple[float, ...] | None = None
    fps: float | None = None

    def __post_init__(self) -> None:
        """Check it. Raises EcsError."""
        label = self.name.rpartition(".")[2]
        if not label or any(each.isspace() for each in label):
            self._refuse(f"the name {label!r} is empty, or has white space")
        for of, known in ((self.format, FORMATS), (self.effect, EFFECTS)):
            if of not in known:
                self._refuse(f"{of!r} is unknown{did_you_mean(of, known)} (known: {', '.join(known)})")
        if not all(isinstance(each, int) and 0 < each <= MAX_SIZE for each in self.size):
            self._refuse(f"width and height are {self.size}; whole numbers from 1 to {MAX_SIZE} are needed")
        if not 0.0 < self.fov < math.pi:
            self._refuse(f"fov is {math.degrees(self.fov):g} degrees; allowed: between 0 and 180")
        if not 0.0 < self.near < self.far:
            self._refuse(f"near is {self.near:g} m, far {self.far:g} m; allowed: 0 < near < far")
        if self.fps is not None and not 0.0 < self.fps < math.inf:
            self._refuse(f"fps is {self.fps:g}; a number above zero is needed")
        triples = (
            ("pos_offset", self.position),
            ("look_at_offset", self.target),
            ("rot_offset", self.turn or (0, 0, 0)),
        )
        for what, triple in triples:
            if len(triple) != 3 or not np.isfinite(triple).all():
                self._refuse(f"{what}: three numbers are needed, found {list(triple)}")

    @property
    def frame_size(self) -> int:
        """The size of a frame, bytes."""
        return self.size[0] * self.size[1] * FORMATS[self.format]

    def view(self, pose: FloatArray) -> View:
        """Return its view for a pose (7,) of its entity. It is upright when it looks at a point.

        Raises ValueError if the point is its own position.
        """
        from sim_node.spatial.geometry import poses
        from sim_node.viewing.schematic.formulas import euler
        from sim_node.viewing.view import View, looking

        if self.turn is not None:
            own = poses.pose(np.array(self.position), euler(np.array(self.turn)))
            return View(poses.compose(pose, own), self._lens(), float(np.clip(10.0, 10.0 * self.near, self.far)))
        eye, at = poses.apply(pose, np.array([self.position, self.target]))
        straight = looking(eye, at, self.size)
        return View(straight.pose, self._lens(), float(np.clip(straight.distance, 10.0 * self.near, self.far)))

    def _lens(self) -> Lens:
        from sim_node.simulation.sensors.context import Lens
        from sim_node.viewing.framing import horizontal

        return Lens(*self.size, horizontal(self.fov, self.size), self.near, self.far, depth=False)

    def frame(self, pixels: Pixels, stamp_us: int) -> Pixels:
        """Apply its effect to pixels (height, width, 3), and return the bytes in its format."""
        apply, defaults = EFFECTS[self.effect]
        shown = pixels
        if apply is not None:
            random = np.random.default_rng([zlib.crc32(self.name.encode()), stamp_us % 2**63])
            light = pixels @ np.array([0.299, 0.587, 0.114]) / 255.0
            grain = random.uniform(-0.5, 0.5, light.shape)
            colours = apply(light, grain, {**defaults, **self.parameters})
            shown = np.round(255.0 * np.clip(colours, 0.0, 1.0)).astype(np.uint8)
        if self.format == "gray":
            grey: Pixels = np.round(shown @ np.array([0.299, 0.587, 0.114])).astype(np.uint8)
            return grey.ravel()
        opaque = np.full((*shown.shape[:2], 1), 255, np.uint8)
        return np.concatenate([shown, opaque], axis=2).ravel()

    def _refuse(self, message: str) -> None:
        raise EcsError(message, self.where, f"sensor_camera {self.name}")


# Returns the colours (h, w, 3) of an effect from the luminance (h, w) of a picture, 0 to 1, and grain (h, w), -0.5 to
# 0.5. The formulas are those of Elodin's shader.
Effect = Callable[[Any, Any, Mapping[str, float]], Any]


def _thermal(light: Any, grain: Any, given: Mapping[str, float]) -> Any:
    heat = np.clip((light - 0.5) * given["contrast"] + 0.5, 0.0, 1.0)
    heat = np.clip(heat + given["noise_sigma"] * grain, 0.0, 1.0)
    blue = np.clip(3.0 * (heat - 0.1) * (0.6 - heat), 0.0, 1.0) + np.clip(heat - 0.85, 0.0, 1.0) * 3.0
    return np.stack([1.5 * heat - 0.25, 2.0 * heat - 0.75, blue], axis=-1)


def _night_vision(light: Any, grain: Any, given: Mapping[str, float]) -> Any:
    bright = np.clip(np.clip(light * given["gain"], 0.0, 1.0) + given["noise_sigma"] * grain, 0.0, 1.0)
    return bright[..., None] * np.array([0.1, 1.0, 0.05])


def _depth(light: Any, grain: Any, given: Mapping[str, float]) -> Any:
    return np.repeat(light[..., None], 3, axis=-1)


EFFECTS: Mapping[str, tuple[Effect | None, Mapping[str, float]]] = {
    "normal": (None, {}),
    "thermal": (_thermal, {"contrast": 1.5, "noise_sigma": 0.02}),
    "night_vision": (_night_vision, {"gain": 2.0, "noise_sigma": 0.04}),
    "depth": (_depth, {}),
}


class CameraFrames:
    """Renders the cameras of a run on request, and keeps their latest frames.

    Args:
        cameras: The cameras by name.
        live: The state of the run.
        world: Returns the assembled world that they see; called when the first frame is rendered.
        on_frame: Called for each frame with the camera, the time, us, and the bytes.
    """

    def __init__(
        self,
        cameras: Mapping[str, SensorCamera],
        live: Live,
        world: Callable[[], World],
        on_frame: Callable[[SensorCamera, int, Pixels], None] | None = None,
    ) -> None:
        self._cameras, self._live, self._world, self._on_frame = cameras, live, world, on_frame
        self._stage: _Stage | None = None
        # The time of the next frame of each camera with a rate, us.
        self._due: dict[str, float | None] = {name: None for name, each in cameras.items() if each.fps is not None}
        self._kept: dict[str, deque[tuple[int, Pixels]]] = {
            name: deque(maxlen=max(1, min(KEPT, KEPT_BYTES // camera.frame_size))) for name, camera in cameras.items()
        }

    def render(self, names: Iterable[str], stamp_us: int) -> list[Pixels]:
        """Render cameras at the current state, whose time is given in us.

        Raises:
            RuntimeError: There is no such camera, or rendering is not possible here.
        """
        cameras = [self._camera(name) for name in names]
        if not cameras:
            return []
        if self._stage is None:
            self._stage = _Stage(self._world(), list(self._cameras.values()))
        rooted = self._stage.rooted(self._live)
        frames = []
        for camera in cameras:
            frame = camera.frame(self._stage.pixels(camera, rooted), stamp_us)
            self._kept[camera.name].append((stamp_us, frame))
            if self._on_frame is not None:
                self._on_frame(camera, stamp_us, frame)
            frames.append(frame)
        return frames

    @property
    def has_rates(self) -> bool:
        """Whether any camera has a frame rate."""
        return bool(self._due)

    def expose(self, stamp_us: int) -> None:
        """Render the cameras with a frame due at a time, us, at the current state. Raises RuntimeError."""
        for name, due in self._due.items():
            if due is None or stamp_us + 0.5 >= due:
                self.render([name], stamp_us)
                period = 1e6 / (self._cameras[name].fps or 1.0)
                self._due[name] = (stamp_us if due is None else max(due, stamp_us - period)) + period

    def message(self, name: str, stamp_us: int | None = None) -> Pixels | None:
        """Return the latest frame of a camera up to a time, us, or None if there is none. Raises RuntimeError."""
        kept = self._kept[self._camera(name).name]
        found = (frame for stamp, frame in reversed(kept) if stamp_us is None or stamp <= stamp_us)
        frame = next(found, None)
        return None if frame is None else frame.copy()

    def clear(self) -> None:
        """Discard all frames."""
        self._due = dict.fromkeys(self._due, None)
        for kept in self._kept.values():
            kept.clear()

    def _camera(self, name: str) -> SensorCamera:
        camera = self._cameras.get(name)
        if camera is None:
            near = did_you_mean(name, self._cameras) or "; world.sensor_camera(...) adds one"
            raise RuntimeError(f"there is no sensor camera {name!r}{near}")
        return camera


class _Stage:
    """The OpenGL scene of a world that cameras see. It belongs to the thread that creates it."""

    def __init__(self, world: World, cameras: Sequence[SensorCamera]) -> None:
        from sim_node.viewing.framebuffer import Framebuffer, NoOpenGL
        from sim_node.viewing.framing import DrawnSchematic
        from sim_node.viewing.renderer import Renderer
        from sim_node.world.layout import lay_out

        layout = lay_out(world)
        self._frames, self._start = layout.frames, layout.poses
        size = max(each.size[0] for each in cameras), max(each.size[1] for each in cameras)
        self._schematic = DrawnSchematic(world, layout.frames)
        self._renderer = Renderer(world, layout, size, self._schematic.add_meshes)
        self._framebuffer = Framebuffer(size)
        self._prepared = False
        try:
            self._framebuffer.__enter__()
        except NoOpenGL as error:
            raise RuntimeError(str(error)) from None
        # Registered after EGL's own exit handler, so that it runs before it: the framebuffer must end before EGL does.
        atexit.register(_end, weakref.ref(self._framebuffer))

    def rooted(self, live: Live) -> FloatArray:
        """Return the poses (N, 7) of all frames in the fixed frame, at the current state."""
        rooted = self._frames.in_root(np.array(self._start))
        structure, poses = live.program.structure, unit_poses(live.get(WORLD_POS))
        for entity, pose in zip(structure.entities[WORLD_POS], poses, strict=True):
            rooted[self._frames.index(frame_name(structure.names[entity]))] = pose
        return rooted

    def pixels(self, camera: SensorCamera, rooted: FloatArray) -> Pixels:
        """Return what a camera sees, (height, width, 3)."""
        try:
            view = camera.view(rooted[self._frames.index(frame_name(camera.entity))])
        except ValueError as error:
            raise EcsError(str(error), camera.where, camera.name) from None
        if not self._prepared:
            self._renderer.lay_ground(rooted[None])
            self._framebuffer.prepare(self._renderer.prepare(view))
            self._prepared = True
        self._renderer.place(rooted, view)
        self._schematic.draw(self._renderer, rooted)
        self._renderer.shine(0, 1)
        self._framebuffer.size = camera.size
        return self._framebuffer.draw(self._renderer.scene)


def _end(framebuffer: weakref.ref[Framebuffer]) -> None:
    """Close a framebuffer that still exists."""
    alive = framebuffer()
    if alive is not None:
        alive.__exit__(None, None, None)
