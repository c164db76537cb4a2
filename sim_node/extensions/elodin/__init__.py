"""Worlds written in Python: entities, components and systems, compiled by JAX.

    import sim_node.extensions.elodin as el

Each name is imported when it is first used: importing this package does not import JAX. But a script that imports it
has JAX compute with double precision from then on.
"""

import sys

from sim_node.extensions.elodin.doubles import is_user_import, use_doubles
from sim_node.extensions.elodin.uncaught import show_only_messages
from sim_node.lazy import public

with public(__name__):
    from dataclasses import dataclass as dataclass
    from typing import Annotated as Annotated

    from sim_node.extensions.elodin import egm08 as egm08
    from sim_node.extensions.elodin import j2 as j2
    from sim_node.extensions.elodin import monte_carlo as monte_carlo
    from sim_node.extensions.elodin import s10 as s10
    from sim_node.extensions.elodin import ukf as ukf
    from sim_node.extensions.elodin.algebra import SpatialForce as SpatialForce
    from sim_node.extensions.elodin.algebra import SpatialInertia as SpatialInertia
    from sim_node.extensions.elodin.algebra import SpatialMotion as SpatialMotion
    from sim_node.extensions.elodin.algebra import SpatialTransform as SpatialTransform
    from sim_node.extensions.elodin.algebra import skew as skew
    from sim_node.extensions.elodin.archetypes import Archetype as Archetype
    from sim_node.extensions.elodin.archetypes import C as C
    from sim_node.extensions.elodin.assets import Glb as Glb
    from sim_node.extensions.elodin.assets import Material as Material
    from sim_node.extensions.elodin.assets import Mesh as Mesh
    from sim_node.extensions.elodin.assets import Scene as Scene
    from sim_node.extensions.elodin.assets import Shape as Shape
    from sim_node.extensions.elodin.components import Component as Component
    from sim_node.extensions.elodin.components import Edge as Edge
    from sim_node.extensions.elodin.components import EntityId as EntityId
    from sim_node.extensions.elodin.components import RevEdge as RevEdge
    from sim_node.extensions.elodin.components import ShapeIndexer as ShapeIndexer
    from sim_node.extensions.elodin.dynamics import six_dof as six_dof
    from sim_node.extensions.elodin.egm08 import _get_cache_dir as _get_cache_dir
    from sim_node.extensions.elodin.errors import EcsError as EcsError
    from sim_node.extensions.elodin.errors import TimeTravel as TimeTravel
    from sim_node.extensions.elodin.graphs import GraphQuery as GraphQuery
    from sim_node.extensions.elodin.graphs import TotalEdge as TotalEdge
    from sim_node.extensions.elodin.jax_setup import jax as jax
    from sim_node.extensions.elodin.layouts import ComponentType as ComponentType
    from sim_node.extensions.elodin.layouts import PrimitiveType as PrimitiveType
    from sim_node.extensions.elodin.numerics import Integrator as Integrator
    from sim_node.extensions.elodin.quaternion import Quaternion as Quaternion
    from sim_node.extensions.elodin.queries import Query as Query
    from sim_node.extensions.elodin.scenery import GraphEntity as GraphEntity
    from sim_node.extensions.elodin.scenery import Panel as Panel
    from sim_node.extensions.elodin.session.exec import Exec as Exec
    from sim_node.extensions.elodin.session.recorded import open_recording as open_recording
    from sim_node.extensions.elodin.session.world import JaxSim as JaxSim
    from sim_node.extensions.elodin.session.world import World as World
    from sim_node.extensions.elodin.session.world import WorldBuilder as WorldBuilder
    from sim_node.extensions.elodin.standard import Body as Body
    from sim_node.extensions.elodin.standard import Camera as Camera
    from sim_node.extensions.elodin.standard import Force as Force
    from sim_node.extensions.elodin.standard import Inertia as Inertia
    from sim_node.extensions.elodin.standard import Seed as Seed
    from sim_node.extensions.elodin.standard import SimulationTick as SimulationTick
    from sim_node.extensions.elodin.standard import SimulationTimeStep as SimulationTimeStep
    from sim_node.extensions.elodin.standard import WorldAccel as WorldAccel
    from sim_node.extensions.elodin.standard import WorldPos as WorldPos
    from sim_node.extensions.elodin.standard import WorldVel as WorldVel
    from sim_node.extensions.elodin.step_context import StepContext as StepContext
    from sim_node.extensions.elodin.systems import System as System
    from sim_node.extensions.elodin.systems import map as map
    from sim_node.extensions.elodin.systems import map_seq as map_seq
    from sim_node.extensions.elodin.systems import system as system
    from sim_node.extensions.elodin.world_file import JointEffort as JointEffort
    from sim_node.extensions.elodin.world_file import JointPosition as JointPosition
    from sim_node.extensions.elodin.world_file import JointTarget as JointTarget
    from sim_node.extensions.elodin.world_file import JointVelocity as JointVelocity
    from sim_node.spatial.frames import Frame as Frame

if is_user_import(sys._getframe(1)):
    # A script may compute with JAX before it uses any of these names.
    use_doubles()
    show_only_messages()
