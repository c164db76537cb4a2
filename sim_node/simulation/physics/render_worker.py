"""The process that renders camera images, started by `cameras` with `command`.

It imports only numpy and MuJoCo. A byte on its standard input is the number of a slot in shared memory that holds a
request; the same byte on its standard output reports that the images are ready. The byte RELOAD is followed by a line
with the next model, memory and lenses, and answered by a line as at the start. The process ends when its input closes.
"""

from __future__ import annotations

import json
import mmap
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

# Custom numeric field of a model: the distance at which fog hides everything, m.
VISIBILITY = "sim_node/visibility"
# Maximum number of shapes in a scene; further ones are not rendered.
MAX_SHAPES = 20_000
READY = b"ready\n"
RELOAD = 255


@dataclass(frozen=True)
class Slots:
    """Layout of requests and images in the shared memory: first the numbers of all slots, then the pixels of all slots.

    The numbers of a request are the index of a group of lenses, a pose [x y z qx qy qz qw] for each lens, qpos,
    mocap_pos and mocap_quat. The pixels are the images of the group, one after another.

    Attributes:
        count: Number of slots.
        numbers: Number of float64 values in a slot.
        pixels: Number of bytes of pixels in a slot.
    """

    count: int
    numbers: int
    pixels: int

    @property
    def size(self) -> int:
        """Size of all slots, bytes."""
        return self.count * (8 * self.numbers + self.pixels)

    def views(self, memory: mmap.mmap) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint8]]:
        """Return the numbers (count, numbers) and pixels (count, pixels) of all slots."""
        split = 8 * self.numbers * self.count
        numbers: npt.NDArray[np.float64] = np.frombuffer(memory, np.float64, self.numbers * self.count)
        pixels: npt.NDArray[np.uint8] = np.frombuffer(memory, np.uint8, self.pixels * self.count, split)
        return numbers.reshape(self.count, -1), pixels.reshape(self.count, -1)


def command(order: dict[str, Any]) -> list[str]:
    """Return the command line of the process. With `-m`, Python would import the whole package first."""
    program = f"import runpy; runpy.run_path({__file__!r}, run_name='__main__')"
    return [sys.executable, "-c", program, json.dumps(order)]


def main() -> None:
    """Render until the input is closed. The first line of output is `ready`, or the reason why rendering failed."""
    order = json.loads(sys.argv[1])
    try:
        renderer = OffscreenRenderer(order["model"], order["groups"])
    except Exception as error:
        order["failed"].append(f"{os.environ.get('MUJOCO_GL', 'default')}: {_in_short(error)}")
        if order["backends"]:
            # A process cannot switch to another OpenGL library, so start again.
            environment = {**os.environ, "MUJOCO_GL": order["backends"].pop(0)}
            os.execve(sys.executable, command(order), environment)
        os.write(1, f"{'; '.join(order['failed'])}\n".encode())
        return
    slots = Slots(*order["slots"])
    numbers, pixels = slots.views(mmap.mmap(order["memory"], slots.size))
    # Redirect the output of libraries to standard error.
    done = os.dup(1)
    os.dup2(2, 1)
    os.write(done, READY)
    # The parent may have ended before the images are ready.
    with suppress(BrokenPipeError):
        while slot := os.read(0, 1):
            if slot[0] == RELOAD:
                order = json.loads(_line())
                slots = Slots(*order["slots"])
                numbers, pixels = slots.views(mmap.mmap(order["memory"], slots.size))
                try:
                    renderer.load(order["model"], order["groups"])
                except Exception as error:
                    os.write(done, f"{_in_short(error)}\n".encode())
                    return
                os.write(done, READY)
                continue
            renderer.render(numbers[slot[0]], pixels[slot[0]])
            os.write(done, slot)


def _line() -> bytes:
    """Return the rest of a line from standard input."""
    line = b""
    while not line.endswith(b"\n"):
        part = os.read(0, 65536)
        if not part:
            raise BrokenPipeError
        line += part
    return line


