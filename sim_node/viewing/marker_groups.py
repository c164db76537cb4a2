"""The groups of markers that show a world. A new one is a function with one `@marker_group` entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from sim_node.registry import Registry
from sim_node.wire.marker_messages import Marker
from sim_node.world import FrameTable, World

# Makes the markers of a world that is assembled, in the frames that they are given in.
Marks = Callable[[World, FrameTable], Iterable[Marker]]
# By the namespaces of its markers, as rviz lists them.
MARKER_GROUPS: Registry[str, Marks] = Registry(
    "group of markers",
    shipped=("sim_node.viewing.markers", "sim_node.viewing.sensor_marks"),
    group="sim_node.markers",
)
# Registers what makes the markers of some namespaces.
marker_group = MARKER_GROUPS.add


def all_marks(world: World, frames: FrameTable) -> Iterator[Marker]:
    """Yield the markers of all groups. Raises PluginFault for those of another package that are none."""
    made: list[Marks] = []
    for name, marks in MARKER_GROUPS.items():
        if marks in made:
            continue  # it makes several groups
        made.append(marks)
        for marker in marks(world, frames):
            MARKER_GROUPS.expect(name, marker, Marker, "a Marker")
            if marker.group not in MARKER_GROUPS:
                MARKER_GROUPS.refuse(name, f"made a marker of the group {marker.group!r}, which it does not name")
            yield marker
