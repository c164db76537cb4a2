"""Callbacks before and after each tick: the data that they read and write, and their order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np

from sim_node.extensions.elodin.errors import TimeTravel
from sim_node.extensions.elodin.live import Live
from sim_node.extensions.elodin.pairs import ComponentPair, Pairs
from sim_node.extensions.elodin.program import Array
from sim_node.extensions.elodin.sensor_cameras import CameraFrames
from sim_node.text import did_you_mean

# Called with the number of the tick, from 0, and the context.
Callback = Callable[[int, "StepContext"], object]
# Called with a pair, a time, us, and a value that a callback wrote.
OnWrite = Callable[[ComponentPair, int, Array], None]


# Maximum number and total bytes of past ticks that are kept for reads at an earlier time.
PAST, PAST_BYTES = 1024, 64 << 20


class _Slot(NamedTuple):
    """The location of a pair in a Live: the index of its block, and its slice there."""

    pair: ComponentPair
    block: int
    numbers: slice


class StepContext:
    """What `pre_step` and `post_step` read and write: the components of a running world.

    Components are named `entity.component`. Values are one-dimensional NumPy arrays of the component's type. Writes of
    `pre_step` act in the tick that follows, and so do those of `post_step`, in the next tick.

    The last time of a component is that of the last tick of the run, or of a later write. It cannot be written at an
    earlier time. The run does not write components with the metadata `external_control`: only writes set their times.

    Args:
        stepper: The stepper that runs the ticks and calls the callbacks.

    Attributes:
        tick: The number of the tick, from 0. (In the first tick, a system sees the SimulationTick 1.)
        timestamp: `start_timestamp + tick * sim_time_step`, us.
    """

    def __init__(self, stepper: Stepper) -> None:
        self.tick = 0
        self.timestamp = 0
        self._stepper = stepper
        self._live = stepper.live
        # Cache of the slots by the names that callbacks use.
        self._slots: dict[str, _Slot] = {}

    def read_component(self, pair_name: str, timestamp: int | None = None) -> Array:
        """Return the value of a component.

        Args:
            pair_name: `entity.component`, such as "drone.accel".
            timestamp: The time of the value, us; by default now. The last 1024 ticks are available, or as many as fit
                64 MiB.

        Returns:
            A copy: an array of one dimension, of the component's type.

        Raises:
            RuntimeError: There is no such component, or it has no data since `truncate`, or at that time.
        """
        slot = self._slots.get(pair_name) or self._find(pair_name)
        if timestamp is not None and timestamp < self._stepper.last_time(slot.pair):
            return self._stepper.value_at(slot, int(timestamp))
        if self._stepper.empty and slot.pair in self._stepper.empty:
            raise RuntimeError(f"component {pair_name!r} has no data since truncate()")
        value: Array = self._live.numbers(slot.block)[slot.numbers].copy()
        return value

    def write_component(self, pair_name: str, data: Any, timestamp: int | None = None) -> None:
        """Set the value of a component.

        Args:
            pair_name: `entity.component`, such as "drone.motor_command".
            data: As many numbers as the component has: a NumPy or JAX array, a list, or a number.
            timestamp: The time of the value, us; by default now.

        Raises:
            RuntimeError: There is no such component.
            ValueError: The number or the type of the numbers does not fit. Only floats are rounded to fit.
            TimeTravel: The component has a value of a later time.
        """
        slot = self._slots.get(pair_name) or self._find(pair_name)
        pair = slot.pair
        values = _numbers(data, pair, pair_name)
        stamp = self.timestamp if timestamp is None and not pair.own else self._checked(pair, pair_name, timestamp)
        self._write(slot, stamp, values, timestamp is None)

    def component_batch_operation(
        self,
        reads: Iterable[str] = (),
        writes: Mapping[str, Any] | None = None,
        write_timestamps: Mapping[str, int] | None = None,
        read_timestamps: Mapping[str, int] | None = None,
    ) -> dict[str, Array]:
        """Write several components, then read several. Nothing is written if any of it fails.

        Args:
            reads: The names of the components to be read, `entity.component`.
            writes: Values by name.
            write_timestamps: The times of some of them, us; by default now.
            read_timestamps: The times of some of the reads, us, as in `read_component`; by default now.

        Returns:
            The values read by name. A component that is also written has its new value.

        Raises:
            RuntimeError: A component does not exist, or has no data since `truncate`.
            ValueError: A value does not fit its component, or a time is given for one that is not written.
            TimeTravel: A component has a value of a later time.
        """
        writes, stamps = writes or {}, write_timestamps or {}
        for name in stamps:
            if name not in writes:
                raise ValueError(f"write_timestamps: {name!r} is not among the writes{did_you_mean(name, writes)}")
        empty = self._stepper.empty
        checked = []
        for name, data in writes.items():
            slot = self._slots.get(name) or self._find(name)
            values, stamp = _numbers(data, slot.pair, name), stamps.get(name)
            checked.append((slot, self._checked(slot.pair, name, stamp), values, stamp is None))
        names = [reads] if isinstance(reads, str) else list(reads)
        wanted = [self._slots.get(name) or self._find(name) for name in names]
        if empty:
            written = {each[0].pair for each in checked}
            for name, slot in zip(names, wanted, strict=True):
                if slot.pair in empty and slot.pair not in written:
                    raise RuntimeError(f"component {name!r} has no data since truncate()")
        for each in checked:
            self._write(*each)
        numbers, past = self._live.numbers, read_timestamps or {}
        return {
            name: self.read_component(name, past[name]) if name in past else numbers(slot.block)[slot.numbers].copy()
            for name, slot in zip(names, wanted, strict=True)
        }

    def render_camera(self, camera_name: str) -> Array | None:
        """Render a camera of `World.sensor_camera` at the current state.

        Args:
            camera_name: `entity.camera`.

        Returns:
            The frame: bytes in its format, rows from the top, in a one-dimensional array.

        Raises:
            RuntimeError: There is no such camera, or rendering is not possible here; the message says what is missing.
        """
        return self._stepper.frames.render([camera_name], self.timestamp)[0]

    def render_cameras(self, camera_names: Iterable[str]) -> None:
        """Render cameras at the current state; `read_msg` returns their frames.

        Args:
            camera_names: The names `entity.camera`.

        Raises:
            RuntimeError: There is no such camera, or rendering is not possible here.
        """
        self._stepper.frames.render(camera_names, self.timestamp)

    def read_msg(self, msg_name: str, timestamp: int | None = None) -> Array | None:
        """Return the latest frame of a camera. At most 256 frames, of at most 64 MiB, are kept.

        Args:
            msg_name: `entity.camera`.
            timestamp: The latest frame up to this time, us, is returned; by default the latest of all.

        Returns:
            A copy of the frame, as `render_camera` returns it; None if there is none.

        Raises:
            RuntimeError: There is no such camera.
        """
        return self._stepper.frames.message(msg_name, timestamp)

    def truncate(self) -> None:
        """Discard what was recorded, and count ticks from 0 again. The state of the world stays as it is.

        `timestamp` is reset to the start, so that writes in the same callback are at the start. Components have no
        data, and cannot be read, until they are written or the next tick ends. Calling it in `pre_step` skips the tick.
        """
        self._stepper.truncate()

    def stop_recipes(self) -> None:
        """Ask all processes of recipes to end (SIGTERM), and kill them after 2 s. Does nothing if there are none."""
        self._stepper.stop_recipes()

    def _find(self, name: str) -> _Slot:
        try:
            pair = self._stepper.pairs[name]
        except KeyError as error:
            raise RuntimeError(error.args[0]) from None
        place = self._live.place(pair.component)
        start = place.start + pair.row * pair.size
        slot = self._slots[name] = _Slot(pair, place.block, slice(start, start + pair.size))
        return slot

    def _checked(self, pair: ComponentPair, name: str, timestamp: int | None) -> int:
        """Return the time of a write, us. Raises TimeTravel."""
        stamp = self.timestamp if timestamp is None else int(timestamp)
        last = self._stepper.last_time(pair)
        if stamp < last:
            why = "" if pair.own else "; the run writes it at every tick: give it the metadata external_control='true'"
            raise TimeTravel(f"{name!r} was written at {last} us, later than {stamp} us{why}")
        if not pair.own and stamp > self.timestamp:
            raise TimeTravel(f"{name!r} cannot be written at {stamp} us: the run writes it at {self.timestamp} us")
        return stamp

    def _write(self, slot: _Slot, stamp: int, values: Array, now: bool) -> None:
        self._live.writable_numbers(slot.block, slot.pair.component)[slot.numbers] = values
        if slot.pair.own or self._stepper.empty:
            self._stepper.wrote(slot.pair, stamp, values, now)


class Stepper:
    """Runs ticks with callbacks: pre_step, then the tick, then post_step.

    Args:
        live: The state of the world.
        pre_step: Called before each tick, or None.
        post_step: Called after each tick, or None.
        start_us: The time of the start, us.
        stop_recipes: Asks the processes of recipes to end.
        on_write: Called for each write of a component with the metadata `external_control`, which the run itself never
            writes; its time may be in the past.
        on_truncate: Called after `truncate`.
        frames: Renders cameras; None if there are none.

    Attributes:
        tick: The number of the next tick.
    """

    def __init__(
        self,
        live: Live,
        pre_step: Callback | None = None,
        post_step: Callback | None = None,
        start_us: int = 0,
        stop_recipes: Callable[[], None] = lambda: None,
        on_write: OnWrite | None = None,
        on_truncate: Callable[[], None] = lambda: None,
        frames: CameraFrames | None = None,
    ) -> None:
        self.live = live
        self.frames = frames or CameraFrames({}, live, _no_world)
        self.pairs = Pairs(live.program.structure)
        self.tick = 0
        self.stop_recipes = stop_recipes
        # Pairs without data, after truncate().
        self.empty: set[ComponentPair] = set()
        self._pre, self._post, self._start = pre_step, post_step, start_us
        self._on_write, self._on_truncate = on_write, on_truncate
        self._numerics, self._step = live.program.structure.numerics, live.program.structure.step
        # The time of the last tick, and the last write times of pairs that ticks do not write.
        self._ticked = start_us
        self._own: dict[ComponentPair, int] = {}
        self._truncated = self._after = self._emptied = False
        # Past states, as blocks, and the writes of callbacks to pairs that ticks do not write, with their times, us.
        size = sum(array.nbytes for array in live.program.start.values())
        self._kept = max(1, min(PAST, PAST_BYTES // size))
        self._past: deque[tuple[int, list[Any]]] = deque(maxlen=self._kept)
        self._writes: dict[ComponentPair, deque[tuple[int, Array]]] = {}
        self._context = StepContext(self)

    def stamp(self, tick: int) -> int:
        """Return the time of a tick, us: the start plus the duration of all ticks before it."""
        return self._start + int(self._numerics.microseconds(self._step, tick))

    def step(self) -> bool:
        """Run the callbacks and one tick. Return False if `pre_step` called `truncate` and no tick was run."""
        tick, context = self.tick, self._context
        now = self.stamp(tick)
        context.tick, context.timestamp = tick, now
        if self._pre is not None or self._post is not None:
            self._past.append((self._ticked, self.live.snapshot()))
        self._truncated = False
        if self._pre is not None:
            self._pre(tick, context)
            if self._truncated and tick > 0:
                return False
        self.live.tick()
        self._ticked = now
        if self.empty:
            self.empty = {pair for pair in self.empty if pair.own}
        self._truncated = False
        self.frames.expose(now)
        if self._post is not None:
            self._after = True
            self._post(tick, context)
            self._after = False
        if not self._truncated:
            self.tick = tick + 1
        return True

    def go_on_at(self, tick: int) -> None:
        """Continue at a tick, for example after the state of an earlier run is restored."""
        self.tick = tick
        self._ticked = self.stamp(max(tick - 1, 0))
        self._forget()
        self.frames.clear()
        self.empty = set()

    def last_time(self, pair: ComponentPair) -> int:
        """Return the time of the last value of a pair, us."""
        return self._own.get(pair, self._start) if pair.own else self._ticked

    def value_at(self, slot: _Slot, stamp: int) -> Array:
        """Return the value of a pair at a time before its last one, us. Raises RuntimeError."""
        past = self._writes.get(slot.pair, ()) if slot.pair.own else self._past
        for at, values in reversed(past):
            if at <= stamp:
                found: Array = np.array(values if slot.pair.own else np.asarray(values[slot.block])[slot.numbers])
                return found
        since = f"from {past[0][0]} us on" if past else "none yet"
        raise RuntimeError(f"component {slot.pair.name!r} has no data at {stamp} us; values are kept {since}")

    def _forget(self) -> None:
        """Discard all past values."""
        self._own.clear()
        self._writes.clear()
        self._past.clear()

    def wrote(self, pair: ComponentPair, stamp: int, values: Array, now: bool) -> None:
        """Record that a callback wrote a pair at a time, us; `now` if the callback gave no time."""
        self.empty.discard(pair)
        if pair.own:
            self._own[pair] = stamp
            if pair not in self._writes:
                start = self.live.program.start[pair.component][pair.row].ravel()
                given = [] if self._emptied else [(self._start, start)]
                self._writes[pair] = deque(given, maxlen=self._kept)
            self._writes[pair].append((stamp, values.copy()))
            if self._on_write is not None:
                # After a tick, the current time is that of the resulting state, which is the time of the next tick.
                self._on_write(pair, self.stamp(self._context.tick + 1) if now and self._after else stamp, values)

    def truncate(self) -> None:
        """Discard what was recorded, and count ticks from 0."""
        self.tick, self._truncated, self._after, self._emptied = 0, True, False, True
        self._context.timestamp = self._ticked = self._start
        self._forget()
        self.empty = {self.pairs[name] for name in self.pairs}
        self.live.restart_count()
        self.frames.clear()
        self._on_truncate()


def _no_world() -> NoReturn:
    raise AssertionError("there is no camera to see it")


def _numbers(data: Any, pair: ComponentPair, name: str) -> Array:
    """Return data as an array (size,) of a pair's type. Raises ValueError."""
    array = data if type(data) is np.ndarray else np.asarray(data)
    if array.dtype != pair.dtype:
        if not _fits(array, pair.dtype):
            raise ValueError(f"data type mismatch for {name!r}: expected {pair.dtype}, got {array.dtype}")
        array = array.astype(pair.dtype)
    if array.size != pair.size:
        raise ValueError(f"data size mismatch for {name!r}: expected {pair.size} numbers, got {array.size}")
    return array if array.ndim == 1 else array.ravel()


def _fits(array: Array, dtype: np.dtype[Any]) -> bool:
    """Return whether numbers can be converted to a type without changing their values; floats may be rounded."""
    if array.dtype.kind not in "fiub":
        return False
    if np.can_cast(array.dtype, dtype, "safe"):
        return True
    if dtype.kind == "f":
        return True
    if not (array.dtype.kind in "iu" and dtype.kind in "iu"):
        return False
    bounds = np.iinfo(dtype)
    return array.size == 0 or bool(bounds.min <= array.min() and array.max() <= bounds.max)
