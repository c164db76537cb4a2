"""The section `motions` of a world file: frames that move through keyframes, inline or from CSV."""

from __future__ import annotations

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.world.bounds import MAX_STAMP_NS
from sim_node.world.conventions import CONVENTIONS
from sim_node.world.model import INTERPOLATIONS, OUTSIDE, Motion
from sim_node.world.readers.keyframe_csv import read_keyframes
from sim_node.world.readers.keys import Keys, choice, either, frame, listing, number, text
from sim_node.world.readers.yaml_nodes import Mapping, Sequence
from sim_node.world.readers.yaml_poses import (
    CONVENTION,
    POSITION,
    ROTATION_FORMS,
    ROTATIONS,
    SCALE,
    pose_of,
    scale_of,
)
from sim_node.world.readers.yaml_section import Context, named, section
from sim_node.world.readers.yaml_values import Value

KEYFRAME_KEYS = Keys(
    {
        "t": number("Time, s. Times increase.", -MAX_STAMP_NS / 1e9, MAX_STAMP_NS / 1e9),
        "position": POSITION,
        **ROTATION_FORMS,
        "convention": CONVENTION,
    },
    required=("t",),
    at_most_one=(ROTATIONS,),
    about="The frame's pose at a time.",
    define="keyframe",
)
CSV_KEYS = Keys({"csv": text("A table of keyframes, relative to this file.")}, required=("csv",))
MOTION_KEYS = Keys(
    {
        "frame": frame("The frame that moves."),
        "parent": frame("The frame that it moves in."),
        "interpolation": choice("How poses between keyframes are computed.", INTERPOLATIONS),
        "before": choice("What the frame does before the first keyframe.", OUTSIDE),
        "after": choice("What the frame does after the last keyframe.", OUTSIDE),
        "convention": CONVENTION,
        "scale": SCALE,
        "keyframes": either("The poses over time.", listing("", KEYFRAME_KEYS, least=1), CSV_KEYS),
    },
    required=("frame", "keyframes"),
)

# Replaces keyframes that cannot be read, so that the rest can be checked.
_PLACEHOLDER = np.zeros(1, dtype=np.int64), np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]])


@section("motions", listing("Frames that move through keyframes.", MOTION_KEYS))
def read_motions(value: Value, context: Context) -> None:
    """Read a list of moving frames."""
    for entry in value.items():
        table = entry.table(MOTION_KEYS)
        name, place = named(table, "frame")
        convention = table.choice("convention", CONVENTIONS, "ENU")
        keyframes = table.get("keyframes")
        found = None if keyframes is None else _keyframes(keyframes, context, convention)
        times_ns, poses = found or _PLACEHOLDER
        interpolation = table.choice("interpolation", INTERPOLATIONS, "slerp")
        before, after = (table.choice(key, OUTSIDE, "hold") for key in ("before", "after"))
        if name:
            motion = Motion(
                name,
                times_ns=times_ns,
                poses=poses,
                interpolation=interpolation,
                before=before,
                after=after,
                scale=scale_of(table),
                **place,
            )
            context.add(motion)


def _keyframes(value: Value, context: Context, convention: str) -> tuple[IntArray, FloatArray] | None:
    if isinstance(value.node, Mapping):
        return _from_csv(value, context, convention)
    return _inline(value, convention)


def _inline(value: Value, convention: str) -> tuple[IntArray, FloatArray] | None:
    times_ns: list[int] = []
    poses: list[FloatArray] = []
    for entry in value.items():
        table = entry.table(KEYFRAME_KEYS)
        poses.append(pose_of(table, convention))
        time = table.get("t")
        time_ns = None if time is None else time.nanoseconds(-MAX_STAMP_NS)
        if time is None or time_ns is None:
            continue
        if times_ns and time_ns <= times_ns[-1]:
            what = "the same time as" if time_ns == times_ns[-1] else "earlier than"
            time.error(f"{what} the keyframe before it ({times_ns[-1] / 1e9:.10g} s); times must increase")
        times_ns.append(time_ns)
    if not poses and isinstance(value.node, Sequence):
        value.error("no keyframes; a motion needs at least one")
    if len(times_ns) != len(poses) or not poses:
        return None
    return np.array(times_ns, dtype=np.int64), np.array(poses)


def _from_csv(value: Value, context: Context, convention: str) -> tuple[IntArray, FloatArray] | None:
    reference = value.table(CSV_KEYS).get("csv")
    found = None if reference is None else context.find(reference)
    if found is None:
        return None
    path, shown = found
    keyframes = read_keyframes(path, context.report.about(str(shown)))
    if keyframes is None:
        return None
    times_ns, poses = keyframes
    return times_ns, CONVENTIONS[convention](poses)
