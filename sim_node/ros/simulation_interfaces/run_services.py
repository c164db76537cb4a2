"""Services about the run: features, state, steps and resets; and the action that simulates steps."""

from __future__ import annotations

import importlib
from typing import Any

from rclpy.action import ActionServer, CancelResponse
from rclpy.node import Node

from sim_node.ros.simulation_interfaces.services import PACKAGE, SERVICES, Requests, service, set_result
from sim_node.session.entities import Rejected
from sim_node.session.resources import FORMATS

_ABOUT = (
    "sim_node: docs/simulation-interfaces.md. Named poses are frames, with bounds where they have a size. Resets: "
    "everything (0, 255), or time (1), state (2), what was spawned (4), and sums of these."
)


@service("GetSimulatorFeatures")
def get_simulator_features(requests: Requests, request: Any, response: Any) -> None:
    """Return the features of the services that are offered."""
    features, offered = response.features, requests.offered
    names = [name for kind, each in SERVICES.items() if kind in offered for name in each.features]
    names += ["STEP_SIMULATION_ACTION"] if "SimulateSteps" in offered else []
    # Features that the installed definitions lack are not reported.
    numbers = (getattr(type(features), name, None) for name in names)
    features.features = sorted({number for number in numbers if number is not None})
    features.spawn_formats = list(FORMATS)
    features.custom_info = _ABOUT


@service("GetSimulationState", "SIMULATION_STATE_GETTING")
def get_simulation_state(requests: Requests, request: Any, response: Any) -> None:
    """Return the state of the simulation."""
    response.state.state = int(requests.run.state())


@service("SetSimulationState", "SIMULATION_STATE_SETTING", "SIMULATION_STATE_PAUSE")
def set_simulation_state(requests: Requests, request: Any, response: Any) -> None:
    """Play, pause, stop or quit."""
    requests.run.set_state(request.state.state)


@service(
    "ResetSimulation",
    "SIMULATION_RESET",
    "SIMULATION_RESET_TIME",
    "SIMULATION_RESET_STATE",
    "SIMULATION_RESET_SPAWNED",
)
def reset_simulation(requests: Requests, request: Any, response: Any) -> None:
    """Go back to the start."""
    requests.run.reset(request.scope)


@service("StepSimulation", "STEP_SIMULATION_SINGLE", "STEP_SIMULATION_MULTIPLE")
async def step_simulation(requests: Requests, request: Any, response: Any) -> None:
    """Step a paused simulation."""
    await requests.in_loop(requests.run.check_paused)
    for part in requests.run.stepping(request.steps):
        await requests.in_loop(part)


def serve_steps(
    node: Node,
    requests: Requests,
    name: str,
    group: Any,
) -> ActionServer | None:
    """Offer the action SimulateSteps, if its type is installed.

    Args:
        node: The node that offers the action.
        requests: Carries it out. The action's type is added to those offered.
        name: The name of the action.
        group: Callback group of the action's services.

    Returns:
        The action's server.
    """
    try:
        kind = importlib.import_module(f"{PACKAGE}.action").SimulateSteps
    except (ImportError, AttributeError):
        return None

    async def execute(handle: Any) -> Any:
        result, feedback = kind.Result(), kind.Feedback()
        steps, done = handle.request.steps, 0
        try:
            await requests.in_loop(requests.run.check_paused)
            for part in requests.run.stepping(steps):
                if handle.is_cancel_requested:
                    break
                done = await requests.in_loop(part)
                feedback.completed_steps, feedback.remaining_steps = done, steps - done
                handle.publish_feedback(feedback)
        except Exception as error:
            set_result(result, error)
            handle.abort()
            return result
        if done < steps:
            set_result(result, Rejected("OPERATION_FAILED", f"cancelled after {done} of {steps} steps"))
            handle.canceled()
        else:
            set_result(result, None)
            handle.succeed()
        return result

    requests.offered.add("SimulateSteps")
    return ActionServer(
        node,
        kind,
        name,
        execute_callback=execute,
        cancel_callback=lambda handle: CancelResponse.ACCEPT,
        callback_group=group,
    )
