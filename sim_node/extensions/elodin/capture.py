"""Capture of worlds in Python: a script that is read as a world ends at World.run, which hands its world over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sim_node.extensions.elodin.frame_names import Reference, reference_of

if TYPE_CHECKING:
    from sim_node.extensions.elodin.entities import Entities
    from sim_node.extensions.elodin.program import CompiledProgram
    from sim_node.extensions.elodin.sensor_cameras import SensorCamera
    from sim_node.world.model import World

# Called as callback(tick, context) before or after each tick.
Callback = Callable[[int, Any], object]


class ScriptStop(BaseException):
    """Ends a script at World.run while it is read as a world.

    It is a BaseException so that `except Exception` in the script does not catch it.
    """


@dataclass(frozen=True, eq=False)
class Captured:
    """The arguments that a script passed to World.run.

    Attributes:
        entities: The entities of the world.
        program: The compiled world.
        pre_step: Called before each tick, or None.
        post_step: Called after each tick, or None.
        settings: The other arguments of World.run by name.
        source: The world from a file that the systems run beside, or None if the script defines the whole world.
        mirrored: Components that duplicate what the world from a file already publishes.
    """

    entities: Entities
    program: CompiledProgram
    pre_step: Callback | None = None
    post_step: Callback | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    source: World | None = None
    mirrored: frozenset[str] = frozenset()

    @property
    def cameras(self) -> Mapping[str, SensorCamera]:
        """The cameras of the world, by name."""
        found: Mapping[str, SensorCamera] = getattr(self.entities, "cameras", {})
        return found

    @property
    def start_us(self) -> int:
        """The start time given by the script, us since 1970; 0 if it gives none."""
        return int(self.settings.get("start_timestamp") or 0)

    @property
    def reference(self) -> Reference:
        """The frame in which the poses of entities are expressed."""
        return getattr(self.entities, "reference", None) or reference_of("ENU")


# The worlds captured so far; None outside of `capturing`.
_CAPTURED: ContextVar[list[Captured] | None] = ContextVar("captured", default=None)


@contextmanager
def capturing() -> Iterator[list[Captured]]:
    """Capture worlds instead of running them, in this thread, until the block ends.

    Yields:
        The list of captured worlds, to which `offer` adds. A script ends at the first one unless it catches ScriptStop.
    """
    captured: list[Captured] = []
    before = _CAPTURED.set(captured)
    try:
        yield captured
    finally:
        _CAPTURED.reset(before)


def offer(captured: Captured) -> None:
    """Hand over a world that is about to run. Does nothing outside of `capturing`.

    Args:
        captured: The world.

    Raises:
        ScriptStop: The world was captured; it must not be run.
    """
    into = _CAPTURED.get()
    if into is not None:
        into.append(captured)
        raise ScriptStop
