"""Scene graphs as AeroSim has them: entities, components and resources, read, checked, written, and made of worlds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_node.lazy import public

if TYPE_CHECKING:
    from sim_node.scene.coordinates import consistent
    from sim_node.scene.from_world import scene_graph_of
    from sim_node.scene.graph import (
        Effector,
        Ellipsoid,
        Entity,
        SceneGraph,
        SensorComponent,
        Transform3D,
        WorldCoordinate,
    )
    from sim_node.scene.reading import load_scene_graph, scene_graph
    from sim_node.scene.to_world import Options, world_of
    from sim_node.scene.writing import to_json

__all__ = [
    "Effector",
    "Ellipsoid",
    "Entity",
    "Options",
    "SceneGraph",
    "SensorComponent",
    "Transform3D",
    "WorldCoordinate",
    "consistent",
    "load_scene_graph",
    "scene_graph",
    "scene_graph_of",
    "to_json",
    "world_of",
]

__getattr__, __dir__ = public(
    __name__,
    {
        "Effector": "graph",
        "Ellipsoid": "graph",
        "Entity": "graph",
        "Options": "to_world",
        "SceneGraph": "graph",
        "SensorComponent": "graph",
        "Transform3D": "graph",
        "WorldCoordinate": "graph",
        "consistent": "coordinates",
        "load_scene_graph": "reading",
        "scene_graph": "reading",
        "scene_graph_of": "from_world",
        "to_json": "writing",
        "world_of": "to_world",
    },
)
