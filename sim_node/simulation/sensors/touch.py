"""A bumper: whether its body touches others, for a while."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from sim_node.simulation.columns import Array
from sim_node.simulation.sensors.context import SensorContext
from sim_node.simulation.sensors.noise import Quantities
from sim_node.simulation.sensors.parameters import listing, parameter
from sim_node.simulation.sensors.registry import Channels, Measure, Message, SensorType, sensor
from sim_node.simulation.sensors.truth import FrameState
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.bodies import body_names
from sim_node.world.declared import declared, given
from sim_node.world.model import Sensor, World
from sim_node.world.problems import quoted
from sim_node.world.quantities import Flag


@sensor("touch")
@declared
class Touch(SensorType):
    """Measures whether the body that it is fixed to has touched others for longer than a time without a break.

    Others are the named bodies and links, or all. With `once`, only the first such measurement of a run says so.
    """

    rate: float = parameter(100.0, "Hz", "measurements per second", above=0.0)
    targets: tuple[str, ...] = listing("bodies that count; by default all")
    time: float = parameter(0.0, "s", "how long it must touch them", low=0.0, high=1e6)
    once: bool = given(Flag(), "whether it says so only once", default=False)

    channels: ClassVar = ("touched",)

    def in_world(self, mounting: Sensor, world: World) -> Touch:
        """Return the sensor itself. Raises ValueError for an unknown body."""
        check_bodies(self.targets, world)
        return self

    def quantities(self) -> Quantities:
        """Return no quantities: it has no noise."""
        return ()

    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """Return a std_msgs/Bool."""
        return (Message("touched", "std_msgs/msg/Bool", {"data": Channels(within=np.zeros(1, np.uint8))}),)

    @classmethod
    def measure(cls, sensors: Sequence[Touch], context: SensorContext) -> Measure:
        """Return the function that measures whether each sensor (S, 1) touches: 0 or 1."""
        return _Touching(sensors, context)


def check_bodies(names: Sequence[str], world: World) -> None:
    """Check names of bodies. Raises ValueError for an unknown one."""
    known = body_names(world)
    for name in names:
        if name not in known:
            raise ValueError(f"there is no body {quoted(name)}{did_you_mean(name, known)}")


class _Touching:
    """Measures whether sensors touch (S, 1). It remembers since when (ns, -1 for not) and whether that was reported."""

    def __init__(self, sensors: Sequence[Touch], context: SensorContext) -> None:
        self._frames, self._environment = context.frames, context.environment
        self._targets = [each.targets for each in sensors]
        self._times_ns = np.array([round(each.time * 1e9) for each in sensors])
        self._once = np.array([each.once for each in sensors])
        self._since_ns, self._said = np.empty(len(sensors), np.int64), np.empty(len(sensors), np.bool_)
        self.reset()

    def reset(self) -> None:
        self._since_ns[:], self._said[:] = -1, False

    def state(self) -> dict[str, Array]:
        return {"since_ns": self._since_ns, "said": self._said}

    def restore(self, state: Mapping[str, Array]) -> None:
        self._since_ns[:], self._said[:] = state["since_ns"], state["said"]

    def __call__(self, state: FrameState) -> FloatArray:
        touching = self._environment.touches(self._frames, self._targets)
        self._since_ns[touching & (self._since_ns < 0)] = state.time_ns
        self._since_ns[~touching] = -1
        done = touching & (state.time_ns - self._since_ns >= self._times_ns) & ~(self._once & self._said)
        self._said |= done
        return done[:, None].astype(np.float64)
