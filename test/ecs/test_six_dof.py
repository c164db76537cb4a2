"""Bodies beside analytic solutions and SciPy's integrators.

Independent of the package: rotations are SciPy's, Euler's equation is written in body axes here, and the elliptic
functions of a free top are SciPy's (Landau and Lifshitz, Mechanics, section 37).
"""

from __future__ import annotations

from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from nightly import only
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from scipy.special import ellipj

from sim_node.extensions.elodin.algebra import SpatialForce, SpatialInertia, SpatialMotion, SpatialTransform
from sim_node.extensions.elodin.archetypes import C
from sim_node.extensions.elodin.components import Component, Edge
from sim_node.extensions.elodin.dynamics import NewtonEuler, SixDof, six_dof
from sim_node.extensions.elodin.entities import Entities
from sim_node.extensions.elodin.errors import EcsError
from sim_node.extensions.elodin.graphs import GraphQuery
from sim_node.extensions.elodin.layouts import ComponentType
from sim_node.extensions.elodin.live import Live
from sim_node.extensions.elodin.numerics import Integrator
from sim_node.extensions.elodin.program import compiled
from sim_node.extensions.elodin.quaternion import Quaternion
from sim_node.extensions.elodin.queries import Query
from sim_node.extensions.elodin.standard import Body, Force, Inertia, SimulationTick, WorldPos, WorldVel
from sim_node.extensions.elodin.systems import map, system

RK4, SEMI_IMPLICIT = Integrator.Rk4, Integrator.SemiImplicit
Pull = Annotated[Edge, Component("pull", ComponentType.Edge)]
Fuel = Annotated[jax.Array, Component("fuel", ComponentType.F64)]
MOMENTS = np.array([1.0, 2.0, 3.0])


def world(*bodies: Body) -> Entities:
    entities = Entities()
    for body in bodies:
        entities.spawn(body)
    return entities


def run(entities: Entities, given: Any, step: float, ticks: int) -> Live:
    live = Live(compiled(entities, given, step, NewtonEuler()))
    live.advance(ticks)
    return live


def motion_of(live: Live) -> Any:
    """Pose and velocity of the first body, [q p w v]."""
    return np.concatenate([live.get("world_pos")[0], live.get("world_vel")[0]])


@map
def gravity(f: Force, i: Inertia) -> Force:
    return f + SpatialForce(linear=i.mass() * jnp.array([0.0, 0.0, -9.81]))


@pytest.mark.parametrize(
    ("integrator", "height", "tolerance"),
    # Semi-implicit Euler falls by g h^2 n (n + 1) / 2, which is (n + 1) / n of the parabola.
    [(RK4, 10 - 9.81 / 2, 1e-12), (SEMI_IMPLICIT, 10 - 9.81 / 2 * 101 / 100, 1e-11)],
)
def test_free_fall(integrator: Integrator, height: float, tolerance: float) -> None:
    start = Body(SpatialTransform(linear=np.array([0.0, 0, 10])), SpatialMotion(linear=np.array([2.0, 0, 0])))
    live = run(world(start), six_dof(sys=gravity, integrator=integrator), 0.01, 100)
    np.testing.assert_allclose(live.get("world_pos")[0], [0, 0, 0, 1, 2.0, 0, height], atol=tolerance)
    np.testing.assert_allclose(live.get("world_vel")[0], [0, 0, 0, 2, 0, -9.81], atol=1e-12)
    np.testing.assert_allclose(live.get("world_accel")[0], [0, 0, 0, 0, 0, -9.81], atol=1e-14)
    np.testing.assert_allclose(live.get("force")[0], [0, 0, 0, 0, 0, -9.81], atol=1e-14)


def test_a_constant_torque_about_a_principal_axis() -> None:
    """In body axes that are turned in the world: w = t T / I, angle = w t / 2."""
    turned = Rotation.from_euler("xyz", [0.4, -0.3, 1.1])
    axis = turned.apply([0.0, 1.0, 0.0])

    @map
    def torque(f: Force) -> Force:
        return f + SpatialForce(torque=3.0 * axis)

    start = Body(SpatialTransform(angular=turned.as_quat()), inertia=SpatialInertia(5.0, MOMENTS))
    live = run(world(start), six_dof(sys=torque), 0.01, 200)
    np.testing.assert_allclose(live.get("world_vel")[0, :3], 3.0 / 2.0 * 2.0 * axis, rtol=1e-12)
    expected = Rotation.from_rotvec(axis * 3.0 / 2.0 * 2.0**2 / 2) * turned
    assert (expected.inv() * Rotation.from_quat(live.get("world_pos")[0, :4])).magnitude() < 1e-8


