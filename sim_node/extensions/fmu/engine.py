"""The engine of FMUs, which steps them together and moves frames by their outputs."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sim_node.extensions.fmu.description import TYPES, Description, Variable, description_of
from sim_node.extensions.fmu.part import OF_POSE, OUTPUT, Fmu, FmuFrame, FmuInput, Fmus
from sim_node.simulation.columns import Array, Column, Columns
from sim_node.simulation.physics.engine import Engine, engine
from sim_node.simulation.sensors.truth import FrameState
from sim_node.spatial.frames import Frame, convert_transform
from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.text import did_you_mean
from sim_node.world.layout import Layout
from sim_node.world.model import World
from sim_node.world.readers.yaml_poses import CONVENTIONS

if TYPE_CHECKING:
    from sim_node.extensions.fmu.process import FmuProcess
    from sim_node.simulation import Simulation

_LOG = logging.getLogger("sim_node")
Report = Callable[[str], None]
# The poses of ENU and FLU in the axes of a convention, the inverse of CONVENTIONS.
_BACK = {
    "NED": ((Frame.ENU, Frame.FLU), (Frame.NED, Frame.FRD)),
    "FRD": ((Frame.FLU, Frame.FLU), (Frame.FRD, Frame.FRD)),
}


@engine("fmus")
def open_fmus(world: World, layout: Layout, columns: Columns) -> Engine | None:
    """Return the engine of a world's FMUs, or None for a world without FMUs."""
    frames: tuple[FmuFrame, ...] = world.parts.get("fmu_frames", ())
    return FmuEngine(world, layout, columns, Fmus.of(world), frames) if Fmus.of(world) or frames else None


def start_fmus(simulation: Simulation, report: Report = _LOG.warning) -> Mapping[str, FmuHandle]:
    """Start the FMUs of a run, each in its own process. They are programs, which run with the user's permissions.

    Args:
        simulation: The run. Until this is called, its FMUs do nothing.
        report: Receives a line for each FMU that cannot be started, fails or crashes. The run continues without it.

    Returns:
        Handles of the FMUs by name.
    """
    for each in simulation.engines.values():
        if isinstance(each, FmuEngine):
            each.allow(report)
    return fmus_of(simulation)


def fmus_of(simulation: Simulation) -> Mapping[str, FmuHandle]:
    """Return handles of the FMUs of a run.

    Args:
        simulation: The run.

    Returns:
        The handles by name.
    """
    found = [each for each in simulation.engines.values() if isinstance(each, FmuEngine)]
    return {unit.name: FmuHandle(unit) for each in found for unit in each.units}


