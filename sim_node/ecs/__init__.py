"""Worlds written in Python: entities, components and systems, compiled by JAX.

    import sim_node.ecs as el

Each name is imported when it is first used: importing this package does not import JAX. But a script that imports it
has JAX compute with double precision from then on.
"""

import sys

from sim_node.ecs.doubles import is_user_import, use_doubles
from sim_node.ecs.uncaught import show_only_messages
from sim_node.lazy import public

with public(__name__):
    from dataclasses import dataclass as dataclass
    from typing import Annotated as Annotated

    from sim_node.ecs import s10 as s10
    from sim_node.ecs import ukf as ukf
    from sim_node.ecs.algebra import SpatialForce as SpatialForce
    from sim_node.ecs.algebra import SpatialInertia as SpatialInertia
    from sim_node.ecs.algebra import SpatialMotion as SpatialMotion
    from sim_node.ecs.algebra import SpatialTransform as SpatialTransform
    from sim_node.ecs.algebra import skew as skew
    from sim_node.ecs.archetypes import Archetype as Archetype
    from sim_node.ecs.archetypes import C as C
    from sim_node.ecs.assets import Glb as Glb
    from sim_node.ecs.assets import Material as Material
    from sim_node.ecs.assets import Mesh as Mesh
    from sim_node.ecs.assets import Scene as Scene
    from sim_node.ecs.assets import Shape as Shape
    from sim_node.ecs.components import Component as Component
    from sim_node.ecs.components import Edge as Edge
    from sim_node.ecs.components import EntityId as EntityId
    from sim_node.ecs.components import RevEdge as RevEdge
    from sim_node.ecs.components import ShapeIndexer as ShapeIndexer
    from sim_node.ecs.dynamics import six_dof as six_dof
    from sim_node.ecs.errors import EcsError as EcsError
    from sim_node.ecs.errors import TimeTravel as TimeTravel
    from sim_node.ecs.graphs import GraphQuery as GraphQuery
    from sim_node.ecs.graphs import TotalEdge as TotalEdge
    from sim_node.ecs.jax_setup import jax as jax
    from sim_node.ecs.layouts import ComponentType as ComponentType
    from sim_node.ecs.layouts import PrimitiveType as PrimitiveType
    from sim_node.ecs.numerics import Integrator as Integrator
    from sim_node.ecs.panels import GraphEntity as GraphEntity
    from sim_node.ecs.panels import Panel as Panel
    from sim_node.ecs.quaternion import Quaternion as Quaternion
    from sim_node.ecs.queries import Query as Query
    from sim_node.ecs.standard import Body as Body
    from sim_node.ecs.standard import Camera as Camera
    from sim_node.ecs.standard import Force as Force
    from sim_node.ecs.standard import Inertia as Inertia
    from sim_node.ecs.standard import Seed as Seed
    from sim_node.ecs.standard import SimulationTick as SimulationTick
    from sim_node.ecs.standard import SimulationTimeStep as SimulationTimeStep
    from sim_node.ecs.standard import WorldAccel as WorldAccel
    from sim_node.ecs.standard import WorldPos as WorldPos
    from sim_node.ecs.standard import WorldVel as WorldVel
    from sim_node.ecs.step_context import StepContext as StepContext
    from sim_node.ecs.systems import System as System
    from sim_node.ecs.systems import map as map
    from sim_node.ecs.systems import map_seq as map_seq
    from sim_node.ecs.systems import system as system
    from sim_node.ecs.world_file import JointEffort as JointEffort
    from sim_node.ecs.world_file import JointPosition as JointPosition
    from sim_node.ecs.world_file import JointTarget as JointTarget
    from sim_node.ecs.world_file import JointVelocity as JointVelocity
    from sim_node.session.ecs.exec import Exec as Exec
    from sim_node.session.ecs.jax_sim import JaxSim as JaxSim
    from sim_node.session.ecs.recorded import open_recording as open_recording
    from sim_node.session.ecs.world import World as World

if is_user_import(sys._getframe(1)):
    # A script may compute with JAX before it uses any of these names.
    use_doubles()
    show_only_messages()