def top(times: Any, energy: float, momentum: float) -> Any:
    """The angular velocity in body axes (n, 3) of a free asymmetric top that starts with w2 = 0, where M^2 > 2 E I2."""
    i1, i2, i3 = MOMENTS
    m2, e2 = momentum**2, 2 * energy
    rate = np.sqrt((i3 - i2) * (m2 - e2 * i1) / (i1 * i2 * i3))
    sn, cn, dn, _ = ellipj(rate * times, (i2 - i1) * (e2 * i3 - m2) / ((i3 - i2) * (m2 - e2 * i1)))
    return np.stack(
        [
            np.sqrt((e2 * i3 - m2) / (i1 * (i3 - i1))) * cn,
            np.sqrt((e2 * i3 - m2) / (i2 * (i3 - i2))) * sn,
            np.sqrt((m2 - e2 * i1) / (i3 * (i3 - i1))) * dn,
        ],
        axis=-1,
    )


def test_a_free_asymmetric_top_follows_jacobis_functions_and_keeps_energy_and_momentum() -> None:
    """1e5 ticks of 2 ms, 40 turns: momentum is kept to 2e-11, energy to 1e-10; after 10 s w is right to 1e-9."""
    w0 = np.array([0.7, 0.0, 1.3])
    energy = MOMENTS @ w0**2 / 2
    momentum = float(np.linalg.norm(MOMENTS * w0))
    turned = Rotation.from_euler("xyz", [0.5, 0.2, -0.9])
    start = Body(
        SpatialTransform(angular=turned.as_quat()),
        SpatialMotion(angular=turned.apply(w0)),
        SpatialInertia(1.0, MOMENTS),
    )
    live = run(world(start), six_dof(), 0.002, 5000)
    found = motion_of(live)
    in_body = Rotation.from_quat(found[:4]).inv().apply(found[7:10])
    np.testing.assert_allclose(in_body, top(10.0, energy, momentum), atol=1e-9)
    live.advance(95_000)
    found = motion_of(live)
    attitude = Rotation.from_quat(found[:4])
    in_body = attitude.inv().apply(found[7:10])
    assert np.linalg.norm(found[:4]) == pytest.approx(1.0, abs=1e-14)
    np.testing.assert_allclose(attitude.apply(MOMENTS * in_body), turned.apply(MOMENTS * w0), rtol=0, atol=2e-11)
    assert MOMENTS @ in_body**2 / 2 == pytest.approx(energy, rel=1e-10)


# A spring to the origin whose end is off the centre of mass, in a wind that pushes along the body: forces turn the
# body, its attitude turns the forces.
ARM = np.array([0.3, -0.1, 0.2])
MASS = 1.5


@map
def coupled(f: Force, p: WorldPos, v: WorldVel) -> Force:
    arm = p.angular() @ ARM
    pull = -4.0 * (p.linear() + arm) - 0.3 * v.linear() + p.angular() @ jnp.array([0.0, 0.5, 1.0])
    return f + SpatialForce(torque=jnp.cross(arm, pull) - 0.1 * v.angular(), linear=pull)


def derivative(_: float, y: Any) -> Any:
    """[q p w_body v] of the same body."""
    attitude, p, w, v = Rotation.from_quat(y[:4]), y[4:7], y[7:10], y[10:]
    pull = -4.0 * (p + attitude.apply(ARM)) - 0.3 * v + attitude.apply([0.0, 0.5, 1.0])
    torque = np.cross(ARM, attitude.inv().apply(pull)) - 0.1 * w
    x, y_, z, s = y[:4]
    turning = 0.5 * np.array([[s, -z, y_], [z, s, -x], [-y_, x, s], [-x, -y_, -z]]) @ w
    return np.concatenate([turning, v, (torque - np.cross(w, MOMENTS * w)) / MOMENTS, pull / MASS])


START = Body(
    SpatialTransform(angular=np.array([0.0, 0.0, 0.0, 1.0]), linear=np.array([1.0, 0.5, -0.5])),
    SpatialMotion(np.array([1.0, -2.0, 0.5]), np.array([0.0, 1.0, 0.0])),
    SpatialInertia(MASS, MOMENTS),
)


