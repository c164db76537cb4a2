"""Worlds written in Python: entities, components and systems, compiled by JAX.

    import sim_node.ecs as el

Each name is imported when it is first used: importing this package does not import JAX. But a script that imports it
has JAX compute with double precision from then on.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from sim_node.ecs.doubles import is_user_import, use_doubles
from sim_node.ecs.uncaught import show_only_messages
from sim_node.lazy import public

if TYPE_CHECKING:
    from sim_node.ecs import s10, ukf
    from sim_node.ecs.algebra import SpatialForce, SpatialInertia, SpatialMotion, SpatialTransform, skew
    from sim_node.ecs.archetypes import Archetype, C
    from sim_node.ecs.assets import Glb, Material, Mesh, Scene, Shape
    from sim_node.ecs.components import Component, Edge, EntityId, RevEdge, ShapeIndexer
    from sim_node.ecs.dynamics import Integrator, six_dof
    from sim_node.ecs.errors import EcsError, TimeTravel
    from sim_node.ecs.graphs import GraphQuery, TotalEdge
    from sim_node.ecs.jax_setup import jax
    from sim_node.ecs.layouts import ComponentType, PrimitiveType
    from sim_node.ecs.panels import GraphEntity, Panel
    from sim_node.ecs.quaternion import Quaternion
    from sim_node.ecs.queries import Query
    from sim_node.ecs.standard import (
        Body,
        Camera,
        Force,
        Inertia,
        Seed,
        SimulationTick,
        SimulationTimeStep,
        WorldAccel,
        WorldPos,
        WorldVel,
    )
    from sim_node.ecs.step_context import StepContext
    from sim_node.ecs.systems import System, map, map_seq, system
    from sim_node.ecs.world_file import JointEffort, JointPosition, JointTarget, JointVelocity
    from sim_node.session.ecs.exec import Exec
    from sim_node.session.ecs.jax_sim import JaxSim
    from sim_node.session.ecs.recorded import open_recording
    from sim_node.session.ecs.world import World

__all__ = [
    "Annotated",
    "Archetype",
    "Body",
    "C",
    "Camera",
    "Component",
    "ComponentType",
    "EcsError",
    "Edge",
    "EntityId",
    "Exec",
    "Force",
    "Glb",
    "GraphEntity",
    "GraphQuery",
    "Inertia",
    "Integrator",
    "JaxSim",
    "JointEffort",
    "JointPosition",
    "JointTarget",
    "JointVelocity",
    "Material",
    "Mesh",
    "Panel",
    "PrimitiveType",
    "Quaternion",
    "Query",
    "RevEdge",
    "Scene",
    "Seed",
    "Shape",
    "ShapeIndexer",
    "SimulationTick",
    "SimulationTimeStep",
    "SpatialForce",
    "SpatialInertia",
    "SpatialMotion",
    "SpatialTransform",
    "StepContext",
    "System",
    "TimeTravel",
    "TotalEdge",
    "World",
    "WorldAccel",
    "WorldPos",
    "WorldVel",
    "dataclass",
    "jax",
    "map",
    "map_seq",
    "open_recording",
    "s10",
    "six_dof",
    "skew",
    "system",
    "ukf",
]

__getattr__, __dir__ = public(
    __name__,
    {
        "Archetype": "archetypes",
        "Body": "standard",
        "C": "archetypes",
        "Camera": "standard",
        "Component": "components",
        "ComponentType": "layouts",
        "EcsError": "errors",
        "Edge": "components",
        "EntityId": "components",
        "Exec": ".session.ecs.exec",
        "Force": "standard",
        "Glb": "assets",
        "GraphEntity": "panels",
        "GraphQuery": "graphs",
        "Inertia": "standard",
        "Integrator": "dynamics",
        "JaxSim": ".session.ecs.jax_sim",
        "JointEffort": "world_file",
        "JointPosition": "world_file",
        "JointTarget": "world_file",
        "JointVelocity": "world_file",
        "Material": "assets",
        "Mesh": "assets",
        "Panel": "panels",
        "PrimitiveType": "layouts",
        "Quaternion": "quaternion",
        "Query": "queries",
        "RevEdge": "components",
        "Scene": "assets",
        "Seed": "standard",
        "Shape": "assets",
        "ShapeIndexer": "components",
        "SimulationTick": "standard",
        "SimulationTimeStep": "standard",
        "SpatialForce": "algebra",
        "SpatialInertia": "algebra",
        "SpatialMotion": "algebra",
        "SpatialTransform": "algebra",
        "StepContext": "step_context",
        "System": "systems",
        "TimeTravel": "errors",
        "TotalEdge": "graphs",
        "World": ".session.ecs.world",
        "WorldAccel": "standard",
        "WorldPos": "standard",
        "WorldVel": "standard",
        "jax": "jax_setup",
        "map": "systems",
        "map_seq": "systems",
        "open_recording": ".session.ecs.recorded",
        "s10": "s10",
        "six_dof": "dynamics",
        "skew": "algebra",
        "system": "systems",
        "ukf": "ukf",
    },
)

if is_user_import(sys._getframe(1)):
    # A script may compute with JAX before it uses any of these names.
    use_doubles()
    show_only_messages()
