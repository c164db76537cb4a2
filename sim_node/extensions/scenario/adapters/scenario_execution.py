"""scenario-execution: OpenSCENARIO 2 steps a run of sim_node. Runs in the environment of scenario-execution.

scenario_execution FILE.osc --simulation sim_node.extensions.scenario.adapters.scenario_execution:SimNode
"""

from __future__ import annotations

import os
from typing import Any

import yaml
from py_trees.common import Status
from scenario_execution.actions.base_action import ActionError, BaseAction
from scenario_execution.simulation import SimulationInterface

from sim_node.extensions.scenario.adapters.client import SteppedRun, SteppedRunFault


def osc_library() -> tuple[str, str]:
    """Return the package and the name of the library of actions, `import osc.sim_node`."""
    return "sim_node.extensions.scenario.adapters", "sim_node.osc"


class SimNode(SimulationInterface):
    """A run that goes on by SIM_NODE_TICK seconds (0.02 by default) for each tick of the behaviour tree."""

    def __init__(self) -> None:
        self._dt = float(os.environ.get("SIM_NODE_TICK", "0.02"))
        self.run: SteppedRun | None = None

    @property
    def dt(self) -> float:
        """The simulated time of a tick, s."""
        return self._dt

    def reset(self, world: str, seed: int = 0) -> None:
        """Start the run of a scenario. The scenario's parameters `world` and `seed` say which."""
        self.shutdown()
        self.run = SteppedRun(world, int(seed))

    def step(self) -> None:
        """Let a tick pass."""
        assert self.run is not None
        self.run.step(self._dt)

    def shutdown(self) -> None:
        """End the run."""
        if self.run is not None:
            self.run.close()
        self.run = None


class _OfRun(BaseAction):
    """An action on the run, which `done` does."""

    def setup(self, **given: Any) -> None:
        """Take the simulation."""
        self._simulation = given.get("simulation")
        if not isinstance(self._simulation, SimNode):
            raise ActionError("--simulation must be sim_node's", action=self)

    @property
    def run(self) -> SteppedRun:
        """The run."""
        assert self._simulation.run is not None
        return self._simulation.run

    def update(self) -> Status:
        """Do it at a tick; what cannot be done has failed."""
        try:
            return self.done()
        except SteppedRunFault as fault:
            self.feedback_message = str(fault)
            self.logger.error(f"{self.name}: {fault}")
            return Status.FAILURE


class DoAction(_OfRun):
    """sim_node_do(request, arguments): an action, with arguments as in world files: `seconds: 2, of: drone`."""

    def execute(self, request: str, arguments: str) -> None:
        """Take the arguments."""
        self._action, self._arguments = request, arguments

    def done(self) -> Status:
        """Return how it went so far."""
        try:
            found = yaml.safe_load("{" + self._arguments + "}")
        except yaml.YAMLError as error:
            fault = " ".join(str(error).split())
            raise ActionError(
                f"{self._action}: arguments are needed as in `seconds: 2`: {fault}", action=self
            ) from None
        self.feedback_message = self.run.ask(self._action, **found)
        self.logger.info(self.feedback_message)
        return Status.SUCCESS


class UntilAction(_OfRun):
    """sim_node_until(formula): runs until a formula over signals holds."""

    def execute(self, formula: str) -> None:
        """Take the formula."""
        self._formula = formula

    def done(self) -> Status:
        """Return how it went so far."""
        return Status.SUCCESS if self.run.holds(self._formula) else Status.RUNNING


class HoldsAction(_OfRun):
    """sim_node_holds(formula): succeeds if a formula over signals holds now, and fails otherwise."""

    def execute(self, formula: str) -> None:
        """Take the formula."""
        self._formula = formula

    def done(self) -> Status:
        """Return how it went so far."""
        return Status.SUCCESS if self.run.holds(self._formula) else Status.FAILURE


class VerdictAction(_OfRun):
    """sim_node_verdict(): succeeds if the run so far passes what its world expects."""

    def done(self) -> Status:
        """Return how it went so far."""
        verdict, reason = self.run.verdict()
        if verdict == "pass":
            return Status.SUCCESS
        raise SteppedRunFault(f"{verdict}: {reason}")