class OffscreenRenderer:
    """Renders a model's shapes off screen. groups: the lenses of each group, as mappings of the fields of a Lens."""

    def __init__(self, model_path: str, groups: list[list[dict[str, Any]]]) -> None:
        import mujoco

        # By default MuJoCo appends its warnings to a file in the working directory.
        mujoco.set_mju_user_warning(lambda message: print(f"cameras: {message}", file=sys.stderr))
        self._mujoco = mujoco
        self._gl: Any = None
        self._of_colours: Any = None
        self._of_depth: Any = None
        self.load(model_path, groups)

    def load(self, model_path: str, groups: list[list[dict[str, Any]]]) -> None:
        """Switch to another model and other lenses, whose images must not be larger than those of the first."""
        mujoco = self._mujoco
        self._groups = groups
        self._model = model = mujoco.MjModel.from_binary_path(model_path)
        self._data = mujoco.MjData(model)
        at = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_NUMERIC, VISIBILITY)
        if at >= 0:  # MuJoCo's fog distances are in units of the model's extent
            visibility = float(model.numeric_data[model.numeric_adr[at]])
            model.vis.map.fogstart, model.vis.map.fogend = 0.0, visibility / model.stat.extent
        if self._gl is None:
            self._gl = mujoco.GLContext(model.vis.global_.offwidth, model.vis.global_.offheight)
            self._gl.make_current()
        else:
            self._of_colours.free()
            self._of_depth.free()
        self._of_colours = self._context(model.vis.quality.offsamples)
        # No multisampling: OpenGL would keep the depth of the first sample, which is not at the centre of the pixel.
        self._of_depth = self._context(0)
        self._scene = mujoco.MjvScene(model, MAX_SHAPES)
        self._scene.flags[mujoco.mjtRndFlag.mjRND_FOG] = at >= 0
        self._options = mujoco.MjvOption()
        self._camera = mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_USER

    def render(self, numbers: npt.NDArray[np.float64], pixels: npt.NDArray[np.uint8]) -> None:
        """Render the request in a slot's `numbers` to its `pixels`."""
        mujoco, model, data = self._mujoco, self._model, self._data
        lenses = self._groups[int(numbers[0])]
        poses = numbers[1 : 1 + 7 * len(lenses)].reshape(-1, 7)
        state = numbers[1 + 7 * len(lenses) :]
        data.qpos[:] = state[: model.nq]
        data.mocap_pos[:] = state[model.nq : model.nq + 3 * model.nmocap].reshape(-1, 3)
        data.mocap_quat[:] = state[model.nq + 3 * model.nmocap : model.nq + 7 * model.nmocap].reshape(-1, 4)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_camlight(model, data)
        at = 0
        for lens, pose in zip(lenses, poses, strict=True):
            self._aim(lens, pose)
            picture = self._depth(lens) if lens["depth"] else self._colours(lens)
            pixels[at : at + picture.nbytes] = picture.view(np.uint8).ravel()
            at += picture.nbytes

    def _aim(self, lens: dict[str, Any], pose: npt.NDArray[np.float64]) -> None:
        """Set the scene's camera to a pose, FLU axes, and update the shapes of the scene."""
        axes = np.empty(9)
        self._mujoco.mju_quat2Mat(axes, pose[[6, 3, 4, 5]])
        forward, _, up = axes.reshape(3, 3).T
        half_width = lens["near"] * np.tan(0.5 * lens["horizontal_fov"])
        half_height = half_width * lens["height"] / lens["width"]
        for eye in self._scene.camera:
            eye.pos, eye.forward, eye.up = pose[:3], forward, up
            eye.frustum_center, eye.frustum_width = 0.0, half_width
            eye.frustum_bottom, eye.frustum_top = -half_height, half_height
            eye.frustum_near, eye.frustum_far = lens["near"], lens["far"]
        every = self._mujoco.mjtCatBit.mjCAT_ALL
        self._mujoco.mjv_updateScene(self._model, self._data, self._options, None, self._camera, every, self._scene)

    def _colours(self, lens: dict[str, Any]) -> npt.NDArray[np.uint8]:
        """Return red, green, blue (height, width, 3), from the upper left."""
        rows = np.empty((lens["height"], lens["width"], 3), dtype=np.uint8)
        self._render(rows, None, lens, self._of_colours)
        return np.ascontiguousarray(rows[::-1])

    def _depth(self, lens: dict[str, Any]) -> npt.NDArray[np.float32]:
        """Return distances along the optical axis (height, width), m, upper left first; inf beyond `far` (REP 118)."""
        rows = np.empty((lens["height"], lens["width"]), dtype=np.float32)
        # The sky is a box around the shapes.
        self._scene.flags[self._mujoco.mjtRndFlag.mjRND_SKYBOX] = 0
        self._render(None, rows, lens, self._of_depth)
        self._scene.flags[self._mujoco.mjtRndFlag.mjRND_SKYBOX] = 1
        # A reversed depth buffer: z (far - near) / (near (far - z)) is 0 at far, 1 at near. Khronos, glFrustum.
        near, far = lens["near"], lens["far"]
        depths = (near * far) / (rows.astype(np.float64) * (far - near) + near)
        depths[rows <= 0.0] = np.inf
        return np.ascontiguousarray(depths[::-1], dtype=np.float32)

    def _render(self, colours: Any, depths: Any, lens: dict[str, Any], context: Any) -> None:
        view = self._mujoco.MjrRect(0, 0, lens["width"], lens["height"])
        self._mujoco.mjr_setBuffer(self._mujoco.mjtFramebuffer.mjFB_OFFSCREEN, context)
        self._mujoco.mjr_render(view, self._scene, context)
        self._mujoco.mjr_readPixels(colours, depths, view, context)

    def _context(self, samples: int) -> Any:
        """Return an OpenGL context of the model with a buffer of some samples per pixel. Raises RuntimeError."""
        mujoco = self._mujoco
        self._model.vis.quality.offsamples = samples
        context = mujoco.MjrContext(self._model, mujoco.mjtFontScale.mjFONTSCALE_100)
        context.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, context)
        if context.currentBuffer != mujoco.mjtFramebuffer.mjFB_OFFSCREEN:
            raise RuntimeError("OpenGL has no buffer to draw in off screen")
        return context


def _in_short(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


if __name__ == "__main__":
    main()
