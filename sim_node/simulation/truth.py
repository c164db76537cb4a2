"""How the frames of a run truly move: as engines know, by differences of keyframes, or one on top of the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from sim_node.geometry.arrays import FloatArray, IntArray
from sim_node.physics.engine import Carrier, Engine, Timetable
from sim_node.sensors.kinematics import Differences
from sim_node.sensors.truth import FrameState
from sim_node.world.frame_table import FrameTable


class _Keyframed(NamedTuple):
    """Frames that keyframes move, at these places of the state: below the fixed frame, or on frames that move."""

    places: list[int]
    differences: Differences
    carriers: FrameState | None


class Truth:
    """Fills a FrameState of the frames `names` whenever asked.

    A frame that an engine carries moves as that engine knows. What keyframes move is told by differences: in the fixed
    frame, or, as a gimbal on a vehicle, in the next frame above it that an engine carries.
    poses (N, 7): the run's, of which the static ones count.
    """

    def __init__(
        self, frames: FrameTable, engines: Sequence[Engine], names: Sequence[str], state: FrameState, poses: FloatArray
    ) -> None:
        self._state, self._poses = state, poses
        self._timetables = [engine for engine in engines if isinstance(engine, Timetable)]
        self._observers: list[Callable[[], None]] = []
        self._keyframed: list[_Keyframed] = []
        chains = [frames.chain(frames.index(name)) for name in names]
        free = set(range(len(chains)))
        for engine in engines:
            if not isinstance(engine, Carrier):
                continue
            carried = set(engine.carried.tolist())
            above = {place: rows for place in free if (rows := _above(chains[place], carried)) is not None}
            fixed = [place for place, rows in above.items() if not rows]
            self._observe(engine, [chains[place][0] for place in fixed], state, fixed)
            riding = [place for place, rows in above.items() if rows]
            if riding:
                carriers = FrameState.at_rest(len(riding))
                rows = [chains[place][len(above[place])] for place in riding]
                self._observe(engine, rows, carriers, range(len(riding)))
                parts = [above[place] for place in riding]
                self._keyframed.append(_Keyframed(riding, Differences(frames, parts), carriers))
            free.difference_update(above)
        still = [place for place in free if frames.still[chains[place][0]]]
        state.pose[still] = frames.in_root(poses)[[chains[place][0] for place in still]]
        moving = sorted(free.difference(still))
        if moving:
            self._keyframed.append(_Keyframed(moving, Differences(frames, [chains[place] for place in moving]), None))

    def observe(self, *, begins: bool) -> None:
        """Fills the state as it is now. begins: whether the run does, so that there is nothing before."""
        for observe in self._observers:
            observe()
        for places, differences, carriers in self._keyframed:
            moved = differences.state(self._write, self._poses, begins=begins)
            if carriers is not None:
                moved = carriers.carrying(moved)
            self._state.pose[places] = moved.pose
            self._state.twist[places] = moved.twist
            self._state.acceleration[places] = moved.acceleration

    def _observe(self, engine: Carrier, rows: Sequence[int], state: FrameState, places: Sequence[int]) -> None:
        if rows:
            self._observers.append(engine.observer(np.array(rows), state, np.array(places)))

    def _write(self, poses: FloatArray, ahead_ns: IntArray) -> None:
        for engine in self._timetables:
            engine.write_instants(poses, ahead_ns)


def _above(chain: Sequence[int], carried: set[int]) -> Sequence[int] | None:
    """The rows of a chain that hang on the first that is carried; None where none is."""
    first = next((at for at, row in enumerate(chain) if row in carried), None)
    return None if first is None else chain[:first]
