"""MuJoCo's drawing off screen, in this process: OpenGL without a display, through EGL."""

from __future__ import annotations

import os
import sys
import warnings
from types import TracebackType
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from sim_node.world.mujoco_source import ALLOWED, OPENGL, VARIABLE

Pixels = npt.NDArray[np.uint8]


class NoOpenGL(Exception):
    """Nothing can be drawn here; the message says why, and what to install."""


class Framebuffer:
    """Draws scenes in pictures of one size (width, height). To be entered, and left when the pictures are done.

    Entering it and `prepare` raise NoOpenGL.
    """

    def __init__(self, size: tuple[int, int]) -> None:
        self.size = size
        self._mujoco: mujoco.MjrContext | None = None

    def __enter__(self) -> Framebuffer:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # GLFW warns of what then fails
                self._gl = _context()
                self._gl.make_current()
        except Exception as error:  # PyOpenGL raises any of them where a library is not there
            raise _no_opengl(error) from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._mujoco is not None:
            self._mujoco.free()
        self._gl.free()

    def prepare(self, model: mujoco.MjModel) -> None:
        """Takes in a model's meshes and textures, and how far its light, shadows and haze reach by now."""
        try:
            self._mujoco = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
            mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._mujoco)
        except mujoco.FatalError as error:
            raise _no_opengl(error) from None
        if self._mujoco.currentBuffer != mujoco.mjtFramebuffer.mjFB_OFFSCREEN:
            raise _no_opengl(RuntimeError("there is no buffer off screen"))

    def draw(self, scene: mujoco.MjvScene) -> Pixels:
        """The scene (height, width, 3), from the upper left."""
        width, height = self.size
        view = mujoco.MjrRect(0, 0, width, height)
        rows = np.empty((height, width, 3), dtype=np.uint8)
        mujoco.mjr_render(view, scene, self._mujoco)
        mujoco.mjr_readPixels(rows, None, view, self._mujoco)
        return np.ascontiguousarray(rows[::-1])


def _context() -> Any:
    """MuJoCo's choice where the environment makes one (MUJOCO_GL), and outside Linux; else EGL."""
    if os.environ.get(VARIABLE) or sys.platform != "linux":
        if not hasattr(mujoco, "GLContext"):
            raise RuntimeError("it is switched off")
        return mujoco.GLContext(16, 16)
    from mujoco.egl import GLContext

    return GLContext(16, 16)


def _no_opengl(error: Exception) -> NoOpenGL:
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    chosen = os.environ.get(VARIABLE)
    if not chosen:
        return NoOpenGL(
            f"drawing needs OpenGL without a display (EGL): {reason}; on Debian and Ubuntu: apt install {OPENGL['egl']}"
        )
    return NoOpenGL(f"drawing does not work with {VARIABLE}={chosen}: {reason}; allowed: {ALLOWED}")
