"""Software in the loop: each tick a controller outside of the world reads sensors and answers with a motor command."""

from dataclasses import dataclass
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

import sim_node.extensions.elodin as el

STEP, MASS, GRAVITY, GOAL = 1 / 1000, 1.2, 9.81, 10.0
# Seconds in which the motor's thrust follows its command.
LAG = 0.05

Accelerometer = Annotated[jax.Array, el.Component("accel", el.ComponentType(el.PrimitiveType.F64, (3,)))]
Barometer = Annotated[jax.Array, el.Component("baro", el.ComponentType.F64)]
Command = Annotated[
    jax.Array, el.Component("motor_command", el.ComponentType.F64, metadata={"external_control": "true"})
]
Thrust = Annotated[jax.Array, el.Component("thrust", el.ComponentType.F64)]


@dataclass
class Drone(el.Archetype):
    accel: Accelerometer
    baro: Barometer
    motor_command: Command
    thrust: Thrust


@el.map
def spin_up(thrust: Thrust, command: Command) -> Thrust:
    return thrust + (2 * MASS * GRAVITY * jnp.clip(command, 0.0, 1.0) - thrust) * STEP / LAG


@el.map
def lift(force: el.Force, thrust: Thrust) -> el.Force:
    return force + el.SpatialForce(linear=jnp.array([0.0, 0.0, thrust - MASS * GRAVITY]))


@el.map
def sense(pose: el.WorldPos, accel: el.WorldAccel) -> tuple[Accelerometer, Barometer]:
    return accel.linear() + jnp.array([0.0, 0.0, GRAVITY]), pose.linear()[2]


class Controller:
    """Stands for a flight controller in another process: sensors in, a command from 0 to 1 out."""

    def __init__(self) -> None:
        self.climb, self.height = 0.0, 0.0

    def step(self, accel: np.ndarray, baro: float) -> float:
        self.climb += (accel[2] - GRAVITY) * STEP
        self.climb += 0.02 * ((baro - self.height) / STEP - self.climb)
        self.height = baro
        return float(np.clip(0.5 + 0.08 * (GOAL - baro) - 0.12 * self.climb, 0.0, 1.0))


controller = Controller()


def post_step(tick: int, context: el.StepContext) -> None:
    sensors = context.component_batch_operation(reads=["drone.accel", "drone.baro"])
    command = controller.step(sensors["drone.accel"], sensors["drone.baro"][0])
    context.write_component("drone.motor_command", np.array([command]))


world = el.World()
world.spawn(
    [el.Body(inertia=el.SpatialInertia(MASS)), Drone(jnp.array([0.0, 0.0, GRAVITY]), 0.0, 0.5, MASS * GRAVITY)],
    name="drone",
)
system = spin_up | el.six_dof(sys=lift) | sense

if __name__ == "__main__":
    world.run(system, sim_time_step=STEP, max_ticks=10_000, interactive=False, post_step=post_step)