class FmuUnit:
    """An FMU of a run, whether or not its process runs.

    Args:
        of: The part.
        description: Its description.
        step_ns: The world's step, ns.
        folder: Its working folder.

    Attributes:
        name: Its name.
        steps: The number of steps of the world for each of its steps.
        values: The values of its outputs by variable; empty before it has started.
        wanted: Values to be set at its next step, by variable.
        made: The number of steps that it has made.
        period: Time between two of its steps, s.
    """

    def __init__(self, of: Fmu, description: Description, step_ns: int, folder: Path) -> None:
        self.name, self.description = of.name, description
        self.steps = max(of.step_ns // step_ns, 1)
        self.sources = {name: FmuInput.of(source) for name, source in of.inputs.items()}
        self.values: dict[str, Any] = {}
        self.wanted: dict[str, Any] = {}
        self.allowed = False
        self.report: Report = _LOG.warning
        self._period_ns = self.steps * step_ns
        self.period = self._period_ns / 1e9
        self._of, self._folder = of, of.cwd or folder
        self._process: FmuProcess | None = None
        self._over = self._waits = False
        self.made = 0

    @property
    def runs(self) -> bool:
        """Whether it takes part in the run."""
        return self.allowed and not self._over

    def begin(self) -> None:
        """Begin a reset to the start. `begun` waits for it."""
        self._over, self.made = False, 0
        self.wanted.clear()
        self.close()
        if self.allowed:
            self._try(self._start)

    def begun(self) -> None:
        """Wait until it has started, if it is allowed to."""
        if self._process is not None:
            self._try(self._process.started)

    def _start(self) -> None:
        from sim_node.extensions.fmu.process import FmuProcess  # here, because every world imports this module

        self._process = FmuProcess(self.name, self._of.file, self.description, self._of.start, self._folder)
        self.values = self._process.values

    def send(self, inputs: Mapping[str, Any]) -> None:
        """Begin a step. `receive` waits for its end."""
        if not self.runs or self._process is None:
            return
        time, self.made = self.made * self._period_ns / 1e9, self.made + 1
        self._process.send({"set": {**inputs, **self.wanted}, "time": time, "step": self.period})
        self.wanted.clear()
        self._waits = True

    def receive(self) -> None:
        """Wait for the end of the step."""
        if self._waits and self._process is not None:
            self._waits = False
            self._try(self._process.receive)

    def fail(self, why: str) -> None:
        """End the FMU, and report why. The run continues without it, and its outputs keep their values."""
        self._over = True
        at = f"at {self.made * self.period:g} s" if self.made else "at its start"
        self.report(f"FMU {self.name} {why} ({at}); the run goes on without it")
        self.close()

    def save(self) -> bytes:
        """Return its serialized state. Raises ValueError if it cannot be saved."""
        if self._process is None or not self.runs:
            return b""
        if not self.description.saves:
            raise ValueError(
                f"FMU {self.name} cannot save its state, as it says itself, so that this run can only be reset"
            )
        return self._try(self._process.save) or b""

    def restore(self, made: int, state: bytes) -> None:
        """Restore a state that was saved after a number of steps."""
        if state and self._process is not None and self.runs:
            process = self._process
            self._try(lambda: process.restore(state))
            self.made = made

    def take_over(self, other: FmuUnit) -> None:
        """Take over the process of the same FMU from an earlier generation of the run."""
        self.close()
        for name in ("values", "wanted", "allowed", "report", "_process", "_over", "made"):
            setattr(self, name, getattr(other, name))
        other._process = None

    def close(self) -> None:
        """End its process."""
        if self._process is not None:
            self._process.close()
            self._process = None
            self._waits = False

    def _try(self, act: Callable[[], Any]) -> Any:
        from sim_node.extensions.fmu.process import Ended

        try:
            return act()
        except (Ended, OSError) as error:
            self.fail(str(error))
            return None

    def __del__(self) -> None:
        self.close()


class FmuHandle:
    """A handle of an FMU of a run, to read its outputs and set its inputs.

    Args:
        unit: The FMU.

    Attributes:
        name: Its name.
    """

    def __init__(self, unit: FmuUnit) -> None:
        self.name, self._unit = unit.name, unit

    @property
    def values(self) -> Mapping[str, Any]:
        """The values of its outputs by variable: numbers, booleans, strings, and lists of them."""
        return dict(self._unit.values)

    @property
    def is_running(self) -> bool:
        """Whether it takes part in the run: it was started and has not failed."""
        return self._unit.runs

    def set(self, variable: str, value: Any) -> None:
        """Set an input, starting with the next step.

        Args:
            variable: The input.
            value: A number, boolean or string, or a list of them for an array.

        Raises:
            ValueError: There is no such input, or the value is invalid.
        """
        known = {each.name: each for each in self._unit.description.variables.values() if each.causality == "input"}
        if variable not in known:
            raise ValueError(f"FMU {self.name} has no input {variable!r}{did_you_mean(variable, known)}")
        if fault := known[variable].takes(value):
            raise ValueError(f"the input {variable!r} of FMU {self.name} {fault}")
        self._unit.wanted[variable] = value


class FmuEngine:
    """Steps FMUs, and moves frames by their outputs.

    Args:
        world: The world, assembled.
        layout: The layout of its frames.
        columns: The columns of the run.
        fmus: The FMUs.
        frames: The frames that they move.

    Attributes:
        units: The FMUs.
    """

    def __init__(
        self, world: World, layout: Layout, columns: Columns, fmus: Sequence[Fmu], frames: Sequence[FmuFrame]
    ) -> None:
        step_ns = world.time.step_ns
        self.units = [
            FmuUnit(each, description_of(each.file).started(each.start), step_ns, world.folder) for each in fmus
        ]
        self._by_name = {unit.name: unit for unit in self.units}
        self._frames, self._at = frames, 0
        names = tuple(each.frame for each in frames)
        self._rows = columns.claim("pose", names)
        self._poses = columns.add(Column("fmu/pose", names, (7,), unit="m, 1", meaning="in the parents, by FMUs"))
        self._twists = columns.add(Column("fmu/twist", names, (6,), unit="m/s, rad/s", meaning="of the last step"))
        self._accelerations = columns.add(
            Column("fmu/acceleration", names, (6,), unit="m/s^2, rad/s^2", meaning="of the last two steps")
        )
        self._shown = [(unit, each) for unit in self.units for each in unit.description.outputs if _is_number(each)]
        outputs = tuple(f"{unit.name}/{each.name}" for unit, each in self._shown)
        columns.compute(
            Column(OUTPUT, outputs, state=False, meaning="numbers of outputs; NaN before the start"),
            self._outputs,
        )
        columns.compute(
            [
                Column("fmu/steps", tuple(self._by_name), dtype=np.int64, meaning="steps of each, and of the world"),
                Column("fmu/sizes", tuple(self._by_name), dtype=np.int64, meaning="bytes of each in fmu/state"),
                Column("fmu/state", None, dtype=np.uint8, meaning="states of FMUs, as they serialize them"),
                Column("fmu/time", ("world",), dtype=np.int64, meaning="steps of the world"),
            ],
            self._save,
            self._restore,
        )
        self._carriers, self._offsets = _carried(layout, self._rows, names, world.fixed_frame, frames)

    @property
    def carried(self) -> IntArray:
        """The rows (K,) of frames below the fixed frame that FMUs move, and of the frames fixed to them."""
        return np.flatnonzero(self._carriers >= 0)

    def observer(self, rows: IntArray, state: FrameState, places: IntArray) -> Callable[[], None]:
        """Return a function that writes the motion of frames, from differences between the last steps of FMUs."""
        on, offsets = self._carriers[rows], self._offsets[rows]

        def observe() -> None:
            there = FrameState(self._poses[on], self._twists[on], self._accelerations[on]).at(offsets)
            state.pose[places], state.twist[places] = there.pose, there.twist
            state.acceleration[places] = there.acceleration

        return observe

    def allow(self, report: Report) -> None:
        """Allow the FMUs to start."""
        for unit in self.units:
            unit.allowed, unit.report = True, report
        self._begin()

    def reset(self, seed: int) -> None:
        """Reset to the start. The seed is not used: FMUs have their own random numbers, if any."""
        self._at = 0
        self._begin()

    def step(self, steps: int) -> None:
        """Advance by steps of the world. FMUs whose steps end at the same time compute them in parallel."""
        end = self._at + steps
        while self._at < end:
            ahead = [unit.steps - self._at % unit.steps for unit in self.units if unit.runs]
            self._at = min(end, self._at + min(ahead, default=steps))
            due = [unit for unit in self.units if unit.runs and self._at % unit.steps == 0]
            if not due:
                continue
            inputs = [self._inputs(unit) for unit in due]
            for unit, values in zip(due, inputs, strict=True):
                unit.send(values)
            for unit in due:
                unit.receive()
            self._move(due)

    def write(self, poses: FloatArray, ahead_ns: int) -> None:
        """Write the poses of the frames that FMUs move, which are constant between two steps."""
        poses[self._rows] = self._poses

    def resume(self, step: int) -> None:
        """Continue at a step of the world."""
        self._at = step

    def release(self, successors: Mapping[str, Engine]) -> None:
        """Pass the processes to the next generation of the run, or end them."""
        after = successors.get("fmus")
        theirs = after._by_name if isinstance(after, FmuEngine) else {}
        for unit in self.units:
            if unit.name in theirs:
                theirs[unit.name].take_over(unit)
            else:
                unit.close()

    def _inputs(self, unit: FmuUnit) -> dict[str, Any]:
        """Return the current inputs of an FMU from the others."""
        found = {}
        for name, source in unit.sources.items():
            values = self._by_name[source.fmu].values
            if source.variable in values:
                found[name] = values[source.variable]
        return found

    def _begin(self) -> None:
        for unit in self.units:
            unit.begin()
        for unit in self.units:
            unit.begun()
        for row, frame in enumerate(self._frames):
            self._poses[row] = frame.pose
        self._twists[:] = self._accelerations[:] = 0.0
        self._move([unit for unit in self.units if unit.runs], begins=True)

    def _move(self, units: Iterable[FmuUnit], *, begins: bool = False) -> None:
        """Move the frames of some FMUs to the poses of their outputs."""
        by_name = {unit.name: unit for unit in units}
        for row, frame in enumerate(self._frames):
            unit = by_name.get(frame.fmu)
            if unit is None or not frame.outputs or not unit.values:
                continue
            before = self._poses[row].copy()
            pose = _pose(frame, before, unit.values)
            if not np.isfinite(pose).all():
                unit.fail(f"gave {frame.frame} a pose that is not finite")
                continue
            self._poses[row] = pose
            if not begins:
                step = unit.period
                twist = np.concatenate(
                    [
                        (pose[:3] - before[:3]) / step,
                        quaternions.log(quaternions.multiply(pose[3:], quaternions.inverse(before[3:]))) / step,
                    ]
                )
                self._accelerations[row] = (twist - self._twists[row]) / step
                self._twists[row] = twist

    def _outputs(self) -> Sequence[Array]:
        return (np.array([float(unit.values.get(each.name, math.nan)) for unit, each in self._shown]),)

    def _save(self) -> Sequence[Array]:
        states = [unit.save() for unit in self.units]
        return (
            np.array([unit.made for unit in self.units], dtype=np.int64),
            np.array([len(each) for each in states], dtype=np.int64),
            np.frombuffer(b"".join(states), dtype=np.uint8),
            np.array([self._at]),
        )

    def _restore(self, kept: Sequence[Array]) -> None:
        made, sizes, data, at = kept
        self._at = int(at[0])
        ends = np.cumsum(sizes).tolist()
        for unit, steps, size, end in zip(self.units, made.tolist(), sizes.tolist(), ends, strict=True):
            unit.restore(steps, data[end - size : end].tobytes())


def _is_number(variable: Variable) -> bool:
    return variable.size is None and TYPES[variable.type] is not str


def _pose(frame: FmuFrame, before: FloatArray, values: Mapping[str, Any]) -> FloatArray:
    """Return the pose (7,) from outputs. Missing numbers, and a quaternion of zeros, keep their previous values."""
    there, back = CONVENTIONS[frame.axes], _BACK.get(frame.axes)
    pose = np.array(before if back is None else convert_transform(before, *back))
    for number, output in frame.outputs.items():
        pose[OF_POSE.index(number)] = values[output]
    norm = math.hypot(*pose[3:])
    if norm == 0.0:
        pose[3:] = before[3:] if back is None else convert_transform(before, *back)[3:]
    elif math.isfinite(norm):
        pose[3:] /= norm
    if not np.isfinite(pose).all():
        return pose
    found = np.array(there(pose))
    if found[3:] @ before[3:] < 0.0:
        found[3:] = -found[3:]
    return found


def _carried(
    layout: Layout, rows: IntArray, names: Sequence[str], fixed: str, frames: Sequence[FmuFrame]
) -> tuple[IntArray, FloatArray]:
    """Return, for each frame (N,), the moved frame that carries it (-1 for none) and its pose (N, 7) in that frame."""
    table = layout.frames
    carriers = np.full(len(table), -1, dtype=np.int64)
    offsets = np.tile(pose_math.IDENTITY, (len(table), 1))
    for index, (row, frame) in enumerate(zip(rows.tolist(), frames, strict=True)):
        if frame.parent == fixed:
            carriers[row] = index
    for row, parent in enumerate(table.parents.tolist()):
        if parent >= 0 and table.static[row] and carriers[parent] >= 0:
            carriers[row] = carriers[parent]
            offsets[row] = pose_math.compose(offsets[parent], layout.poses[row])
    return carriers, offsets
