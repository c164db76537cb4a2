"""Forces on bodies against analytic solutions and energy laws."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from sim_node.simulation import Simulation
from sim_node.simulation.physics.rigid_bodies import RigidBodyEngine
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import Body, Geometry, Inertial, Physics, TimeGrid, World, WorldError, WorldWarning, lay_out, loads
from sim_node.world.forces import Buoyancy, ConstantForce, Drag, Force, Gusts, Wind

MS = 1_000_000
G = 9.81
MASS = 2.0
STILL = np.zeros(3)


def ball(
    name: str = "ball",
    mass: float = MASS,
    centre: npt.ArrayLike = (0, 0, 0),
    inertia: tuple[float, float, float] = (0.1, 0.1, 0.1),
    **more: Any,
) -> Body:
    inertial = Inertial(mass, np.diag(inertia), np.array(centre, dtype=float))
    return Body(name, "map", "free", inertial=inertial, **more)


def run(
    *forces: Force,
    bodies: tuple[Body, ...] | None = None,
    wind: Wind | None = None,
    seconds: float = 0.0,
    step_ns: int = MS,
    **physics: Any,
) -> Simulation:
    physics = {"gravity": STILL, **physics}
    simulation = Simulation(
        World(
            "test",
            time=TimeGrid(0, step_ns),
            bodies=(ball(),) if bodies is None else bodies,
            forces=forces,
            wind=wind,
            physics=Physics(**physics),
        )
    )
    simulation.run(seconds)
    return simulation


def pose_of(simulation: Simulation, name: str = "ball") -> FloatArray:
    return np.asarray(simulation.snapshot().poses[simulation.frames.index(name)])


def velocity_of(simulation: Simulation, name: str = "ball") -> tuple[FloatArray, FloatArray]:
    """In the fixed frame, and the rate of turn in the body's axes."""
    row = simulation.frames.index(name)
    twist = simulation.motion()[0][row]
    return Rotation.from_quat(pose_of(simulation, name)[3:]).apply(twist[:3]), twist[3:]


# Constant forces


@pytest.mark.parametrize("integrator", ["rk4", "implicitfast", "euler"])
def test_a_constant_force_accelerates_by_newtons_second_law(integrator: str) -> None:
    simulation = run(ConstantForce("ball", np.array([3.0, -1.0, 0.5])), seconds=2.0, integrator=integrator)
    acceleration = np.array([3.0, -1.0, 0.5]) / MASS
    np.testing.assert_allclose(velocity_of(simulation)[0], 2.0 * acceleration, rtol=1e-10)
    late = 0.0 if integrator == "rk4" else 1e-3
    np.testing.assert_allclose(pose_of(simulation)[:3], acceleration * (2.0 + late), rtol=1e-10)


