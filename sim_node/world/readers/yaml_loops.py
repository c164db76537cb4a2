"""The sections `loop_closures` and `contact_exclusions` of a world file: what an assembly leaves besides bodies."""

from __future__ import annotations

import numpy as np

from sim_node.world.bodies import ContactExclusion, LoopClosure
from sim_node.world.bounds import MAX_DISTANCE
from sim_node.world.readers.keys import Keys, frame, listing, number, text
from sim_node.world.readers.yaml_poses import POSE_KEYS, read_pose
from sim_node.world.readers.yaml_section import Context, frame_name, section
from sim_node.world.readers.yaml_values import Value

END_KEYS = Keys(
    {"frame": frame("The frame of a body."), "pose": POSE_KEYS},
    required=("frame",),
    about="The connector at one end.",
    define="loop closure end",
)
CLOSURE_KEYS = Keys(
    {
        "name": text("Its name, unique in the world.", least=1),
        "type": text("What is held: ball, hinge, distance or lock.", least=1),
        "between": listing("The two ends.", END_KEYS, 2, 2),
        "distance": number("Distance of the ends, for the type distance, m.", 0.0, MAX_DISTANCE),
        "relaxation": number("Time in which they take it, s; 0 for as fast as the timestep allows.", 0.0),
    },
    required=("name", "type", "between"),
)
_FRAME = frame("The frame of a body.")


@section("loop_closures", listing("Constraints that close loops of bodies.", CLOSURE_KEYS))
def read_loop_closures(value: Value, context: Context) -> None:
    """Read a list of constraints between frames of bodies."""
    for entry in value.items():
        errors = len(entry.report.errors)
        table = entry.table(CLOSURE_KEYS)
        name, kind, between = (table.get(key) for key in ("name", "type", "between"))
        ends = [] if between is None else [each.table(END_KEYS) for each in between.items()]
        frames = [frame_name(end.get("frame")) for end in ends]
        poses = [read_pose(end.get("pose"))[0] for end in ends]
        amounts = (table.get(key) for key in ("distance", "relaxation"))
        distance, relaxation = (0.0 if each is None else each.number(0.0) for each in amounts)
        if between is not None and len(ends) != 2 and len(entry.report.errors) == errors:
            between.error(f"two ends are needed, found {between.found()}")
        if name is not None and kind is not None and len(entry.report.errors) == errors:
            texts = name.text(), kind.text()
            if len(entry.report.errors) == errors:
                between_frames = frames[0], frames[1]
                context.add(LoopClosure(*texts, between_frames, np.array(poses), distance, relaxation, entry.place))


@section("contact_exclusions", listing("Pairs of bodies that do not touch.", listing("", _FRAME, 2, 2)))
def read_contact_exclusions(value: Value, context: Context) -> None:
    """Read a list of pairs of bodies."""
    for entry in value.items():
        errors = len(entry.report.errors)
        names = [frame_name(each) for each in entry.items()]
        if len(names) != 2 and len(entry.report.errors) == errors:
            entry.error(f"two bodies are needed, found {entry.found()}")
        if len(entry.report.errors) == errors:
            context.add(ContactExclusion(names[0], names[1]))
