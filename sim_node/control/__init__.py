"""Flying: from where a multirotor is and ought to be to what its motors do. Plain arrays, whatever moves the vehicle.

A cascade over all vehicles at once, one compiled kernel a stage: `fly_missions` says where each ought to be,
`control_positions` which way its thrust has to point, `control_attitudes` which thrust and moments turn it there, and
`mix` what each motor does for them.

A row of the arrays that go from stage to stage:

states (V, 13): [x y z qx qy qz qw vx vy vz wx wy wz] of each centre of mass and body (FLU) in the world (ENU), both
velocities along the world's axes. setpoints (V, 11): [x y z vx vy vz ax ay az yaw yaw_rate]. demands (V, 5): thrust
over mass (m/s^2) along the world's axes, yaw, yaw_rate. wrenches (V, 4): thrust along the body's z (N), moments about
its axes (N m).
"""

from sim_node.control.airframe import Airframe
from sim_node.control.controller import Controller

__all__ = ["Airframe", "Controller"]
