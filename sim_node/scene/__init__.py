"""Scene graphs as AeroSim has them: entities, components and resources, read, checked, written, and made of worlds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_node.lazy import public

if TYPE_CHECKING:
    from sim_node.scene.coordinates import consistent
    from sim_node.scene.from_world import SceneLayout, scene_graph_of
    from sim_node.scene.graph import (
        Effector,
        Ellipsoid,
        Entity,
        SceneGraph,
        SensorComponent,
        Transform,
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
    "SceneLayout",
    "SensorComponent",
    "Transform",
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
        **dict.fromkeys(
            ("Effector", "Ellipsoid", "Entity", "SceneGraph", "SensorComponent", "Transform", "WorldCoordinate"),
            "graph",
        ),
        **dict.fromkeys(("SceneLayout", "scene_graph_of"), "from_world"),
        **dict.fromkeys(("load_scene_graph", "scene_graph"), "reading"),
        **dict.fromkeys(("Options", "world_of"), "to_world"),
        "consistent": "coordinates",
        "to_json": "writing",
    },
)