def test_its_impulse_is_force_times_the_time_that_it_acts() -> None:
    """From 0.5 until 1.25 s, whatever the step of the world; a millisecond that has begun counts whole."""
    force = ConstantForce("ball", np.array([4.0, 0, 0]), start_ns=500 * MS, end_ns=1250 * MS)
    for step_ns in (MS, 10 * MS, 250 * MS):
        simulation = run(force, seconds=2.0, step_ns=step_ns)
        np.testing.assert_allclose(velocity_of(simulation)[0], [4.0 * 0.75 / MASS, 0, 0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("joint", ["hinge", "slide"])
def test_the_work_of_a_force_is_the_gain_of_energy(joint: str) -> None:
    """On a crank (a torque times an angle), and on a cart."""
    body = Body("ball", "map", joint, axes=np.array([[0, 0, 1.0]]), inertial=Inertial(MASS, np.eye(3) * 0.3))
    simulation = run(
        ConstantForce("ball", np.array([0, 0, 5.0]), torque=np.array([0, 0, 0.7])), bodies=(body,), seconds=1.0
    )
    (engine,) = simulation.engines.values()
    assert isinstance(engine, RigidBodyEngine)
    pose = pose_of(simulation)
    way = pose[2] * 5.0 if joint == "slide" else 2.0 * np.arctan2(pose[5], pose[6]) * 0.7
    assert engine.energy() == pytest.approx(way, rel=1e-9)


def test_a_force_off_the_centre_turns_and_pushes() -> None:
    """Its moment about the centre of mass, which is not the origin; small angles: read after one millisecond."""
    centre, point, force = np.array([0.1, 0.2, 0.3]), np.array([1.0, 0.5, -0.2]), np.array([2.0, 3.0, 4.0])
    for axes, turn in (("fixed", Rotation.identity()), ("body", Rotation.from_rotvec([0.3, -0.2, 0.9]))):
        start = [0, 0, 0, *turn.as_quat()]
        simulation = run(
            ConstantForce("ball", force, point=point, axes=axes),
            bodies=(ball(centre=centre, inertia=(0.1, 0.15, 0.2), q=start),),
            seconds=1e-3,
        )
        velocity, spin = velocity_of(simulation)
        in_body = force if axes == "body" else turn.inv().apply(force)
        expected = np.cross(point - centre, in_body) / (0.1, 0.15, 0.2)
        np.testing.assert_allclose(spin, expected * 1e-3, rtol=1e-5)
        turned = Rotation.from_quat(pose_of(simulation)[3:])
        of_centre = velocity + turned.apply(np.cross(spin, centre))
        np.testing.assert_allclose(of_centre, turn.apply(in_body) / MASS * 1e-3, rtol=1e-5)


def test_a_force_in_the_axes_of_a_body_that_spins_drives_it_round_a_circle() -> None:
    """v' = R(w t) f / m: the velocity is f / (m w) (sin wt, 1 - cos wt)."""
    body = ball(qd=[0, 0, 0, 0, 0, 3.0])
    simulation = run(ConstantForce("ball", np.array([1.5, 0, 0]), axes="body"), bodies=(body,), seconds=2.0)
    expected = 1.5 / MASS / 3.0 * np.array([np.sin(6.0), 1 - np.cos(6.0), 0])
    np.testing.assert_allclose(velocity_of(simulation)[0], expected, atol=1e-6)


# Drag


def test_a_falling_sphere_nears_its_terminal_velocity_as_tanh() -> None:
    """v = vt tanh(g t / vt), vt = sqrt(m g / q), and z = -vt^2 / g ln cosh(g t / vt)."""
    drag = 0.3
    terminal = np.sqrt(MASS * G / drag)
    simulation = run(Drag("ball", quadratic=np.array([drag] * 3)), gravity=[0, 0, -G])
    for _ in range(4):
        simulation.run(0.5)
        t = simulation.time_ns * 1e-9
        assert velocity_of(simulation)[0][2] == pytest.approx(-terminal * np.tanh(G * t / terminal), abs=2e-6)
        height = -(terminal**2) / G * np.log(np.cosh(G * t / terminal))
        assert pose_of(simulation)[2] == pytest.approx(height, abs=1e-5)
    simulation.run(20.0)
    assert velocity_of(simulation)[0][2] == pytest.approx(-terminal, rel=1e-9)


@pytest.mark.parametrize(("integrator", "most"), [("rk4", 1e-6), ("implicitfast", 1e-3), ("euler", 1e-3)])
def test_linear_drag_slows_exponentially(integrator: str, most: float) -> None:
    """v = v0 exp(-c t / m), along each axis with its own c, and the rate of turn alike."""
    c, turning = np.array([0.5, 1.0, 2.0]), 0.04
    body = ball(qd=[3.0, -2.0, 1.0, 0, 0, 0.0])
    simulation = run(Drag("ball", linear=c), bodies=(body,), seconds=1.5, integrator=integrator)
    np.testing.assert_allclose(velocity_of(simulation)[0], [3, -2, 1] * np.exp(-c * 1.5 / MASS), atol=most)
    spun = ball(qd=[0, 0, 0, 0, 5.0, 0])
    simulation = run(
        Drag("ball", angular_linear=np.array([turning] * 3)), bodies=(spun,), seconds=1.5, integrator=integrator
    )
    assert velocity_of(simulation)[1][1] == pytest.approx(5 * np.exp(-turning * 1.5 / 0.1), abs=5 * most)


def test_the_error_of_drag_is_of_second_order() -> None:
    """A quarter of it at half the timestep: the exact velocity is v0 exp(-c t / m)."""
    errors = []
    for timestep in (MS, MS // 2):
        body = ball(qd=[3.0, 0, 0, 0, 0, 0])
        drag = Drag("ball", linear=np.array([4.0] * 3))
        simulation = run(drag, bodies=(body,), seconds=1.0, timestep_ns=timestep)
        errors.append(abs(velocity_of(simulation)[0][0] - 3 * np.exp(-4.0 / MASS)))
    assert errors[1] == pytest.approx(errors[0] / 4, rel=0.05)


def test_drag_on_a_body_that_tumbles_is_along_its_own_axes() -> None:
    """scipy's integrator of the same equations, in the body's axes."""
    linear, quadratic = np.array([0.2, 0.6, 1.0]), np.array([0.05, 0.1, 0.4])
    spin = np.array([0.0, 0.0, 2.5])
    body = ball(qd=[4.0, 1.0, -2.0, *spin])

    def slope(_: float, v: FloatArray) -> FloatArray:
        return np.asarray(-(linear + quadratic * np.linalg.norm(v)) * v / MASS - np.cross(spin, v))

    expected = solve_ivp(slope, (0, 1.2), [4.0, 1.0, -2.0], rtol=1e-11, atol=1e-12).y[:, -1]
    simulation = run(Drag("ball", linear=linear, quadratic=quadratic), bodies=(body,), seconds=1.2)
    velocity, _ = velocity_of(simulation)
    turn = Rotation.from_quat(pose_of(simulation)[3:])
    np.testing.assert_allclose(turn.inv().apply(velocity), expected, atol=5e-6)


# Takes seconds: make test has the other drags of this file.
@pytest.mark.nightly
def test_drag_behind_the_centre_turns_an_arrow_into_the_wind() -> None:
    arrow = ball(inertia=(0.01, 0.05, 0.05), q=[0, 0, 0, *Rotation.from_rotvec([0, 0, 1.0]).as_quat()])
    vane = Drag("ball", linear=np.array([0.2] * 3), center=np.array([-0.5, 0, 0]))
    simulation = run(vane, bodies=(arrow,), wind=Wind(np.array([-5.0, 0, 0])), seconds=1.0)
    assert velocity_of(simulation)[1][2] < -0.3
    damped = Drag("ball", angular_linear=np.array([0.2] * 3))
    assert arrow.q is not None
    hung = Body("ball", "map", "spherical", inertial=arrow.inertial, q=arrow.q[3:])
    settled = run(vane, damped, bodies=(hung,), wind=Wind(np.array([-5.0, 0, 0])), seconds=30.0)
    np.testing.assert_allclose(pose_of(settled)[3:], [0, 0, 0, 1], atol=1e-3)


def test_a_body_in_the_wind_comes_to_drift_with_it() -> None:
    wind = Wind(np.array([4.0, -3.0, 0.0]))
    simulation = run(Drag("ball", linear=np.array([1.0] * 3)), wind=wind, seconds=2.0)
    expected = np.array([4.0, -3.0, 0]) * (1 - np.exp(-2.0 / MASS))
    np.testing.assert_allclose(velocity_of(simulation)[0], expected, atol=1e-6)


def test_the_profile_of_the_wind_is_that_of_the_height_of_the_body() -> None:
    """At rest at first: F = c v(z)."""
    wind = Wind(np.array([8.0, 0, 0]), exponent=0.14)
    for z in (10.0, 80.0):
        body = ball(q=[0, 0, z, 0, 0, 0, 1])
        simulation = run(Drag("ball", linear=np.array([1.0] * 3)), bodies=(body,), wind=wind, seconds=1e-3)
        expected = 8.0 * (z / 10.0) ** 0.14 / MASS * 1e-3
        assert velocity_of(simulation)[0][0] == pytest.approx(expected, rel=1e-3)


def test_every_body_of_many_has_its_own_drag() -> None:
    bodies = tuple(ball(f"b{k}", mass=1.0 + k, qd=[1.0, 0, 0, 0, 0, 0]) for k in range(5))
    drags = [Drag(f"b{k}", linear=np.array([0.5] * 3)) for k in (3, 1, 4, 0)]
    simulation = run(*drags, bodies=bodies, seconds=1.0, contact=False)
    for k in range(5):
        expected = 1.0 if k == 2 else np.exp(-0.5 / (1.0 + k))
        assert velocity_of(simulation, f"b{k}")[0][0] == pytest.approx(expected, abs=1e-6)


# Buoyancy

BOX: dict[str, Any] = {"volume": 0.4 * 0.5 * 0.2, "height": 0.2, "density": 1000.0}


def floating(mass: float, z: float, **more: Any) -> Body:
    return ball(mass=mass, q=[0, 0, z, 0, 0, 0, 1], **more)


def test_a_box_floats_as_deep_as_its_weight_displaces() -> None:
    """Archimedes: draft = m / (rho A); a little above it sinks, a little below it rises, there it stays."""
    mass = 25.0
    draft = mass / (1000.0 * 0.4 * 0.5)
    simulation = run(
        Buoyancy("ball", **BOX, surface=3.0),
        bodies=(floating(mass, 3.0 + 0.1 - draft),),
        gravity=[0, 0, -G],
        seconds=5.0,
    )
    assert pose_of(simulation)[2] == pytest.approx(3.0 + 0.1 - draft, abs=1e-9)


def test_a_box_bobs_with_the_period_of_its_draft() -> None:
    """T = 2 pi sqrt(draft / g), harmonic as long as it is neither all under nor all out."""
    mass, amplitude = 20.0, 0.05
    draft = mass / (1000.0 * 0.4 * 0.5)
    period = 2 * np.pi * np.sqrt(draft / G)
    start = 0.1 - draft + amplitude
    simulation = run(Buoyancy("ball", **BOX), bodies=(floating(mass, start),), gravity=[0, 0, -G])
    for cycles in (0.25, 0.5, 1.0, 5.0):
        instant = simulation.seek(round(cycles * period * 1e9)).poses[simulation.frames.index("ball")]
        expected = 0.1 - draft + amplitude * np.cos(2 * np.pi * cycles)
        assert instant[2] == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize("seconds", [20.0, pytest.param(200.0, marks=pytest.mark.nightly)])
def test_bobbing_keeps_its_energy(seconds: float) -> None:
    """Leap-frogged: after many waves the amplitude is what it was."""
    simulation = run(Buoyancy("ball", **BOX), bodies=(floating(20.0, 0.05),), gravity=[0, 0, -G], seconds=seconds)
    heights = []
    for _ in range(1000):
        simulation.step()
        heights.append(pose_of(simulation)[2])
    assert max(heights) == pytest.approx(0.05, abs=1e-4)


def test_a_sphere_displaces_its_spherical_cap() -> None:
    """V = pi h^2 (3 r - h) / 3 of the cap under water: the force at any depth."""
    radius, rho, mass = 0.5, 1025.0, 100.0
    whole = 4 / 3 * np.pi * radius**3
    for z in (-0.6, -0.3, 0.0, 0.2, 0.45, 0.7):
        lift = Buoyancy("ball", volume=whole, height=2 * radius, density=rho, shape="sphere")
        simulation = run(lift, bodies=(floating(mass, z),), gravity=[0, 0, -G], seconds=1e-3)
        h = np.clip(radius - z, 0, 2 * radius)
        expected = rho * G * np.pi * h**2 * (3 * radius - h) / 3 / mass - G
        assert velocity_of(simulation)[0][2] * 1e3 == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_a_centre_of_buoyancy_above_that_of_mass_rights_a_buoy() -> None:
    """A pendulum upside down: small swings of period 2 pi sqrt(I / (rho g V d)), all under water."""
    d, inertia, volume = 0.3, 2.0, 0.02
    tilted = Rotation.from_rotvec([0.05, 0, 0])
    buoy = ball(mass=1000.0 * volume, inertia=(inertia,) * 3, q=[0, 0, -9, *tilted.as_quat()])
    lift = Buoyancy("ball", volume=volume, height=0.5, center=np.array([0, 0, d]))
    period = 2 * np.pi * np.sqrt(inertia / (1000.0 * G * volume * d))
    simulation = run(lift, bodies=(buoy,), gravity=[0, 0, -G])
    instant = simulation.seek(round(period / 2 * 1e9)).poses[simulation.frames.index("ball")]
    tilt = Rotation.from_quat(instant[3:]).as_rotvec()[0]
    assert tilt == pytest.approx(-0.05, rel=1e-3)


# Balls on unequal springs


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_ball_on_unequal_springs_swings_about_each_axis_at_its_own_frequency(axis: int) -> None:
    """theta'' = -k / I theta, exactly, about a principal axis: three periods, and a quarter."""
    stiff, inertia = np.array([4.0, 9.0, 25.0]), np.array([0.25, 0.3, 0.4])
    tilt = np.zeros(3)
    tilt[axis] = 0.4
    zero = Rotation.from_rotvec([0.3, -0.5, 0.7])
    body = Body(
        "ball",
        "map",
        "spherical",
        inertial=Inertial(1.0, np.diag(inertia)),
        spring_stiff=stiff,
        spring_zero=zero.as_quat(),
        q=(zero * Rotation.from_rotvec(tilt)).as_quat(),
    )
    simulation = run(bodies=(body,))
    omega = np.sqrt(stiff[axis] / inertia[axis])
    for cycles in (0.25, 1.0, 3.0):
        instant = simulation.seek(round(cycles * 2 * np.pi / omega * 1e9)).poses[simulation.frames.index("ball")]
        off = (zero.inv() * Rotation.from_quat(instant[3:])).as_rotvec()
        np.testing.assert_allclose(off, tilt * np.cos(2 * np.pi * cycles), atol=2e-5)


def test_nearly_equal_springs_go_as_mujocos_equal_ones() -> None:
    """The same motion to second order in the timestep, far from the zero and about all axes at once."""
    ends = []
    for stiff in ([4.0, 4.0, 4.0], [4.0, 4.0, 4.0 + 1e-12]):
        body = Body(
            "ball",
            "map",
            "spherical",
            inertial=Inertial(1.0, np.diag([0.2, 0.25, 0.3])),
            spring_stiff=np.array(stiff),
            q=Rotation.from_rotvec([0.9, -0.4, 0.6]).as_quat(),
            qd=np.array([1.0, 2.0, -0.5]),
        )
        ends.append(pose_of(run(bodies=(body,), seconds=1.0)))
    np.testing.assert_allclose(ends[1], ends[0], atol=2e-6)


# Runs

WINDY: dict[str, Any] = {
    "wind": Wind(np.array([5.0, 1.0, 0.0]), gusts=Gusts(np.array([1.0] * 3), np.array([50.0] * 3), 5.0))
}
ALL = (
    ConstantForce("ball", np.array([0.1, 0, 0]), start_ns=100 * MS),
    Drag("ball", linear=np.array([0.3] * 3), quadratic=np.array([0.1] * 3), center=np.array([0, 0, 0.1])),
    Buoyancy("ball", **BOX),
)


def test_small_steps_are_one_large_one_bit_for_bit() -> None:
    once, often = run(*ALL, **WINDY), run(*ALL, **WINDY)
    once.step(2500)
    for stride in (1, 999, 37, 1200, 263):
        often.step(stride)
        often.seek(often.time_ns + 300_000)
        often.motion()
    assert once.snapshot().poses.tobytes() == often.snapshot().poses.tobytes()


def test_a_restored_run_goes_on_as_it_did() -> None:
    simulation = run(*ALL, **WINDY, seconds=1.3)
    simulation.reset(seed=5)
    simulation.run(1.3)
    state = pickle.loads(pickle.dumps(simulation.state))
    simulation.run(2.0)
    other = run(*ALL, **WINDY)
    other.restore(state)
    other.run(2.0)
    assert other.snapshot().poses.tobytes() == simulation.snapshot().poses.tobytes()


def test_another_seed_blows_the_ball_elsewhere() -> None:
    simulation = run(Drag("ball", linear=np.array([1.0] * 3)), **WINDY)
    ends = []
    for seed in (1, 2, 1):
        simulation.reset(seed)
        simulation.run(1.0)
        ends.append(pose_of(simulation))
    assert ends[0].tobytes() == ends[2].tobytes()
    assert np.abs(ends[0] - ends[1]).max() > 1e-3


@pytest.mark.parametrize(
    ("force", "message"),
    [
        (Drag("bal", linear=np.array([1, 1, 1])), "no body 'bal'; did you mean ball?"),
        (
            Drag("ball", linear=np.array([-1, 1, 1])),
            r"ball.linear: \[-1.0, 1.0, 1.0\] is out of range; allowed: 0 to 1e\+12",
        ),
        (Drag("ball", center=np.array([0, np.nan, 0])), "ball.center: .* out of range"),
        (ConstantForce("ball", np.array([1, 2, np.inf])), "ball.force: .* out of range"),
        (ConstantForce("ball", axes="wind"), "ball.axes: found 'wind'; allowed: fixed, body"),
        (ConstantForce("ball", start_ns=5, end_ns=5), "ball.until: 5e-09 s is not after from"),
        (Buoyancy("ball", volume=-1.0), "ball.volume: -1 is out of range; allowed: 0 to 1e\\+09 m\\^3"),
        (Buoyancy("ball", height=0.0), "ball.height: 0 is out of range; allowed: above 0"),
        (Buoyancy("ball", shape="cube"), "ball.shape: found 'cube'; allowed: box, sphere"),
    ],
)
def test_forces_made_in_python_are_checked_when_laid_out(force: Force, message: str) -> None:
    with pytest.raises(WorldError, match=message):
        lay_out(World("w", bodies=(ball(),), forces=(force,)))


@pytest.mark.parametrize(
    ("wind", "message"),
    [
        (Wind(np.array([1e4, 0, 0])), "wind.velocity: .* out of range; allowed: -1000 to 1000"),
        (Wind(STILL, exponent=3.0), "wind.exponent: 3 is out of range"),
        (
            Wind(STILL, gusts=Gusts(np.array([1, 1, -1]), np.array([1, 1, 1]), 1.0)),
            "wind.gusts.intensity: .* out of range",
        ),
        (
            Wind(STILL, gusts=Gusts(np.array([1, 1, 1]), np.array([1, 1, 1]), 0.0)),
            "wind.gusts.speed: 0 is out of range",
        ),
    ],
)
def test_wind_made_in_python_is_checked_when_laid_out(wind: Wind, message: str) -> None:
    with pytest.raises(WorldError, match=message):
        lay_out(World("w", wind=wind))


def test_a_vector_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'ball': linear has shape \(2,\), needs \(3,\)"):
        Drag("ball", linear=np.array([1, 2]))


def test_a_shape_with_a_mass_may_be_pushed_too() -> None:
    crate = Body("ball", "map", "free", geometry=(Geometry("box", np.array([0.1, 0.2, 0.3]), MASS),))
    simulation = run(ConstantForce("ball", np.array([1.0, 0, 0])), bodies=(crate,), seconds=1.0)
    np.testing.assert_allclose(pose_of(simulation)[:3], [0.5 / MASS, 0, 0], atol=1e-12)


REPLACED = """
time: {{step: 0.01}}
physics: {{integrator: {integrator}, timestep: 0.01, gravity: [0, 0, 0]}}
bodies:
  - name: ball
    joint: {{type: free, q: [0, 0, 5, 0, 0, 0, 1], qd: [8, 0, 0, 0, 3, 0]}}
    geometry: [{{sphere: 0.1, mass: 2}}]
  - {{name: wheel, joint: {{type: hinge, axis: [0, 0, 1]}}, geometry: [{{sphere: 0.1, mass: 1}}]}}
actuators: [{{joint: wheel, type: velocity, target: 1, damping: 1.0e+6, implicit: true}}]
forces: [{{type: drag, body: ball, linear: [5, 5, 5], quadratic: [1, 1, 1]}}]
"""


def test_a_force_is_evaluated_as_the_integrator_needs_that_replaces_another() -> None:
    """rk4 is replaced by implicitfast because of the actuator, and then is implicitfast in everything."""
    with pytest.warns(WorldWarning, match="implicit actuators are integrated by implicitfast instead of rk4"):
        replaced = Simulation(loads(REPLACED.format(integrator="rk4")))
    stated = Simulation(loads(REPLACED.format(integrator="implicitfast")))
    for each in (replaced, stated):
        each.run(1.0)
    assert 0.1 < stated.bodies["ball"].pose[0] < 8.0
    assert pose_of(replaced).tobytes() == pose_of(stated).tobytes()
