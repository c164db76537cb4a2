"""What cameras see, drawn by a process of its own, so that neither OpenGL nor a slow picture holds up the physics."""

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
from sim_node.physics.appearance import dressed
from sim_node.physics.render_worker import READY, Slots
from sim_node.sensors.context import Exposure, Lens
from sim_node.world.problems import WorldWarning

# Pictures in the making: with more of them the drawing does not keep up, and waiting would only make them older.
MAX_PENDING = 4
# Tried in turn where the environment does not say: in hardware or software without a display, then in software.
BACKENDS = ("egl", "osmesa")
# Until a process that was told to end is made to.
PATIENCE_S = 1.0


class Drawing:
    """An Exposure: pictures in the making, then a copy of them."""

    def __init__(self, studio: Studio, group: int) -> None:
        self._studio, self.group = studio, group
        self.pictures: npt.NDArray[Any] | None = None
        self.lost = False

    def done(self) -> bool:
        """Whether `take` has not to wait."""
        self._studio.collect()
        return self.lost or self.pictures is not None

    def take(self) -> npt.NDArray[Any] | None:
        """The pictures (S, height, width, ...), or None where they were lost; waits for them."""
        while not self.done():
            self._studio.wait()
        return self.pictures


@dataclasses.dataclass(frozen=True)
class Group:
    """The Cameras of a studio that take their pictures at once."""

    studio: Studio
    index: int

    def shoot(self, poses: FloatArray, *, wait: bool) -> Exposure | None:
        """Begins their pictures."""
        return self.studio.shoot(self.index, poses, wait=wait)


class Studio:
    """Groups of lenses and the process that draws for them, started with the first picture.

    fault: why there are no pictures any more, or nothing. That is told once, as a WorldWarning.
    """

    def __init__(self, spec: mujoco.MjSpec, data: mujoco.MjData) -> None:
        self._spec, self._data = spec, data
        self._groups: list[tuple[Lens, ...]] = []
        self._pending: deque[tuple[int, Drawing]] = deque()
        self._free = list(range(MAX_PENDING))
        self._process: subprocess.Popen[bytes] | None = None
        self.fault = ""

    def cameras(self, lenses: Sequence[Lens]) -> Group:
        """Lenses of one shape that are used at once; all are there before the first picture."""
        assert self._process is None, "lenses come before pictures"
        self._groups.append(tuple(lenses))
        return Group(self, len(self._groups) - 1)

    def shoot(self, group: int, poses: FloatArray, *, wait: bool) -> Exposure | None:
        """Has a group's pictures drawn from poses (S, 7), FLU axes, of the present state.

        None where there is no drawing, or, unless `wait` is said, too much of it already.
        """
        if self._process is None and not self.fault:
            self._start()
        self.collect()
        while wait and not self._free and not self.fault:
            self.wait()
        if self.fault or not self._free:
            return None
        slot, drawing = self._free.pop(), Drawing(self, group)
        data = self._data
        asked = (np.array([group]), poses.ravel(), data.qpos, data.mocap_pos.ravel(), data.mocap_quat.ravel())
        numbers = np.concatenate(asked)
        self._numbers[slot, : len(numbers)] = numbers
        self._pending.append((slot, drawing))
        try:
            os.write(self._input.fileno(), bytes([slot]))
        except OSError:
            self.collect()
        return drawing

    def collect(self) -> None:
        """Takes what is done out of the shared memory, in the order in which it was asked for."""
        while self._pending and self._drawn.poll(0):
            if not os.read(self._output.fileno(), 1):
                self._fail(f"the process that draws has ended, {_told(self._process)}")
                return
            slot, drawing = self._pending.popleft()
            lenses = self._groups[drawing.group]
            shape = (len(lenses), *lenses[0].shape)
            size = lenses[0].dtype.itemsize * int(np.prod(shape))
            drawing.pictures = np.array(self._pixels[slot, :size]).view(lenses[0].dtype).reshape(shape)
            self._free.append(slot)

    def wait(self) -> None:
        """Collects what is done next."""
        self._drawn.poll()
        self.collect()

    def _start(self) -> None:
        lenses = [lens for group in self._groups for lens in group]
        size = (max(lens.width for lens in lenses), max(lens.height for lens in lenses))
        try:
            model = dressed(self._spec, size).compile()
        except ValueError as error:
            self._fail(f"MuJoCo refuses the model to draw: {error}")
            return
        state = self._data.qpos.size + self._data.mocap_pos.size + self._data.mocap_quat.size
        slots = Slots(
            MAX_PENDING,
            1 + 7 * max(len(group) for group in self._groups) + state,
            max(sum(lens.dtype.itemsize * int(np.prod(lens.shape)) for lens in group) for group in self._groups),
        )
        memory, file = _shared("pictures", slots.size), _shared("model", mujoco.mj_sizeModel(model))
        binary = np.empty(mujoco.mj_sizeModel(model), dtype=np.uint8)
        mujoco.mj_saveModel(model, None, binary)
        with open(file, "wb", closefd=False) as stream:
            stream.write(binary.tobytes())
        self._numbers, self._pixels = slots.views(mmap.mmap(memory, slots.size))
        self._process = self._spawn(memory, file, slots)
        os.close(memory)
        os.close(file)
        weakref.finalize(self, _end, self._process)
        self._drawn = select.poll()
        self._drawn.register(self._output, select.POLLIN)
        first = self._output.readline()
        if first != READY:
            self._fail(first.decode(errors="replace").strip() or f"the process that draws {_told(self._process)}")

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
            # Ctrl-C is for this program, which then closes the other's input.
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
        for _, drawing in self._pending:
            drawing.lost = True
        self._pending.clear()
        warnings.warn(self.fault, WorldWarning, stacklevel=2)


def _shared(name: str, size: int) -> int:
    """A file in memory of its own."""
    memory = os.memfd_create(name)
    os.ftruncate(memory, size)
    return memory


def _told(process: subprocess.Popen[bytes] | None) -> str:
    return f"exit code {process.wait() if process else 0}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """A process ends with its input; one that does not is killed."""
    for stream in (process.stdin, process.stdout):
        if stream:
            stream.close()
    try:
        process.wait(PATIENCE_S)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        # A second Ctrl-C comes from somebody who does not want to wait; the first one is being obeyed.
        process.kill()
        process.wait()
