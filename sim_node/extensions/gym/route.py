"""Routes: goals that a frame must reach one after the other."""

from __future__ import annotations

import numpy as np

from sim_node.extensions.gym.expressions import Quantity, norm
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.declared import declared, given, place_of
from sim_node.world.problems import NO_PLACE, Place, Problem, WorldError
from sim_node.world.quantities import Number, Numbers, Text, Whole

ROUTE_SIGNALS = ("goal", "to_goal", "progress", "reached", "remaining")


@declared
class Route:
    """Goals that a frame must reach one after the other, drawn at each reset.

    It provides signals: goal (3,) m, to_goal (3,) from the frame to the goal, progress (m nearer to the goal in this
    step), reached (1 in a step that reached one), and remaining (number of goals).
    """

    frame: str = given(Text(), "The frame")
    count: int = given(Whole(1, 1000), "Number of goals")
    low: tuple[float, float, float] = given(Numbers(3), "Least corner of the box that goals are drawn from", "m")
    high: tuple[float, float, float] = given(Numbers(3), "Largest corner of the box, in the fixed frame", "m")
    radius: float = given(Number(1e-6), "Distance at which a goal is reached", "m", default=0.5)
    place: Place = place_of(default=NO_PLACE)

    def __post_init__(self) -> None:
        if self.count < 1 or not self.radius > 0.0 or not np.less_equal(self.low, self.high).all():
            raise WorldError([Problem(self.place.where, self.place.key or "route", "is empty: check count, low, high")])


class Goals:
    """The goals of an episode, and how far a frame has come.

    Attributes:
        frame: The frame.
        values: The signals of the route by name.
    """

    def __init__(self, route: Route) -> None:
        self._route, self.frame = route, route.frame
        self.values: dict[str, Quantity] = {}

    def begin(self, random: np.random.Generator, position: FloatArray) -> None:
        """Draw the goals."""
        self._goals = random.uniform(self._route.low, self._route.high, (self._route.count, 3))
        self._next, self._distance = 0, norm(self._goals[0] - position)
        self._set(position, 0.0, 0.0)

    def move(self, position: FloatArray) -> None:
        """Go on to the next goal if this one is reached."""
        goal = self._goals[min(self._next, len(self._goals) - 1)]
        distance = norm(goal - position)
        progress, reached = self._distance - distance, 0.0
        if distance <= self._route.radius and self._next < len(self._goals):
            self._next, reached = self._next + 1, 1.0
            distance = norm(self._goals[min(self._next, len(self._goals) - 1)] - position)
        self._distance = distance
        self._set(position, progress, reached)

    def _set(self, position: FloatArray, progress: float, reached: float) -> None:
        goal = self._goals[min(self._next, len(self._goals) - 1)]
        self.values = {
            "goal": goal.copy(),
            "to_goal": goal - position,
            "progress": progress,
            "reached": reached,
            "remaining": float(len(self._goals) - self._next),
        }
