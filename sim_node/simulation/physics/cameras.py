"""Camera images, rendered by a separate process so that neither OpenGL nor slow images delay the physics."""

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
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from sim_node.simulation.physics.appearance import compiled_to_draw, dressed
from sim_node.simulation.physics.render_worker import READY, RELOAD, Slots, command
from sim_node.simulation.programs import let_go
from sim_node.simulation.sensors.context import Exposure, Lens
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.mujoco_source import VARIABLE, without_opengl
from sim_node.world.problems import WorldWarning

# Maximum number of pending requests: if the renderer does not keep up, longer queues would only add latency.
MAX_PENDING = 4
# OpenGL back ends, tried in this order unless MUJOCO_GL is set: EGL (hardware or software), then OSMesa (software).
BACKENDS = ("egl", "osmesa")
# Time that a process has to end before it is killed.
PATIENCE_S = 1.0


class RenderedExposure:
    """An Exposure whose images are being rendered, or have been copied from the renderer."""

    def __init__(self, renderer: CameraRenderer, group: int) -> None:
        self._renderer, self.group = renderer, group
        self.images: npt.NDArray[Any] | None = None
        self.lost = False

    def done(self) -> bool:
        """Return whether `result` would return immediately."""
        self._renderer.collect()
        return self.lost or self.images is not None

    def result(self) -> npt.NDArray[Any] | None:
        """Wait for the images (S, height, width, ...) and return them; None if they were lost."""
        while not self.done():
            self._renderer.wait()
        return self.images


@dataclasses.dataclass(frozen=True)
class CameraGroup:
    """Cameras of a renderer whose images are rendered together."""

    renderer: CameraRenderer
    index: int

    def render(self, poses: FloatArray, *, wait: bool) -> Exposure | None:
        """Start rendering the images."""
        return self.renderer.render(self.index, poses, wait=wait)


class CameraRenderer:
    """Groups of lenses, and the process that renders for them. It is started for the first image, also after `close`.

    Attributes:
        fault: Why rendering is no longer possible; empty if it is. It is reported once, as a WorldWarning.
    """

    def __init__(self, spec: mujoco.MjSpec, data: mujoco.MjData) -> None:
        self._spec, self._data = spec, data
        self._groups: list[tuple[Lens, ...]] = []
        self._pending: deque[tuple[int, RenderedExposure]] = deque()
        self._free = list(range(MAX_PENDING))
        self._worker: _Worker | None = None
        self._ready = False
        self._numbers: FloatArray = np.empty((MAX_PENDING, 0))
        self.fault = ""

    def cameras(self, lenses: Sequence[Lens]) -> CameraGroup:
        """Add lenses of one shape whose images are rendered together. All must be added before the first image."""
        assert self._worker is None, "lenses are added before the first image"
        self._groups.append(tuple(lenses))
        return CameraGroup(self, len(self._groups) - 1)

    def render(self, group: int, poses: FloatArray, *, wait: bool) -> Exposure | None:
        """Start rendering a group's images from poses (S, 7), FLU axes, in the current state.

        Return None if rendering is impossible or, unless `wait` is set, if too many requests are pending.
        """
        if not self._ready and not self.fault:
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
        """End the process. The next process renders the images that are still pending."""
        self.collect()
        if self._worker is not None:
            worker, self._worker, self._ready = self._worker, None, False
            worker.end()

    def collect(self) -> None:
        """Copy finished images from the shared memory, in the order in which they were requested."""
        while self._pending and self._worker is not None and self._process.replies.poll(0):
            if not os.read(self._process.output.fileno(), 1):
                self._fail(f"the render process has ended, {self._process.exit_status()}")
                return
            slot, exposure = self._pending.popleft()
            lenses = self._groups[exposure.group]
            shape = (len(lenses), *lenses[0].shape)
            size = lenses[0].dtype.itemsize * int(np.prod(shape))
            exposure.images = np.array(self._pixels[slot, :size]).view(lenses[0].dtype).reshape(shape)
            self._free.append(slot)

    def wait(self) -> None:
        """Wait for the next finished images and copy them."""
        if not self._ready and not self.fault:
            self._start()
        if self._pending:
            self._process.replies.poll()
        self.collect()

    def hand_over(self, successor: CameraRenderer | None) -> None:
        """Finish pending images, and hand the process over to the renderer of the next generation, or end it.

        The successor sends its model with its first image, since several changes of the world may precede that.

        Args:
            successor: The renderer, before its first image; None if there is none.
        """
        worker = self._worker
        while worker is not None and self._pending and not self.fault:
            self.wait()
        if worker is None:
            return
        if successor is None or self.fault:
            worker.end()
        else:
            successor._worker = worker

    def _start(self) -> None:
        """Start the process unless it is running, and wait until it is ready to render this model."""
        self._order()
        if self.fault:
            return
        first = self._process.output.readline()
        if first != READY:
            message = first.decode(errors="replace").strip()
            if message.startswith(f"{BACKENDS[0]}: ") and not os.environ.get(VARIABLE):
                message = without_opengl(message)
            self._fail(message or f"the render process {self._process.exit_status()}")
            return
        self._ready = True
        self._request(*(slot for slot, _ in self._pending))

    def _request(self, *slots: int) -> None:
        """Ask the process to render the requests in some slots, in this order."""
        if not self._process.request(bytes(slots)):
            self.collect()

    def _order(self) -> None:
        """Send the model and lenses to the process; start one if there is none or if its frame buffer is too small."""
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
        binary = np.empty(mujoco.mj_sizeModel(model), dtype=np.uint8)
        mujoco.mj_saveModel(model, None, binary)
        if self._worker is not None and not (size[0] <= self._worker.size[0] and size[1] <= self._worker.size[1]):
            self._worker.end()
            self._worker = None
        if self._worker is None:
            self._worker = _Worker(size)
        groups = [[dataclasses.asdict(lens) for lens in group] for group in self._groups]
        unrendered = {slot: self._numbers[slot] for slot, _ in self._pending}
        self._numbers, self._pixels = self._worker.order(binary.tobytes(), slots, groups)
        for slot, numbers in unrendered.items():
            self._numbers[slot] = numbers

    @property
    def _process(self) -> _Worker:
        assert self._worker is not None
        return self._worker

    def _fail(self, why: str) -> None:
        self.fault = f"cameras see nothing: {why}"
        for _, exposure in self._pending:
            exposure.lost = True
        self._pending.clear()
        warnings.warn(self.fault, WorldWarning, stacklevel=2)


