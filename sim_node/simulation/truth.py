"""True motion of frames: as engines know it, from differences of keyframes, or one on top of the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sim_node.simulation.columns import AtInstants, Columns
from sim_node.simulation.physics.engine import DynamicEngine, Engine
from sim_node.simulation.sensors.truth import Differences, FrameState
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.world.frame_table import FrameTable


class _Course:
    """Rows of poses that are functions of time, for Differences."""

    def __init__(self, rows: list[int], instants: AtInstants) -> None:
        self.now_ns = 0
        self._rows, self._instants = np.array(rows, dtype=np.intp), instants

    def __call__(self, poses: FloatArray, ahead_ns: IntArray) -> None:
        poses[:, self._rows] = self._instants(self.now_ns + ahead_ns)


class _Keyframed(NamedTuple):
    """Frames moved by functions of time, at these rows of the state: below the fixed frame, or on moving frames."""

    places: list[int]
    differences: Differences
    course: _Course
    carriers: FrameState | None


class Truth:
    """Fills a FrameState of the frames `names` on demand.

    The motion of a frame that an engine carries comes from that engine. The motion of a frame that follows a function
    of time comes from differences: in the fixed frame or, for example for a gimbal on a vehicle, in the next frame
    above it that an engine carries.

    Args:
        poses: (N, 7), the run's; only static rows are read.
        fall: Gives the accelerations of free fall at positions; None if gravity is the same everywhere.

    Attributes:
        unknown: Rows of frames whose motion no engine knows; their twists and accelerations are NaN.
    """

    def __init__(
        self,
        frames: FrameTable,
        engines: Mapping[str, Engine],
        columns: Columns,
        names: Sequence[str],
        state: FrameState,
        poses: FloatArray,
        fall: Callable[[FloatArray], FloatArray] | None = None,
    ) -> None:
        self._frames, self._columns, self._fall = frames, columns, fall
        self._state, self._poses = state, poses
        self.unknown: list[int] = []
        self._observers: list[Callable[[], None]] = []
        self._keyframed: list[_Keyframed] = []
        chains = [frames.chain(frames.index(name)) for name in names]
        free = set(range(len(chains)))
        for engine in engines.values():
            if not isinstance(engine, DynamicEngine):
                continue
            carried = set(engine.carried.tolist())
            above = {place: rows for place in free if (rows := _above(chains[place], carried)) is not None}
            fixed = [place for place, rows in above.items() if not rows]
            self._observe(engine, [chains[place][0] for place in fixed], state, fixed)
            riding = self._timed({place: rows for place, rows in above.items() if rows})
            if riding:
                carriers = FrameState.at_rest(len(riding))
                rows = [chains[place][len(above[place])] for place in riding]
                self._observe(engine, rows, carriers, range(len(riding)))
                self._follow(riding, [above[place] for place in riding], carriers)
            free.difference_update(above)
        still = [place for place in free if frames.still[chains[place][0]]]
        state.pose[still] = frames.in_root(poses)[[chains[place][0] for place in still]]
        moving = self._timed({place: chains[place] for place in sorted(free.difference(still))})
        if moving:
            self._follow(moving, [chains[place] for place in moving], None)

    def observe(self, now_ns: int, *, begins: bool) -> None:
        """Fill the state with the current motion.

        Args:
            now_ns: Simulation time.
            begins: Whether the run begins here, so that there is nothing before.
        """
        for observe in self._observers:
            observe()
        for places, differences, course, carriers in self._keyframed:
            course.now_ns = now_ns
            moved = differences.state(course, self._poses, begins=begins)
            if carriers is not None:
                moved = carriers.carrying(moved)
            self._state.pose[places] = moved.pose
            self._state.twist[places] = moved.twist
            self._state.acceleration[places] = moved.acceleration
        if self._fall is not None:
            self._state.gravity[:] = self._fall(self._state.pose[:, :3])

    def _observe(self, engine: DynamicEngine, rows: Sequence[int], state: FrameState, places: Sequence[int]) -> None:
        if rows:
            self._observers.append(engine.observer(np.array(rows), state, np.array(places)))

    def _timed(self, chains: Mapping[int, Sequence[int]]) -> list[int]:
        """Return the places on whose chains every motion is a function of time; the others are unknown."""
        moving = {place: self._moving([chain]) for place, chain in chains.items()}
        timed = [place for place, rows in moving.items() if self._columns.timed("pose", rows)]
        others = [place for place in chains if place not in timed]
        self._state.twist[others] = self._state.acceleration[others] = np.nan
        self.unknown += others
        return timed

    def _follow(self, places: list[int], chains: list[Sequence[int]], carriers: FrameState | None) -> None:
        rows = self._moving(chains)
        course = _Course(rows, self._columns.instants("pose", rows))
        self._keyframed.append(_Keyframed(places, Differences(self._frames, chains), course, carriers))

    def _moving(self, chains: Sequence[Sequence[int]]) -> list[int]:
        return sorted({row for chain in chains for row in chain if not self._frames.static[row]})


def _above(chain: Sequence[int], carried: set[int]) -> Sequence[int] | None:
    """Return the rows of a chain that hang on the first carried row; None if there is none."""
    first = next((at for at, row in enumerate(chain) if row in carried), None)
    return None if first is None else chain[:first]
