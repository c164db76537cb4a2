"""Topics on which the joints of a world are commanded, as frozen data."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from sim_node.text import did_you_mean
from sim_node.world.joint_checks import actuated_joints
from sim_node.world.model import World
from sim_node.world.problems import NO_PLACE, Place, Problem, quoted

# What a group can accept: sensor_msgs/JointState, std_msgs/Float64 for each joint, trajectory_msgs/JointTrajectory with
# the action control_msgs/FollowJointTrajectory.
ACCEPTED = ("joint_state", "float64", "trajectory")
_NAMESPACE = re.compile(r"([A-Za-z_]\w*(/[A-Za-z_]\w*)*)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class JointCommands:
    """A group of joints that is commanded on topics.

    Attributes:
        name: Namespace of the group's topics; empty for none.
        joints: Joints with one degree of freedom; empty for all with actuators whose names begin with the namespace.
        accept: Which commands; some of ACCEPTED.
        timeout: Simulated time after the last command for a velocity or an effort at which its target becomes 0 (s); 0
            for never. Targets of positions are held.
        path_tolerance: Largest error of a position on a trajectory, m or rad; 0 for any.
        goal_tolerance: Largest error of a position at its end, m or rad; 0 for any.
        goal_time: Time after the end of a trajectory by which its goal must be reached, s; 0 for any.
        place: Where the file describes the group.
    """

    name: str = ""
    joints: tuple[str, ...] = ()
    accept: tuple[str, ...] = ("joint_state",)
    timeout: float = 0.5
    path_tolerance: float = 0.0
    goal_tolerance: float = 0.0
    goal_time: float = 0.0
    place: Place = field(default=NO_PLACE, compare=False)

    def covers(self, joint: str) -> bool:
        """Return whether a joint with an actuator belongs to the group.

        Args:
            joint: The joint's name.

        Returns:
            Whether it is named, or, without names, is below the namespace.
        """
        if self.joints:
            return joint in self.joints
        return not self.name or joint.startswith(f"{self.name}/")


def command_problems(world: World) -> Iterator[Problem]:
    """Yield every problem of a world's groups of commanded joints."""
    known = actuated_joints(world)
    names: set[str] = set()
    for index, group in enumerate(world.parts.get("joint_commands", ())):
        key = group.place.key or f"joint_commands[{index}]"

        def problem(field: str, message: str, where: Place = group.place, key: str = key) -> Problem:
            return Problem(where.where, f"{key}.{field}", message)

        if not _NAMESPACE.fullmatch(group.name):
            message = f"{quoted(group.name)} is no namespace of topics; use letters, digits, _ and /"
            yield problem("name", message)
        if group.name in names:
            yield problem("name", f"a second group {quoted(group.name)}, with the same topics; give each a name")
        names.add(group.name)
        for joint in group.joints:
            if joint not in known:
                hint = did_you_mean(joint, known)
                yield problem("joints", f"{quoted(joint)} is no joint with one degree of freedom{hint}")
        for word in group.accept:
            if word not in ACCEPTED:
                yield problem("accept", f"found {quoted(word)}; allowed: {', '.join(ACCEPTED)}")
        for field_name in ("timeout", "path_tolerance", "goal_tolerance", "goal_time"):
            value = getattr(group, field_name)
            if not 0.0 <= value < math.inf:
                yield problem(field_name, f"{value:g} is out of range; it must be zero or more, and finite")
