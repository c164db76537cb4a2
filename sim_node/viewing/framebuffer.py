"""Offscreen rendering with MuJoCo in this process: OpenGL without a display, through EGL."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import weakref
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from sim_node.world.mujoco_source import ALLOWED, VARIABLE, without_opengl

Pixels = npt.NDArray[np.uint8]


class NoOpenGL(Exception):
    """Rendering is not possible here. The message gives the reason and what to install."""


class Framebuffer:
    """Renders scenes at one size (width, height). A context manager. Entering it and `prepare` raise NoOpenGL.

    All framebuffers of a thread share one OpenGL context with compiled shaders, the main cost of a small picture.
    """

    def __init__(self, size: tuple[int, int]) -> None:
        self.size = size
        self._mujoco: mujoco.MjrContext | None = None
        self._thread = threading.get_ident()

    def __enter__(self) -> Framebuffer:
        try:
            self._gl = _kept_context()
            self._gl.make_current()
        except Exception as error:  # PyOpenGL raises various errors if a library is missing
            raise _no_opengl(error) from None
        return self

    def __exit__(self, *of: object) -> None:
        if self._mujoco is not None and threading.get_ident() == self._thread:
            self._gl.make_current()
            self._mujoco.free()
            self._mujoco = None

    def prepare(self, model: mujoco.MjModel) -> None:
        """Load a model's meshes and textures, and its light, shadow and haze settings."""
        self._gl.make_current()
        try:
            self._mujoco = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
            mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._mujoco)
        except mujoco.FatalError as error:
            raise _no_opengl(error) from None
        if self._mujoco.currentBuffer != mujoco.mjtFramebuffer.mjFB_OFFSCREEN:
            raise _no_opengl(RuntimeError("there is no offscreen buffer"))

    def draw(self, scene: mujoco.MjvScene) -> Pixels:
        """Render a scene to pixels (height, width, 3), from the upper left."""
        width, height = self.size
        view = mujoco.MjrRect(0, 0, width, height)
        rows = np.empty((height, width, 3), dtype=np.uint8)
        self._gl.make_current()
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._mujoco)
        mujoco.mjr_render(view, scene, self._mujoco)
        mujoco.mjr_readPixels(rows, None, view, self._mujoco)
        return np.ascontiguousarray(rows[::-1])


class _Contexts(threading.local):
    """The OpenGL contexts of this thread, by the value of MUJOCO_GL."""

    def __init__(self) -> None:
        self.kept: dict[str | None, Any] = {}


_contexts = _Contexts()
# Contexts of all threads; and those inherited by a forked process, which lacks the OpenGL threads to free them.
_all: weakref.WeakSet[Any] = weakref.WeakSet()
_inherited: list[Any] = []


def _kept_context() -> Any:
    chosen = os.environ.get(VARIABLE)
    if chosen not in _contexts.kept:
        _contexts.kept[chosen] = context = _context()
        if not _all:  # registered after MuJoCo's own handler, which closes the display, and therefore run before it
            atexit.unregister(_free)
            atexit.register(_free)
        _all.add(context)
    return _contexts.kept[chosen]


def _free() -> None:
    for context in list(_all):
        context.free()


def _leave_to_parent() -> None:
    _inherited.extend(_all)
    _all.clear()
    _contexts.kept = {}


os.register_at_fork(after_in_child=_leave_to_parent)


def _context() -> Any:
    """Create the context selected by MUJOCO_GL; by default MuJoCo's default outside Linux, and EGL on Linux."""
    if os.environ.get(VARIABLE) or sys.platform != "linux":
        if not hasattr(mujoco, "GLContext"):
            raise RuntimeError("it is disabled")
        if (glfw := sys.modules.get("glfw")) is not None:
            glfw.__dict__["ERROR_REPORTING"] = False  # suppresses warnings about the failure that follows
        return mujoco.GLContext(16, 16)
    from mujoco.egl import GLContext

    return GLContext(16, 16)


def _no_opengl(error: Exception) -> NoOpenGL:
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    chosen = os.environ.get(VARIABLE)
    if not chosen:
        return NoOpenGL(without_opengl(reason))
    return NoOpenGL(f"rendering does not work with {VARIABLE}={chosen}: {reason}; allowed: {ALLOWED}")
