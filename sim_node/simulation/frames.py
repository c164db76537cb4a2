"""The columns of all frames: poses, of which engines claim rows, and twists."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from sim_node.simulation.columns import Column, Columns
from sim_node.simulation.physics import ENGINES
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.frame_table import FrameTable

_POSE = "[x y z qx qy qz qw] of each frame in its parent"
_TWIST = "[vx vy vz wx wy wz] of each frame relative to the fixed frame, along the fixed frame's axes"


def declare_frames(
    columns: Columns, frames: FrameTable, poses: Callable[[], FloatArray], twists: Callable[[], FloatArray]
) -> None:
    """Declare the columns `pose` and `twist`, which are computed when they are read."""
    pose = Column("pose", frames.names, (7,), unit="m, 1", state=False, shared=True, meaning=_POSE)
    twist = Column("twist", frames.names, (6,), unit="m/s, rad/s", state=False, meaning=_TWIST)
    columns.compute(pose, lambda: (poses(),))
    columns.compute(twist, lambda: (twists(),))


def refuse_sensor(name: str, frames: FrameTable, columns: Columns) -> NoReturn:
    """Raise ValueError or PluginFault for a sensor on a frame whose motion no engine knows."""
    chain = [row for row in frames.chain(frames.index(name)) if not frames.static[row]]
    row = next(row for row in chain if not columns.timed("pose", [row]))
    owner, needs = columns.owner("pose", row), f"sensor {name!r} needs to know how {frames.names[row]!r} moves"
    error = ValueError(f"{needs}, but no engine moves it")
    if owner:
        error = ValueError(f"{needs}, but {owner} moves it and offers neither `instants` nor `observer`")
        ENGINES.blame(owner.removeprefix("engine ").strip("'"), error)
    raise error
