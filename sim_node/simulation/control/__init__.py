"""Flight control of multirotors: from states and setpoints to motor commands. Plain arrays, whatever the simulator.

A cascade over all vehicles at once, with one compiled kernel per level: `fly_missions` or `fly_by_hand` writes
setpoints, `control_positions` demanded thrust vectors, `control_attitudes` thrusts and moments, and `mix` motor
commands.

Rows of the arrays that are passed from level to level, for V vehicles:

- states (V, 13): [x y z qx qy qz qw vx vy vz wx wy wz] of each centre of mass and body (FLU) in the world (ENU), both
  velocities along the world's axes.
- setpoints (V, 11): [x y z vx vy vz ax ay az yaw yaw_rate] in the world (ENU).
- demands (V, 5): thrust over mass (m/s^2) along the world's axes, yaw, yaw_rate.
- wrenches (V, 4): thrust along the body's z (N), moments about its axes (N m).
"""

from sim_node.lazy import public

with public(__name__):
    from sim_node.simulation.control.airframe import Airframe as Airframe
    from sim_node.simulation.control.controller import Controller as Controller
