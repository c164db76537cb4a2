"""Steps of environments beside the same MuJoCo steps alone, and beside the least Gymnasium environment of them.

Run from the repository: python -m bench.gym [--out bench/results/gym.json]

A step of cart_pole and of hover is measured beside raw `mj_step` of the same model for the same time, and beside a
gymnasium.Env written by hand that sets `ctrl`, calls `mj_step`, and returns qpos and qvel. The ratio is their time over
ours: 1 would be no overhead. The hand-written hover pushes the body with constant forces: it has no rotors. A step of
eight environments by `gymnasium.make_vec`, one after the other, is measured beside mujoco.rollout of as many states
without threads.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import numpy as np
from mujoco import rollout

from bench.pairs import Pairs
from sim_node.extensions.gym import Environment
from sim_node.extensions.gym.draws import Restarts, draws_of
from sim_node.extensions.gym.shipped import SHIPPED

# Ratios to reach: of raw MuJoCo, of the environment written by hand, and of mujoco.rollout.
TARGETS = {"cart_pole": (0.6, 0.7, 0.7), "hover": (0.25, 0.3, 0.15)}
ENVIRONMENTS = 8


class ByHand(gymnasium.Env[Any, Any]):  # type: ignore[misc]
    """The least environment of a MuJoCo model."""

    def __init__(self, model: Any, steps: int, actions: int) -> None:
        self.model, self.data, self._steps = model, mujoco.MjData(model), steps
        size = model.nq + model.nv
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (size,))
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (actions,))

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] += self.np_random.uniform(-0.05, 0.05, self.model.nq)
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.data.qfrc_applied[: len(action)] = np.clip(action, -1.0, 1.0)
        mujoco.mj_step(self.model, self.data, self._steps)
        observation = self._observation()
        return observation, 1.0, bool(abs(observation[0]) > 1e9), False, {}

    def _observation(self) -> Any:
        return np.concatenate([self.data.qpos, self.data.qvel]).astype(np.float32)


def stepping(environment: Any, action: Any) -> Callable[[], None]:
    """A step of an environment, and a reset where an episode ends, as training has it."""
    environment.reset(seed=0)

    def step() -> None:
        _, _, terminated, truncated, _ = environment.step(action)
        if terminated or truncated:
            environment.reset()

    return step


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("bench/results/gym.json"))
    arguments = parser.parse_args()
    pairs = Pairs()
    for name, (of_raw, of_hand, of_rollout) in TARGETS.items():
        environment = Environment(name)
        engine: Any = environment.task.simulation.engines["rigid_bodies"]
        model = engine.model
        steps = environment.task.steps * round(
            environment.task.simulation.world.time.step_ns * 1e-9 / float(model.opt.timestep)
        )
        data = mujoco.MjData(model)
        action = np.zeros(environment.action_space.shape, dtype=np.float32)
        ours = stepping(environment, action)
        hand = stepping(ByHand(model, steps, len(action)), action)

        def raw(model: Any = model, data: Any = data, steps: int = steps) -> None:
            mujoco.mj_step(model, data, steps)

        clock = time.thread_time
        pairs.measure(f"a step of {name} ({steps} timesteps)", ours, {"raw mj_step": raw}, target=of_raw, clock=clock)
        pairs.measure(f"a step of {name}", ours, {"Env by hand": hand}, target=of_hand, clock=clock)
        together(pairs, name, engine, steps, of_rollout)
    resets(pairs)
    pairs.save(arguments.out)
    return 1 if pairs.missed else 0


def together(pairs: Pairs, name: str, engine: Any, steps: int, target: float) -> None:
    """A step of several environments, one after the other, beside as many rollouts from the engine's present state."""
    vector = gymnasium.make_vec(SHIPPED[name], num_envs=ENVIRONMENTS, vectorization_mode="sync")
    vector.reset(seed=0)
    actions = np.zeros(vector.action_space.shape, dtype=np.float32)
    model, kind = engine.model, mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.empty(mujoco.mj_stateSize(model, kind))
    mujoco.mj_getState(model, engine.data, state, kind)
    models, data, states = [model] * ENVIRONMENTS, [mujoco.MjData(model)], np.tile(state, (ENVIRONMENTS, 1))
    with rollout.Rollout(nthread=0) as alone:
        theirs = {"mujoco.rollout": lambda: alone.rollout(models, data, states, nstep=steps)}
        what = f"a step of {ENVIRONMENTS} of {name}"
        pairs.measure(what, lambda: vector.step(actions), theirs, target=target, clock=time.thread_time)


def resets(pairs: Pairs) -> None:
    """A reset with a mass that is drawn, beside making the simulation of the changed world."""
    random = np.random.default_rng(0)
    environment = Environment("cart_pole", variations={"bodies[pole].geometry[0].mass": "uniform(0.05, 0.2)"})
    world = environment.task.simulation.world
    made = Restarts(world, draws_of({"bodies[pole].geometry[0].cylinder[1]": "uniform(0.9, 1)"}), sensors=False)
    assert not made.in_place

    def anew() -> None:
        made.start({"bodies[pole].geometry[0].mass": random.uniform(0.05, 0.2)}, 0)

    theirs = {"a new Simulation": anew}
    pairs.measure("a reset with another mass", environment.reset, theirs, target=5.0, clock=time.thread_time)


if __name__ == "__main__":
    sys.exit(main())
