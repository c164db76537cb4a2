"""The shipped worlds in Python do what physics says."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

SCRIPTS = Path(__file__).parents[2] / "config/python"


def script(name: str) -> dict[str, Any]:
    return runpy.run_path(str(SCRIPTS / f"{name}.py"))


def test_the_rocket_flies_as_high_as_its_equations_say() -> None:
    of = script("rocket")
    run = of["world"].build(of["system"], sim_time_step=of["STEP"])
    run.run(2400)
    heights = run.history("rocket.world_pos")["rocket.world_pos"].to_numpy()[:, 6]

    curve, wind = np.asarray(of["CURVE"]), np.array([3.0, 0.0, 0.0])

    def rates(time: float, state: Any) -> Any:
        thrust = np.interp(time, curve[:, 0], curve[:, 1])
        mass = of["DRY"] + state[6]
        relative = wind - state[3:6]
        force = [0, 0, thrust] + of["DRAG"] * np.linalg.norm(relative) * relative
        burnt = -of["PROPELLANT"] * thrust / of["IMPULSE"]
        return [*state[3:6], *(force / mass - [0, 0, 9.80665]), burnt]

    def lands(time: float, state: Any) -> float:
        return float(state[5])

    lands.terminal, lands.direction = True, -1  # type: ignore[attr-defined]
    # From lift-off on, when the thrust exceeds the weight.
    flight = solve_ivp(rates, (0.01, 20), [0, 0, 0, 0, 0, 0, of["PROPELLANT"]], events=lands, rtol=1e-9, max_step=0.01)
    assert heights.max() == pytest.approx(flight.y[2].max(), rel=5e-3)
    assert heights[-1] < heights.max() - 1.0
    propellant = run.history("rocket.motor")["rocket.motor"].to_numpy()[-1, 1]
    assert propellant == pytest.approx(0.0, abs=1e-5)


@pytest.mark.nightly
def test_the_middle_axis_flips() -> None:
    """Rotation about the middle axis is unstable (Euler); the energy is the work of the motor."""
    of = script("spinning_cuboid")
    import sim_node.extensions.elodin as el

    run = of["world"].build(el.six_dof(sys=of["motor"]), sim_time_step=1 / 240)
    run.run(4800)
    history = run.history(["cuboid.world_pos", "cuboid.world_vel"])
    poses = history["cuboid.world_pos"].to_numpy()
    x, y, z, w = poses[:, :4].T
    # The y axis of the body along that of the world.
    upright = 1 - 2 * (x * x + z * z)
    assert upright.min() < -0.9
    np.testing.assert_allclose(np.linalg.norm(poses[:, :4], axis=1), 1.0, atol=1e-12)
    assert w.shape == (4801,)
    assert np.abs(y).max() <= 1.0


@pytest.mark.nightly
def test_the_filter_finds_height_and_climb() -> None:
    of = script("kalman_filter")
    run = of["world"].build(of["system"], sim_time_step=of["STEP"])
    run.run(400)
    history = run.history(["ball.estimate", "ball.covariance", "ball.measured_height"])
    times = np.arange(401) * of["STEP"]
    heights, climbs = 100 - of["GRAVITY"] * times**2 / 2, -of["GRAVITY"] * times
    errors = history["ball.estimate"].to_numpy() - np.stack([heights, climbs], axis=1)
    spread = np.sqrt(history["ball.covariance"].to_numpy()[:, [0, 3]])
    assert (np.abs(errors[-1]) < 4 * spread[-1]).all()
    assert spread[-1, 0] < of["NOISE"] / 4
    noise = history["ball.measured_height"].to_numpy()[1:] - heights[1:]
    assert noise.std() == pytest.approx(of["NOISE"], rel=0.15)


def test_the_controller_outside_holds_the_drone_at_its_height(tmp_path: Path, capsys: Any) -> None:
    of = script("flight_controller")
    heights: list[float] = []

    def post_step(tick: int, context: Any) -> None:
        of["post_step"](tick, context)
        heights.append(context.read_component("drone.world_pos")[6])

    of["world"].run(of["system"], sim_time_step=of["STEP"], max_ticks=12_000, interactive=False, post_step=post_step)
    assert heights[-1] == pytest.approx(of["GOAL"], abs=0.1)
    assert max(heights) < 1.5 * of["GOAL"]
