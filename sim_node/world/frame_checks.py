"""Whether frames stand and move within numbers: poses, scales, keyframes and words out of range."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sim_node.world.model import INTERPOLATIONS, LATEST_NS, OUTSIDE, Motion, Sensor, StaticFrame, World
from sim_node.world.pose_checks import pose_faults
from sim_node.world.problems import Problem, shown_key


def static_problems(world: World) -> Iterator[Problem]:
    """Faults of the poses, then of the scales, of frames and sensors."""
    statics = (*world.of(StaticFrame), *world.of(Sensor))
    if statics:
        poses = np.array([frame.pose for frame in statics])
        for row, message in pose_faults(poses):
            yield _named(statics[row], "pose", message)
    for frame in statics:
        if frame.scale is not None and not all(0.0 < factor < math.inf for factor in frame.scale.tolist()):
            yield _named(frame, "scale", f"{frame.scale.tolist()} must be above zero and finite")


def motion_problems(motion: Motion) -> Iterator[Problem]:
    """Faults of the words, poses and times of a motion."""
    for key, word, allowed in (
        ("interpolation", motion.interpolation, INTERPOLATIONS),
        ("before", motion.before, OUTSIDE),
        ("after", motion.after, OUTSIDE),
    ):
        if word not in allowed:
            yield _named(motion, key, f"found {word!r}; allowed: {', '.join(allowed)}")
    for row, message in pose_faults(motion.poses):
        yield _named(motion, f"poses[{row}]", message)
    backwards = np.flatnonzero(np.diff(motion.times_ns) <= 0)
    if len(backwards):
        row = int(backwards[0]) + 1
        found = f"{motion.times_ns[row]} after {motion.times_ns[row - 1]}"
        yield _named(motion, f"times_ns[{row}]", f"{found}; times must increase")
    if np.abs(motion.times_ns).max() > LATEST_NS:
        yield _named(motion, "times_ns", f"out of range; allowed: {-LATEST_NS} to {LATEST_NS}")


def _named(of: StaticFrame | Motion, part: str, message: str) -> Problem:
    name = of.frame if isinstance(of, Motion) else of.name
    return Problem(of.place.where, f"{shown_key(name)}: {part}", message)