class _Worker:
    """The render process and its shared memory, alive until `end` or until this object is deleted.

    size: width and height of its frame buffer, pixels.
    """

    def __init__(self, size: tuple[int, int]) -> None:
        self.size = size
        self._memory, self._file = os.memfd_create("images"), os.memfd_create("model")
        self._process: subprocess.Popen[bytes] | None = None
        self._capacity = 0
        self.replies = select.poll()

    def order(
        self, model: bytes, slots: Slots, groups: list[list[dict[str, Any]]]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint8]]:
        """Send a model, saved by MuJoCo, and groups of lenses to the process. Return views of the slots.

        The next line that it sends reports whether it can render them.
        """
        # Never shrink the memory: the process may still use it.
        self._capacity = max(self._capacity, slots.size)
        os.ftruncate(self._memory, self._capacity)
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, model, 0)
        views = slots.views(mmap.mmap(self._memory, slots.size))
        model_file, places = f"/dev/fd/{self._file}", dataclasses.astuple(slots)
        order = {"model": model_file, "memory": self._memory, "slots": places, "groups": groups}
        if self._process is None:
            self._spawn(order)
        else:
            self.request(bytes([RELOAD]) + json.dumps(order).encode() + b"\n")
        return views

    def request(self, what: bytes) -> bool:
        """Send a request. Return False if the process has ended."""
        try:
            os.write(self._input.fileno(), what)
        except OSError:
            return False
        return True

    def exit_status(self) -> str:
        """Return how the process has ended."""
        return f"exit code {self._process.wait() if self._process else 0}"

    def end(self) -> None:
        """End the process."""
        self._finalize()

    def _spawn(self, order: dict[str, Any]) -> None:
        given = os.environ.get(VARIABLE)
        backends = [given] if given else list(BACKENDS if sys.platform == "linux" else [])
        order = {**order, "failed": [], "backends": backends[1:]}
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        if backends:
            environment[VARIABLE] = backends[0]
        self._process = process = subprocess.Popen(
            command(order),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env=environment,
            pass_fds=(self._memory, self._file),
            # Ctrl-C must reach only this process, which then closes the input of the other.
            start_new_session=True,
        )
        self._finalize = weakref.finalize(self, _end, process, (self._memory, self._file))
        assert process.stdin is not None
        assert process.stdout is not None
        self._input, self.output = process.stdin, process.stdout
        self.replies.register(self.output, select.POLLIN)


def _end(process: subprocess.Popen[bytes], shared: tuple[int, ...]) -> None:
    """End a process by closing its input; kill it if it does not end. Close the shared files."""
    for descriptor in shared:
        os.close(descriptor)
    let_go(process, PATIENCE_S)
