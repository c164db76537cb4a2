"""Plans: the future paths of frames, from keyframes and waypoints."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sim_node.simulation.physics.keyframes import Motions
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import World
from sim_node.world.layout import Layout
from sim_node.world.vehicles import Multirotor

# Number of instants at which motions are sampled. A frame that moves less than this fraction of its descendants is
# considered to rotate only.
_INSTANTS = 240
_TURNS_ONLY = 0.05


def plans_of(world: World, layout: Layout) -> tuple[FloatArray, ...]:
    """Return the planned paths (K, 3) in the fixed frame, m, of keyframed frames and of missions.

    If a keyframed frame only rotates, the path is that of its descendant that moves farthest.
    """
    return (*_by_keyframes(layout), *(way for vehicle in world.vehicles for way in _mission(vehicle, layout)))


def sampled(layout: Layout) -> FloatArray:
    """Return the poses (T, N, 7) of all frames in the fixed frame at sampled instants of the motions, m.

    Frames without keyframes keep their initial pose in their parent.
    """
    motions = [motion for _, motion in layout.moving]
    if not motions:
        return layout.frames.in_root(layout.poses)[None]
    begin = min(int(motion.times_ns[0]) for motion in motions)
    end = max(int(motion.times_ns[-1]) for motion in motions)
    instants = np.linspace(begin, max(end, begin + 1), _INSTANTS).astype(np.int64)
    placed = np.repeat(layout.poses[None], _INSTANTS, axis=0)
    placed[:, [row for row, _ in layout.moving]] = Motions(motions).at(instants)
    return layout.frames.in_root(placed)


def _by_keyframes(layout: Layout) -> Iterator[FloatArray]:
    frames = layout.frames
    tops = [row for row, _ in layout.moving if frames.still[frames.parents[row]]]
    if not tops:
        return
    ways = sampled(layout)[..., :3]
    lengths = np.linalg.norm(np.diff(ways, axis=0), axis=2).sum(axis=0)
    for top in tops:
        below = [row for row in range(len(frames)) if top in frames.chain(row)]
        farthest = max(below, key=lambda row: float(lengths[row]))
        row = top if lengths[top] > _TURNS_ONLY * lengths[farthest] else farthest
        if lengths[row] > 0.0:
            yield ways[:, row]


def _mission(vehicle: Multirotor, layout: Layout) -> Iterator[FloatArray]:
    """Yield the path of a vehicle: up, and from waypoint to waypoint."""
    pilot = vehicle.pilot
    if pilot is None or not pilot.waypoints:
        return
    frames, row = layout.frames, layout.frames.index(vehicle.body)
    start = layout.poses[row, :3]
    way = [start, start + [0.0, 0.0, pilot.take_off], *(each.position for each in pilot.waypoints)]
    if pilot.after == "loop":
        way.append(pilot.waypoints[0].position)
    parent = frames.in_root(layout.poses)[frames.parents[row]]
    yield poses.apply(parent, np.array(way))
