"""The `motions` of a world file: frames that move through keyframes, inline or from CSV."""

from __future__ import annotations

import numpy as np

from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray, IntArray
from sim_node.world.conventions import CONVENTIONS
from sim_node.world.locate import LocateError
from sim_node.world.model import INTERPOLATIONS, OUTSIDE, Motion
from sim_node.world.problems import Problem, Where
from sim_node.world.readers.keyframe_csv import read_keyframes
from sim_node.world.readers.yaml_poses import ROTATIONS, pose_of
from sim_node.world.readers.yaml_section import Context, section
from sim_node.world.readers.yaml_values import LATEST_NS, Table, Value

MOTION_KEYS = ("frame", "parent", "interpolation", "before", "after", "convention", "keyframes")
KEYFRAME_KEYS = ("t", "position", *ROTATIONS, "convention")


@section("motions")
def read_motions(value: Value, context: Context) -> None:
    """A list of moving frames."""
    for entry in value.items():
        table = entry.table(MOTION_KEYS, required=("frame", "keyframes"))
        name = context.frame_name(table, "frame")
        convention = table.choice("convention", CONVENTIONS, "ENU")
        keyframes = table.get("keyframes")
        if keyframes is None:
            continue
        times_ns, poses = _keyframes(keyframes, context, convention)
        if len(times_ns) == 0:
            continue
        motion = Motion(
            frame=name,
            parent=context.frame_name(table, "parent"),
            times_ns=times_ns,
            poses=poses,
            interpolation=table.choice("interpolation", INTERPOLATIONS, "slerp"),
            before=table.choice("before", OUTSIDE, "hold"),
            after=table.choice("after", OUTSIDE, "hold"),
            where=entry.where,
        )
        context.motions.append(motion)


def _keyframes(value: Value, context: Context, convention: str) -> tuple[IntArray, FloatArray]:
    if hasattr(value.node, "entries"):
        times_ns, poses = _from_csv(value.table(("csv",), required=("csv",)), context, convention)
    else:
        times_ns, poses = _inline(value, convention)
    poses[:, 3:] = quaternions.continuous(poses[:, 3:])
    return times_ns, poses


def _inline(value: Value, convention: str) -> tuple[IntArray, FloatArray]:
    times: list[int] = []
    rows: list[FloatArray] = []
    for entry in value.items():
        table = entry.table(KEYFRAME_KEYS, required=("t",))
        time = table.get("t")
        rows.append(pose_of(table, convention))
        if time is None:
            continue
        time_ns = time.nanoseconds(-LATEST_NS)
        if times and time_ns <= times[-1]:
            what = "the same time as" if time_ns == times[-1] else "earlier than"
            time.error(f"{what} the keyframe before it ({times[-1] / 1e9:g} s); times must increase")
        times.append(time_ns)
    if not rows and hasattr(value.node, "items"):
        value.error("no keyframes; a motion needs at least one")
    if len(times) != len(rows) or not rows:
        return np.empty(0, dtype=np.int64), np.empty((0, 7))
    return np.array(times, dtype=np.int64), np.array(rows)


def _from_csv(table: Table, context: Context, convention: str) -> tuple[IntArray, FloatArray]:
    reference = table.get("csv")
    empty = np.empty(0, dtype=np.int64), np.empty((0, 7))
    if reference is None:
        return empty
    try:
        path = context.roots.resolve(reference.text(), context.path)
    except LocateError as error:
        reference.error(str(error))
        return empty
    shown = str(context.shown.parent / reference.text())
    times_ns, poses, lines = read_keyframes(path, shown, table.value.report)
    for row in np.flatnonzero(np.diff(times_ns) <= 0) + 1:
        what = "the same time as" if times_ns[row] == times_ns[row - 1] else "earlier than"
        where = Where(shown, lines[row], 1)
        message = f"{times_ns[row] / 1e9:g} s is {what} the row before it ({times_ns[row - 1] / 1e9:g} s)"
        table.value.report.errors.append(Problem(where, "t", message))
    return times_ns, CONVENTIONS[convention](poses)
