"""A task: a spec opened on a world, which computes signals, reward and end step by step, without Gymnasium."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.extensions.gym.actions import Applied
from sim_node.extensions.gym.draws import Restarts, collecting, drawn, draws_of
from sim_node.extensions.gym.expressions import ExpressionError, Quantity, before
from sim_node.extensions.gym.interface import FrameSignal, SensorSignal, Term
from sim_node.extensions.gym.readers import UNIT_LIMITS, Readers
from sim_node.extensions.gym.spec import Goals, Spec
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import World, load
from sim_node.world.problems import NOWHERE, Diverged, Problem, WorldError, refuse_any

Array32 = npt.NDArray[np.float32]


class GymTask:
    """A spec opened on its world.

    Args:
        spec: The spec.

    Attributes:
        simulation: The simulation of the current episode.
        steps: The number of steps of the world in a control step.
        low: The lower limits (A,) of actions.
        high: The upper limits (A,) of actions.
        observation_low: The lower limits (O,) of observations.
        observation_high: The upper limits (O,) of observations.
        values: The values of all signals and actions at the current step, by name.

    Raises:
        WorldError: The world is invalid, or does not have what the spec names.
    """

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        world = spec.world if isinstance(spec.world, World) else load(spec.world)
        self.steps = _steps(spec, world)
        measures = any(isinstance(signal, SensorSignal) for signal in spec.signals.values())
        self._restarts = Restarts(world, draws_of(spec.variations), sensors=measures)
        self._expressions = spec.expressions()
        self._limit = max(round(Fraction(spec.duration) * Fraction(spec.rate).limit_denominator(10**6)), 1)
        # The signals and actions whose previous values expressions use, which are therefore kept.
        self._kept = sorted({name for each in self._expressions.values() for name in each.previous})
        self._computed = [
            (name, self._expressions[f"signals.{name}"]) for name, s in spec.signals.items() if isinstance(s, str)
        ]
        self._terms = {name: self._term(f"reward.{name}", term) for name, term in spec.reward.items()}
        self._ends = self._condition("termination", spec.termination), self._condition("success", spec.success)
        self._route = Goals(spec.route) if spec.route else None
        self.simulation = self._restarts.simulation
        self._bind()
        self.low = np.concatenate([applied.low for applied in self._applied.values()])
        self.high = np.concatenate([applied.high for applied in self._applied.values()])
        self._middle, self._half = 0.5 * (self.low + self.high), 0.5 * (self.high - self.low)
        self._begin_once()
        self._check_terms()
        self._lay_out_observation()

    def begin(
        self, random: np.random.Generator, values: Mapping[str, float] | None = None, seed: int | None = None
    ) -> dict[str, Any]:
        """Start an episode.

        Args:
            random: Draws the seed of the run, the numbers of the world and the route.
            values: Numbers of the world by key path, instead of drawn ones.
            seed: The seed of the run, instead of a drawn one.

        Returns:
            The seed of the run, and the drawn numbers.
        """
        # Draw all numbers even if some are given, so that the rest of the random stream does not depend on it.
        run_seed = int(random.integers(2**31))
        numbers = drawn(self._restarts.draws, random)
        if values:
            unknown = [path for path in values if path not in numbers]
            if unknown:
                listed = ", ".join(numbers) or "none"
                raise WorldError(
                    [Problem(NOWHERE, path, f"is not drawn by this environment (drawn: {listed})") for path in unknown]
                )
            numbers |= values
        run_seed = run_seed if seed is None else seed
        simulation = self._restarts.start(numbers, run_seed)
        if simulation is not self.simulation:
            self.simulation.close()
            self.simulation = simulation
            self._bind()
        self.count = 0
        self.values: dict[str, Any] = {name: np.zeros(len(each.low)) for name, each in self._applied.items()}
        for name, array in self.values.items():
            self.values[name] = _quantity(array)
        self._readers.refresh()
        if self._route is not None:
            self._route.begin(random, self._readers.position(self._route.frame))
        self._read(begins=True)
        return {"seed": run_seed, "values": numbers}

    def scaled(self, action: npt.ArrayLike) -> FloatArray:
        """Return an action (A,) in the units of the world, within the range.

        Raises:
            ValueError: It has another shape, or a number that is not finite.
        """
        given = np.asarray(action, dtype=np.float64)
        # The product is finite if all numbers are finite and below 1e154; this check takes a tenth of the time.
        if given.shape != self.low.shape or not (isfinite(given.dot(given)) or np.isfinite(given).all()):
            raise ValueError(f"the action {given.tolist()} is not {len(self.low)} finite numbers")
        if self.spec.normalised:
            given = self._middle + self._half * given
        return np.asarray(np.minimum(np.maximum(given, self.low), self.high))

    def advance(self, action: FloatArray) -> bool:
        """Apply an action (A,) for one control step. Return whether the simulation is still finite.

        Raises:
            ExpressionError: A signal cannot be evaluated.
        """
        values = self.values
        for name in self._kept:
            values[before(name)] = values[name]
        at = 0
        for name, applied in self._applied.items():
            numbers = action[at : (at := at + len(applied.low))]
            applied.apply(numbers)
            values[name] = _quantity(numbers)
        self.count += 1
        try:
            self.simulation.step(self.steps)
            self._readers.refresh()
            if self._route is not None:
                self._route.move(self._readers.position(self._route.frame))
            self._read()
        except Diverged:
            return False
        return True

    def observation(self) -> Array32:
        """Return the observation (O,) of the current step, clipped to its limits."""
        parts = np.empty(self._size)
        for name, part in self._parts:
            parts[part] = self.values[name]
        np.minimum(np.maximum(parts, self._clip_low, out=parts), self._clip_high, out=parts)
        return parts.astype(np.float32)

    def reward(self) -> dict[str, float]:
        """Return the reward terms of the last step by name. Raises ExpressionError."""
        return {name: float(term(self.values)) for name, term in self._terms.items()}

    def ended(self) -> tuple[bool, bool]:
        """Return whether the episode has terminated, and whether it was successful. Raises ExpressionError."""
        failed, succeeded = (bool(end(self.values)) if end else False for end in self._ends)
        return failed or succeeded, succeeded

    @property
    def truncated(self) -> bool:
        """Whether the duration is over."""
        return self.count >= self._limit

    @property
    def has_success(self) -> bool:
        """Whether the spec defines success."""
        return self._ends[1] is not None

    def _bind(self) -> None:
        spec = self.spec
        signals = {name: signal for name, signal in spec.signals.items() if not isinstance(signal, str)}
        problems: list[Problem] = []
        frames = (self._route.frame,) if self._route else ()
        if spec.route and spec.route.frame not in self.simulation.frames.names:
            signals["route"] = FrameSignal(spec.route.frame, place=spec.route.place)
            frames = ()
        with collecting(problems):
            self._readers = Readers(self.simulation, signals, frames)
        self._applied: dict[str, Applied] = {}
        for name, action in spec.actions.items():
            with collecting(problems):
                self._applied[name] = Applied(self.simulation, action)
        refuse_any(problems)
        self._reading = list(self._readers.readers.items())

    def _begin_once(self) -> None:
        """Start a first episode. Raises WorldError for expressions that do not fit the signals' sizes."""
        try:
            self.begin(np.random.default_rng(0))
        except ExpressionError as error:
            failed = next(name for name, _ in self._computed if name not in self.values)
            place = self.spec.place_of(f"signals.{failed}")
            raise WorldError([Problem(place.where, place.key, str(error))]) from None

    def _read(self, *, begins: bool = False) -> None:
        values = self.values
        values["time"] = self.count / self.spec.rate
        if self._route is not None:
            values.update(self._route.values)
        for name, read in self._reading:
            values[name] = read()
        if begins:
            # At the start, previous values equal the current values.
            values.update({before(name): values[name] for name in self._kept if name in values})
        for name, expression in self._computed:
            values[name] = expression.evaluate(values)
            if begins:
                values[before(name)] = values[name]

    def _term(self, key: str, term: Term) -> Callable[[dict[str, Any]], Any]:
        return self._expressions[key].evaluate if isinstance(term, str) else term

    def _condition(self, key: str, term: Term | None) -> Callable[[dict[str, Any]], Any] | None:
        return None if term is None else self._term(key, term)

    def _check_terms(self) -> None:
        """Evaluate everything once. Raises WorldError for terms that do not fit the signals' sizes."""
        problems: list[Problem] = []
        terms: dict[str, Any] = {f"reward.{name}": term for name, term in self._terms.items()}
        terms |= {"termination": self._ends[0], "success": self._ends[1]}
        for key, term in terms.items():
            place = self.spec.place_of(key)
            try:
                value = term(self.values) if term else 0.0
                if np.ndim(value):
                    problems.append(
                        Problem(place.where, place.key, f"is an array of {np.size(value)}; a number is needed")
                    )
            except ExpressionError as error:
                problems.append(Problem(place.where, place.key, str(error)))
        refuse_any(problems)

    def _lay_out_observation(self) -> None:
        self._parts: list[tuple[str, slice]] = []
        lows, highs = [], []
        at = 0
        for name, bounds in self.spec.observation.items():
            size = int(np.size(self.values[name]))
            self._parts.append((name, slice(at, at + size)))
            at += size
            if bounds is None:
                signal = self.spec.signals.get(name)
                bounds = UNIT_LIMITS.get(signal.value, np.inf) if isinstance(signal, FrameSignal) else np.inf
            low, high = (-bounds, bounds) if isinstance(bounds, (int, float)) else bounds
            lows += [low] * size
            highs += [high] * size
        self._size = at
        self._clip_low, self._clip_high = np.array(lows), np.array(highs)
        self.observation_low, self.observation_high = (
            each.astype(np.float32) for each in (self._clip_low, self._clip_high)
        )


def _quantity(numbers: FloatArray) -> Quantity:
    return float(numbers[0]) if len(numbers) == 1 else np.array(numbers)


def _steps(spec: Spec, world: World) -> int:
    """Return the number of world steps in a control step. Raises WorldError if it is not a whole number."""
    step_ns = world.time.step_ns
    exact = Fraction(10**9) / (Fraction(spec.rate).limit_denominator(10**6) * step_ns)
    steps = max(round(exact), 1)
    if abs(float(exact) - steps) > 1e-6:
        place = spec.place_of("rate")
        near = 1e9 / (steps * step_ns)
        message = f"a period of {1.0 / spec.rate:.6g} s is no whole number of the world's steps of {step_ns * 1e-9:g} s"
        message += f"; did you mean {near:.6g}?"
        raise WorldError([Problem(place.where, place.key, message)])
    return steps
