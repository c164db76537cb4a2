"""Topics on which the joints of a world are commanded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from sim_node.text import did_you_mean
from sim_node.world.bounds import MAX_MASS, MAX_RATE
from sim_node.world.declared import declared, given, place_of
from sim_node.world.joint_motion import actuated_joints
from sim_node.world.model import World
from sim_node.world.part import Kind, Rename, part
from sim_node.world.problems import NO_PLACE, Place, Problem, quoted
from sim_node.world.quantities import ListOf, Number, Text, Word
from sim_node.world.readers.yaml_section import listed

# Commands that a group can accept: sensor_msgs/JointState, std_msgs/Float64 for each joint, and
# trajectory_msgs/JointTrajectory with the action control_msgs/FollowJointTrajectory.
ACCEPTED = ("joint_state", "float64", "trajectory")
_SPAN = Number(0.0, MAX_MASS)
_NAMESPACE = re.compile(r"([A-Za-z_]\w*(/[A-Za-z_]\w*)*)?", re.ASCII)


@declared
class JointCommands:
    """A group of joints that is commanded on topics."""

    name: str = given(Text(), "Name of the group, in its topics", default="")
    # By default, all joints with actuators whose names are in the namespace.
    joints: tuple[str, ...] = given(ListOf(Text()), "The joints that are commanded; all, if none are named", default=())
    accept: tuple[str, ...] = given(ListOf(Word(ACCEPTED)), "Which commands it takes", default=("joint_state",))
    # After this time, the target of a velocity or an effort becomes 0. Targets of positions are held.
    timeout: float = given(_SPAN, "How long a command holds; 0 for ever", "s", default=0.5)
    states: float = given(
        Number(0.0, MAX_RATE), "How often joint_states is published; 0 for never", "Hz", default=100.0
    )
    path_tolerance: float = given(
        _SPAN, "Maximum deviation on the way of a trajectory; 0 for any", "m or rad", default=0.0
    )
    goal_tolerance: float = given(_SPAN, "Maximum deviation at its goal; 0 for any", "m or rad", default=0.0)
    goal_time: float = given(_SPAN, "How late the goal may be reached; 0 for any time", "s", default=0.0)
    place: Place = place_of(default=NO_PLACE)

    def covers(self, joint: str) -> bool:
        """Return whether a joint with an actuator belongs to the group.

        Args:
            joint: The joint's name.

        Returns:
            Whether it is named or, without names, in the namespace.
        """
        if self.joints:
            return joint in self.joints
        return not self.name or joint.startswith(f"{self.name}/")


@part("joint_commands", JointCommands)
class CommandedJoints(Kind[JointCommands]):
    """Groups of joints that are commanded on topics."""

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every fault of names, joints and numbers."""
        known = actuated_joints(world)
        names: set[str] = set()
        for group, place in self.located(world):
            if not _NAMESPACE.fullmatch(group.name):
                message = f"{quoted(group.name)} is no namespace of topics; use letters, digits, _ and /"
                yield place.problem(message, "name")
            if group.name in names:
                message = f"a second group {quoted(group.name)}, with the same topics; give each a name"
                yield place.problem(message, "name")
            names.add(group.name)
            for joint in group.joints:
                if joint not in known:
                    hint = did_you_mean(joint, known)
                    yield place.problem(f"{quoted(joint)} is no joint with one degree of freedom{hint}", "joints")
        yield from super().problems(world)

    def renamed(self, part: JointCommands, rename: Rename) -> JointCommands:
        """Return the group with topics and joints below the prefix."""
        name = rename.under(part.name).strip("/")
        return replace(part, name=name, joints=tuple(map(rename.under, part.joints)))


listed("joint_commands", "Topics on which joints are commanded.", JointCommands)
