"""Engines: what moves the frames of a world."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.simulation.physics.engine import ENGINES as ENGINES
    from sim_node.simulation.physics.engine import Engine as Engine
    from sim_node.simulation.physics.engine import engine as engine
    from sim_node.simulation.physics.engine import engines_for as engines_for
    from sim_node.simulation.physics.force_elements import FORCE_ELEMENTS as FORCE_ELEMENTS
    from sim_node.simulation.physics.force_elements import ForceElement as ForceElement
    from sim_node.simulation.physics.force_elements import force_element as force_element
    from sim_node.simulation.physics.force_geometry import forces_of as forces_of
    from sim_node.simulation.physics.force_geometry import pushed_bodies as pushed_bodies
    from sim_node.simulation.physics.handles import BodyHandle as BodyHandle
    from sim_node.simulation.physics.handles import VehicleHandle as VehicleHandle
    from sim_node.simulation.physics.joint_handles import JointHandle as JointHandle
    from sim_node.simulation.physics.joint_handles import JointHandles as JointHandles
    from sim_node.simulation.physics.keyframes import KeyframeEngine as KeyframeEngine
    from sim_node.simulation.physics.rigid_bodies import RigidBodyEngine as RigidBodyEngine
    from sim_node.simulation.physics.wind import WindField as WindField
    from sim_node.world.forces import Force as Force
    from sim_node.world.forces import force as force
