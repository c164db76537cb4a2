"""The keyframes of a motion in world files, inline or from CSV."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bounds import MAX_STAMP_NS
from sim_node.world.conventions import CONVENTIONS
from sim_node.world.declared import Spread
from sim_node.world.readers.keyframe_csv import read_keyframes
from sim_node.world.readers.keys import Keys, either, listing, number, text
from sim_node.world.readers.yaml_nodes import Mapping, Scalar, Sequence
from sim_node.world.readers.yaml_poses import CONVENTION, POSITION, ROTATION_FORMS, ROTATIONS, pose_of
from sim_node.world.readers.yaml_values import Value
from sim_node.world.writers.values import pose_data, seconds

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


def _keyframes(value: Value, context: Any) -> dict[str, Any]:
    """Read keyframes in the convention of their motion; nothing with the faults recorded."""
    given = value.holder.get("convention") if value.holder is not None else None
    word = given.node.text if given is not None and isinstance(given.node, Scalar) else ""
    convention = word if word in CONVENTIONS else "ENU"
    return _from_csv(value, context, convention) if isinstance(value.node, Mapping) else _inline(value, convention)


def _inline(value: Value, convention: str) -> dict[str, Any]:
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
    return {"times_ns": np.array(times_ns, dtype=np.int64), "poses": np.array(poses)}


def _from_csv(value: Value, context: Any, convention: str) -> dict[str, Any]:
    reference = value.table(CSV_KEYS).get("csv")
    found = None if reference is None else context.find(reference)
    keyframes = None if found is None else read_keyframes(found[0], context.report.about(str(found[1])))
    return {} if keyframes is None else {"times_ns": keyframes[0], "poses": CONVENTIONS[convention](keyframes[1])}


def _data(motion: Any) -> list[dict[str, Any]]:
    instants = zip(motion.times_ns.tolist(), motion.poses, strict=True)
    return [{"t": seconds(time_ns), **pose_data(pose)} for time_ns, pose in instants]


KEYFRAMES = Spread(
    ("times_ns", "poses"),
    either("The poses over time.", listing("", KEYFRAME_KEYS, least=1), CSV_KEYS),
    _keyframes,
    _data,
    needed=True,
)


def _default_convention(value: Value, context: Any) -> dict[str, Any]:
    """Check the word, which keyframes look up."""
    value.choice(CONVENTIONS, "")
    return {}


# The axes of the keyframes that say nothing about theirs.
CONVENTION_OF_ALL = Spread((), CONVENTION, _default_convention, lambda motion: None)
