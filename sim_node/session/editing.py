"""What the viewer's tab Edit changes: the world of a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim_node.session.entity_requests import EntityRequests
from sim_node.session.structure_requests import StructureRequests
from sim_node.simulation import Loop, Simulation
from sim_node.simulation.run_view import RunView
from sim_node.spatial.geometry.arrays import FloatArray


class RunEditor:
    """Changes the world of a run for a person at the page; see `sim_node.viewing.browser.edit.Editor`.

    Args:
        loop: The run.
        entities: Its entities.
        structure: Adds to it.
    """

    def __init__(self, loop: Loop, entities: EntityRequests, structure: StructureRequests) -> None:
        self._loop, self._entities, self._structure = loop, entities, structure

    def add(self, uri: str, name: str, position: Sequence[float]) -> str:
        """Add a resource. Raises Rejected."""
        return self._structure.spawn(name, uri=uri, pose=(position, (0.0, 0.0, 0.0, 1.0)), allow_renaming=True)

    def place(self, frame: str, pose: FloatArray) -> None:
        """Put a body at a pose (7,), at rest. Raises KeyError and ValueError."""

        def move(run: RunView) -> None:
            run.bodies[frame].pose = pose
            run.bodies[frame].twist = np.zeros(6)

        self._loop.edit(move)

    def loose(self) -> Sequence[str]:
        """Return the frames of the bodies that float free, of the world that the run has now."""
        return loose_frames(self._loop.simulation)


def loose_frames(simulation: Simulation) -> tuple[str, ...]:
    """Return the names of the bodies of a run that float free, in the order of the world."""
    world = simulation.world
    bodies = [body.name for body in world.bodies if body.joint == "free"]
    links = [
        model.full_name(link.name)
        for model in world.models
        for link in model.links
        if any(joint.kind == "free" for joint in link.joints)
    ]
    return (*bodies, *links)
