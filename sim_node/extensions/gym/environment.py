"""The Gymnasium environment of a spec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from sim_node.extensions.gym.expressions import ExpressionError
from sim_node.extensions.gym.spec import Spec
from sim_node.extensions.gym.spec_file import load_spec
from sim_node.extensions.gym.task import Array32, GymTask
from sim_node.session.errors import needing
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.problems import RunFailed

with needing("environments"):
    import gymnasium
    from gymnasium import spaces

if TYPE_CHECKING:
    from sim_node.extensions.gym.display import Page, Pictures


class Environment(gymnasium.Env[Array32, npt.NDArray[np.float32]]):
    """A world as a Gymnasium environment. The same seed and actions give the same observations, bit for bit.

    `reset(seed=...)` seeds the environment. `reset(options={"values": {PATH: NUMBER}, "seed": N})` repeats an episode
    with the numbers of the world and the seed of the run that `reset` returned in `info`.

    Args:
        spec: A Spec, the path of one, or the name of a shipped one.
        render_mode: "rgb_array" for pictures, "human" to show the run in the browser in real time, or None.
        changes: Fields of the spec to replace, such as `duration` or `reward`.

    Attributes:
        task: The opened spec: its simulation, and the current values of its signals.
        page: The page of render_mode "human", once it is open.

    Raises:
        WorldError: The spec or its world is invalid.
    """

    # gymnasium.make reads this attribute of the class.
    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["human", "rgb_array"], "render_fps": 50.0}

    def __init__(self, spec: Spec | str | Path = "cart_pole", render_mode: str | None = None, **changes: Any) -> None:
        given = spec if isinstance(spec, Spec) else load_spec(spec)
        given = replace(given, **changes) if changes else given
        self.metadata = {**type(self).metadata, "render_fps": given.rate}  # type: ignore[misc]
        if render_mode not in (None, "human", "rgb_array"):
            raise ValueError(f"render_mode {render_mode!r}; allowed: human, rgb_array, None")
        self.render_mode = render_mode
        self.task = task = GymTask(given)
        low, high = (-np.ones_like(task.low), np.ones_like(task.high)) if given.normalised else (task.low, task.high)
        self.action_space = spaces.Box(low.astype(np.float32), high.astype(np.float32))
        self.observation_space = spaces.Box(task.observation_low, task.observation_high)
        self._pictures: Pictures | None = None
        self.page: Page | None = None

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Array32, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: Seeds the environment; None continues with its random generator.
            options: `values`, numbers of the world by key path instead of drawn ones, and `seed`, the seed of the run.

        Returns:
            The observation (O,), and info: the seed of the run and the drawn numbers.

        Raises:
            ValueError: An option is unknown.
            WorldError: A path is not drawn by the environment.
        """
        super().reset(seed=seed)
        options = dict(options or {})
        values, run_seed = options.pop("values", None), options.pop("seed", None)
        if options:
            raise ValueError(f"no option {', '.join(map(repr, options))}; there are values, seed")
        info = self.task.begin(self.np_random, values, run_seed)
        self._last = self.task.observation()
        if self.render_mode == "human":
            self._show()
        return self._last.copy(), info

    def step(self, action: npt.ArrayLike) -> tuple[Array32, float, bool, bool, dict[str, Any]]:
        """Apply an action for one control step.

        Args:
            action: The action (A,), clipped to the action space.

        Returns:
            The observation (O,), the reward, whether the episode has terminated, whether it was truncated, and info:
            the terms of the reward, is_success at the end if the spec defines success, and diverged.

        Raises:
            ValueError: The action has another shape, or a number that is not finite.
            RunFailed: An expression of the spec cannot be evaluated.
        """
        numbers = self.task.scaled(action)
        try:
            return self._step(numbers)
        except ExpressionError as error:
            raise RunFailed(f"{self.task.spec.name}: {error}") from None

    def _step(self, numbers: FloatArray) -> tuple[Array32, float, bool, bool, dict[str, Any]]:
        task = self.task
        finite = task.advance(numbers)
        info: dict[str, Any] = {}
        reward, terminated, succeeded = task.spec.diverged, True, False
        if finite:
            terms = task.reward()
            reward = sum(terms.values())
            observation = task.observation()
            # A sum of finite float32 numbers is finite. For few numbers, Python's sum is ten times as fast as NumPy's.
            finite = isfinite(sum(observation.tolist())) and isfinite(reward)
            if finite:
                self._last = observation
                info["reward"] = terms
                terminated, succeeded = task.ended()
        if not finite:
            reward, info["diverged"] = task.spec.diverged, True
        truncated = task.truncated
        if task.has_success and (terminated or truncated):
            info["is_success"] = succeeded
        if self.render_mode == "human":
            self._show()
        return self._last.copy(), float(reward), terminated, truncated, info

    def render(self) -> npt.NDArray[np.uint8] | None:
        """Return a picture (height, width, 3) of the current step; None in render mode "human", whose page is live.

        Raises:
            NoOpenGL: Pictures cannot be rendered here.
        """
        if self.render_mode != "rgb_array":
            return None
        if self._pictures is None:
            from sim_node.extensions.gym.display import Pictures

            self._pictures = Pictures(self.task.spec, self.task.simulation)
        return self._pictures.draw(self.task.simulation)

    def close(self) -> None:
        """Close the page and free rendering resources. The environment may be used again."""
        for display in (self._pictures, self.page):
            if display is not None:
                display.close()
        self._pictures = self.page = None

    def _show(self) -> None:
        if self.page is None:
            from sim_node.extensions.gym.display import Page

            self.page = Page(self.task.spec, self.task.simulation)
        self.page.show(self.task.simulation)