@pytest.fixture(scope="module")
def truth() -> Any:
    """Pose and velocity after 2 s."""
    y0 = np.concatenate([[0, 0, 0, 1], [1, 0.5, -0.5], [1, -2, 0.5], [0, 1, 0]]).astype(float)
    y = solve_ivp(derivative, (0, 2), y0, method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
    q = y[:4] / np.linalg.norm(y[:4])
    return np.concatenate([q, y[4:7], Rotation.from_quat(q).apply(y[7:10]), y[10:]])


@pytest.mark.parametrize(("integrator", "order", "ticks"), only([(RK4, 4, 50), (SEMI_IMPLICIT, 1, 800)], 0))
def test_the_order_of_an_integrator(integrator: Integrator, order: int, ticks: int, truth: Any) -> None:
    """Half the step, 2^order less error, for a body whose rotation and translation depend on each other."""
    errors = []
    live = run(world(START), six_dof(sys=coupled, integrator=integrator), 2.0 / ticks, 1)
    for count in (ticks, 2 * ticks, 4 * ticks):
        live.reset()
        live.put("simulation_time_step", np.array([2.0 / count]))
        live.advance(count)
        found = motion_of(live)
        found[:4] *= np.sign(found[:4] @ truth[:4])
        errors.append(np.abs(found - truth).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, order, atol=0.15)
    assert errors[0] < 1e-2


@pytest.mark.nightly
def test_three_bodies() -> None:
    """The tutorial's figure of eight, beside DOP853: after 1200 ticks of 1/120 s all are right to 1e-5."""
    mass, big_g = 1.0 / 6.6743e-11, 6.6743e-11

    @system
    def pull(graph: GraphQuery[Pull], q: Query[WorldPos, Inertia]) -> Query[Force]:
        def one(force: Force, a: WorldPos, ai: Inertia, b: WorldPos, bi: Inertia) -> Force:
            r = a.linear() - b.linear()
            norm = jnp.linalg.norm(r)
            return Force(linear=force.force() - big_g * bi.mass() * ai.mass() * r / norm**3)

        return graph.edge_fold(q, q, Force, Force(), one)

    places = np.array([[0.8822391241, 0, 0], [-0.6432718586, 0, 0], [-0.2389672654, 0, 0]])
    speeds = np.array([[0, 1.0042424155, 0], [0, -1.6491842814, 0], [0, 0.6449418659, 0]])
    entities = world(
        *(
            Body(SpatialTransform(linear=p), SpatialMotion(linear=v), SpatialInertia(mass))
            for p, v in zip(places, speeds, strict=True)
        )
    )
    for left in (1, 2, 3):
        for right in (1, 2, 3):
            if left != right:
                entities.spawn(C(Pull, Edge(left, right)))
    live = run(entities, six_dof(sys=pull), 1 / 120, 1200)

    def motion(_: float, y: Any) -> Any:
        p, v = y.reshape(2, 3, 3)
        r = p[None] - p[:, None]
        distance = np.linalg.norm(r, axis=2) + np.eye(3)
        return np.concatenate([v, (r / distance[:, :, None] ** 3).sum(1)]).ravel()

    y0 = np.stack([places, speeds]).ravel()
    expected = solve_ivp(motion, (0, 10), y0, method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1].reshape(2, 3, 3)
    np.testing.assert_allclose(live.get("world_pos")[:, 4:], expected[0], atol=1e-5)
    momentum = live.get("world_vel")[:, 3:].sum(0)
    np.testing.assert_allclose(momentum, speeds.sum(0), atol=1e-12)


@pytest.mark.nightly
def test_a_time_step_of_its_own() -> None:
    """Half of the time between ticks: it falls for half the time."""
    live = run(world(Body()), six_dof(1 / 120, gravity), 1 / 60, 60)
    np.testing.assert_allclose(live.get("world_pos")[0, 6], -9.81 / 2 * 0.5**2, rtol=1e-12)


def test_only_bodies_move() -> None:
    """An entity with a pose and no inertia stays, in whatever order it was spawned."""
    entities = Entities()
    for n in range(3):
        entities.spawn(C(WorldPos, SpatialTransform(linear=np.array([n + 1.0, 0, 0]))))
        if n != 1:
            entities.spawn(Body(SpatialTransform(linear=np.array([10.0 * n, 0, 5]))))
    live = run(entities, six_dof(sys=gravity), 0.1, 10)
    # Rows: place 1, body 1, place 2, place 3, body 2.
    np.testing.assert_allclose(live.get("world_pos")[:, 6], [0, 5 - 4.905, 0, 0, 5 - 4.905], atol=1e-12)
    assert live.get("world_pos")[:, 4].tolist() == [1, 0, 2, 3, 20]


def rocket(integrator: Integrator) -> tuple[Entities, SixDof]:
    """A rocket that burns 0.2 kg/s of its 10 kg of fuel; 30 kg when empty. It spins freely all the while."""

    @map
    def burn(fuel: Fuel, i: Inertia) -> tuple[Fuel, Inertia]:
        left = fuel - 0.2 * 0.01
        return left, SpatialInertia(30.0 + left, i.inertia_diag())

    @map
    def thrust(f: Force) -> Force:
        return f + SpatialForce(linear=jnp.array([0.0, 0.0, 100.0]))

    entities = Entities()
    start = Body(
        world_vel=SpatialMotion(np.array([0.0, 0.0, 2.0]), np.array([0.0, 0.0, 50.0])),
        inertia=SpatialInertia(40.0, MOMENTS),
    )
    entities.spawn([start, C(Fuel, 10.0)])
    return entities, six_dof(sys=burn | thrust, integrator=integrator)


@pytest.mark.parametrize("integrator", only([RK4, SEMI_IMPLICIT], 1))
def test_an_effector_acts_once_in_a_tick_and_its_inertia_at_once(integrator: Integrator) -> None:
    """Fuel goes down by one tick's worth; dv = F dt / m of each tick's mass, as Tsiolkovsky sums it.

    Fuel that leaves takes its momentum along: without thrust the rocket keeps its velocity, and so does its spin.
    """
    entities, flight = rocket(integrator)
    live = run(entities, flight, 0.01, 500)
    masses = 40.0 - 0.002 * np.arange(1, 501)
    np.testing.assert_allclose(live.get("fuel")[0], 10.0 - 0.002 * 500, rtol=1e-12)
    np.testing.assert_allclose(live.get("inertia")[0, 6], masses[-1], rtol=1e-12)
    np.testing.assert_allclose(live.get("world_vel")[0, 5], 50 + (100.0 * 0.01 / masses).sum(), rtol=1e-12)
    np.testing.assert_allclose(live.get("world_vel")[0, 5], 50 + 500 * np.log(40 / 39), rtol=1e-5)
    np.testing.assert_allclose(live.get("world_vel")[0, :3], [0, 0, 2], atol=1e-12)


def test_what_effectors_count_is_counted_once() -> None:
    @map
    def count(fuel: Fuel, tick: SimulationTick) -> Fuel:
        return fuel + tick

    entities = Entities()
    entities.spawn([Body(), C(Fuel, 0.0)])
    assert run(entities, six_dof(sys=count), 0.1, 10).get("fuel").tolist() == [55.0]


@pytest.mark.nightly
def test_a_semi_implicit_effector_can_write_the_velocity() -> None:
    """It acts before the integration: x += h (v / 2)."""

    @map
    def halve(v: WorldVel) -> WorldVel:
        return SpatialMotion(linear=0.5 * v.linear())

    start = Body(world_vel=SpatialMotion(linear=np.array([1.0, 0, 0])))
    live = run(world(start), six_dof(sys=halve, integrator=SEMI_IMPLICIT), 1.0, 3)
    np.testing.assert_allclose(live.get("world_pos")[0, 4], 0.5 + 0.25 + 0.125, rtol=1e-15)
    with pytest.raises(EcsError, match="an effector writes world_vel"):
        run(world(start), six_dof(sys=halve), 1.0, 1)


def test_a_world_without_bodies() -> None:
    entities = Entities()
    entities.spawn(C(Fuel, 1.0))
    with pytest.raises(EcsError, match="six_dof: no entity has the component 'world_pos'"):
        run(entities, six_dof(), 0.1, 1)
    entities.spawn(C((WorldPos, WorldVel), (SpatialTransform(), SpatialMotion())), "half")
    with pytest.raises(EcsError, match="six_dof: no entity has the component 'inertia'"):
        run(entities, six_dof(), 0.1, 1)


def test_a_unit_quaternion_stays_one() -> None:
    start = Body(SpatialTransform(angular=Quaternion.from_axis_angle(np.ones(3), 1.0)), SpatialMotion(3 * np.ones(3)))
    live = run(world(start), six_dof(integrator=SEMI_IMPLICIT), 0.05, 1000)
    assert np.linalg.norm(live.get("world_pos")[0, :4]) == pytest.approx(1.0, abs=1e-14)


def test_a_semi_implicit_top_keeps_its_momentum_and_its_energy() -> None:
    """Unequal moments, no torque, 60 s at 10 ms: the energy oscillates by about step times spin, and does not grow."""
    moments = np.array([1.0, 2.0, 3.0])
    start = Body(
        world_vel=SpatialMotion(np.array([1.0, 1.0, 1.0])),
        inertia=SpatialInertia(1.0, moments),
    )
    live = run(world(start), six_dof(integrator=SEMI_IMPLICIT), 0.01, 1)
    energies = []
    for _ in range(12):
        live.advance(500)
        turn = Rotation.from_quat(np.array(live.get("world_pos")[0, :4]))
        spin = turn.inv().apply(np.array(live.get("world_vel")[0, :3]))
        energies.append(0.5 * float(moments @ spin**2))
        np.testing.assert_allclose(turn.apply(moments * spin), [1.0, 2.0, 3.0], atol=1e-10)
    assert np.abs(np.array(energies) / 3.0 - 1.0).max() < 0.02
