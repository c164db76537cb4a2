"""Camera images, rendered by a separate process, so that neither OpenGL nor a slow image delays the physics."""

from __future__ import annotations

import dataclasses
import json
import mmap
import os
import select
import subprocess
import sys
import warnings
import weakref
from collections import deque
from collections.abc import Sequence
from typing import IO, Any

import mujoco
import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray
from sim_node.physics.appearance import compiled_to_draw, dressed
from sim_node.physics.render_worker import READY, Slots
from sim_node.sensors.context import Exposure, Lens
from sim_node.world.problems import WorldWarning

# Pending images: with more of them the renderer does not keep up, and queueing would only add latency.
MAX_PENDING = 4
# Tried in turn unless MUJOCO_GL is set: hardware or software without a display, then software.
BACKENDS = ("egl", "osmesa")
# Time for a process to end before it is killed.
PATIENCE_S = 1.0


class RenderedExposure:
    """An Exposure: images that are being rendered, then a copy of them."""

    def __init__(self, renderer: CameraRenderer, group: int) -> None:
        self._renderer, self.group = renderer, group
        self.images: npt.NDArray[Any] | None = None
        self.lost = False

    def done(self) -> bool:
        """Return whether `result` returns at once."""
        self._renderer.collect()
        return self.lost or self.images is not None

    def result(self) -> npt.NDArray[Any] | None:
        """Wait for the images (S, height, width, ...) and return them; None if they were lost."""
        while not self.done():
            self._renderer.wait()
        return self.images


@dataclasses.dataclass(frozen=True)
class CameraGroup:
    """The Cameras of a renderer whose images are rendered together."""

    renderer: CameraRenderer
    index: int

    def render(self, poses: FloatArray, *, wait: bool) -> Exposure | None:
        """Start rendering their images."""
        return self.renderer.render(self.index, poses, wait=wait)


class CameraRenderer:
    """Groups of lenses and the process that renders for them, which is started with the first image.

    After `close` it is started again with the next one.

    fault: why there are no images any more; empty if there are. It is reported once, as a WorldWarning.
    """

    def __init__(self, spec: mujoco.MjSpec, data: mujoco.MjData) -> None:
        self._spec, self._data = spec, data
        self._groups: list[tuple[Lens, ...]] = []
        self._pending: deque[tuple[int, RenderedExposure]] = deque()
        self._free = list(range(MAX_PENDING))
        self._numbers: FloatArray = np.empty((MAX_PENDING, 0))
        self._process: subprocess.Popen[bytes] | None = None
        self.fault = ""

    def cameras(self, lenses: Sequence[Lens]) -> CameraGroup:
        """Add lenses of one shape that are used together; all must be added before the first image."""
        assert self._process is None, "lenses are added before the first image"
        self._groups.append(tuple(lenses))
        return CameraGroup(self, len(self._groups) - 1)

    def render(self, group: int, poses: FloatArray, *, wait: bool) -> Exposure | None:
        """Start rendering a group's images from poses (S, 7), FLU axes, at the present state.

        Returns None if rendering is impossible, or, unless `wait` is set, if too many images are pending.
        """
        if self._process is None and not self.fault:
            self._start()
        self.collect()
        while wait and not self._free and not self.fault:
            self.wait()
        if self.fault or not self._free:
            return None
        slot, exposure = self._free.pop(), RenderedExposure(self, group)
        data = self._data
        request = (np.array([group]), poses.ravel(), data.qpos, data.mocap_pos.ravel(), data.mocap_quat.ravel())
        numbers = np.concatenate(request)
        self._numbers[slot, : len(numbers)] = numbers
        self._pending.append((slot, exposure))
        self._request(slot)
        return exposure

    def close(self) -> None:
        """End the process. Images that it has not rendered by then are rendered by the next one."""
        self.collect()
        if self._process is not None:
            self._process = None
            self._finalizer()

    def collect(self) -> None:
        """Copy finished images from the shared memory, in the order in which they were requested."""
        while self._pending and self._process is not None and self._replies.poll(0):
            if not os.read(self._output.fileno(), 1):
                self._fail(f"the render process has ended, {_exit_status(self._process)}")
                return
            slot, exposure = self._pending.popleft()
            lenses = self._groups[exposure.group]
            shape = (len(lenses), *lenses[0].shape)
            size = lenses[0].dtype.itemsize * int(np.prod(shape))
            exposure.images = np.array(self._pixels[slot, :size]).view(lenses[0].dtype).reshape(shape)
            self._free.append(slot)

    def wait(self) -> None:
        """Wait for the next finished images and copy them."""
        if self._process is None:
            self._start()
        if self._pending:
            self._replies.poll()
        self.collect()

    def _start(self) -> None:
        lenses = [lens for group in self._groups for lens in group]
        size = (max(lens.width for lens in lenses), max(lens.height for lens in lenses))
        try:
            model = compiled_to_draw(dressed(self._spec, size))
        except ValueError as error:
            self._fail(f"MuJoCo refuses the model to render: {error}")
            return
        state = self._data.qpos.size + self._data.mocap_pos.size + self._data.mocap_quat.size
        slots = Slots(
            MAX_PENDING,
            1 + 7 * max(len(group) for group in self._groups) + state,
            max(sum(lens.dtype.itemsize * int(np.prod(lens.shape)) for lens in group) for group in self._groups),
        )
        memory, file = _shared("images", slots.size), _shared("model", mujoco.mj_sizeModel(model))
        binary = np.empty(mujoco.mj_sizeModel(model), dtype=np.uint8)
        mujoco.mj_saveModel(model, None, binary)
        with open(file, "wb", closefd=False) as stream:
            stream.write(binary.tobytes())
        unrendered = {slot: self._numbers[slot] for slot, _ in self._pending}
        self._numbers, self._pixels = slots.views(mmap.mmap(memory, slots.size))
        self._process = self._spawn(memory, file, slots)
        os.close(memory)
        os.close(file)
        self._finalizer = weakref.finalize(self, _end, self._process)
        self._replies = select.poll()
        self._replies.register(self._output, select.POLLIN)
        first = self._output.readline()
        if first != READY:
            self._fail(first.decode(errors="replace").strip() or f"the render process {_exit_status(self._process)}")
            return
        for slot, numbers in unrendered.items():
            self._numbers[slot] = numbers
        self._request(*unrendered)

    def _request(self, *slots: int) -> None:
        """Have the process render the requests in some slots, in that order."""
        try:
            os.write(self._input.fileno(), bytes(slots))
        except OSError:
            self.collect()

    def _spawn(self, memory: int, file: int, slots: Slots) -> subprocess.Popen[bytes]:
        given = os.environ.get("MUJOCO_GL")
        backends = [given] if given else list(BACKENDS if sys.platform == "linux" else [])
        order = {
            "model": f"/dev/fd/{file}",
            "memory": memory,
            "slots": dataclasses.astuple(slots),
            "groups": [[dataclasses.asdict(lens) for lens in group] for group in self._groups],
            "failed": [],
            "backends": backends[1:],
        }
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        if backends:
            environment["MUJOCO_GL"] = backends[0]
        return subprocess.Popen(
            [sys.executable, "-m", "sim_node.physics.render_worker", json.dumps(order)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env=environment,
            pass_fds=(memory, file),
            # Ctrl-C must reach only this program, which then closes the input of the other.
            start_new_session=True,
        )

    @property
    def _input(self) -> IO[bytes]:
        assert self._process is not None
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def _output(self) -> IO[bytes]:
        assert self._process is not None
        assert self._process.stdout is not None
        return self._process.stdout

    def _fail(self, why: str) -> None:
        self.fault = f"cameras see nothing: {why}"
        for _, exposure in self._pending:
            exposure.lost = True
        self._pending.clear()
        warnings.warn(self.fault, WorldWarning, stacklevel=2)


def _shared(name: str, size: int) -> int:
    """Return the descriptor of a file in memory."""
    memory = os.memfd_create(name)
    os.ftruncate(memory, size)
    return memory


def _exit_status(process: subprocess.Popen[bytes] | None) -> str:
    return f"exit code {process.wait() if process else 0}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process by closing its input; kill it if it does not end."""
    for stream in (process.stdin, process.stdout):
        if stream:
            stream.close()
    try:
        process.wait(PATIENCE_S)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        # A second Ctrl-C means that the user does not want to wait.
        process.kill()
        process.wait()
