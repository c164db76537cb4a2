"""Friction, restitution, collision layers and purposes of shapes, against analytic answers."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nightly import only
from scipy.integrate import solve_ivp

from sim_node.simulation import Simulation
from sim_node.simulation.physics import RigidBodyEngine
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import Body, Geometry, Physics, TimeGrid, World, WorldError
from sim_node.world.layers import MAX_BITS, CollisionFilter, TooManyLayers, masks_of
from sim_node.world.load import loads
from sim_node.world.surfaces import Surface, bounce, damping_ratio, largest_timestep, penetration

MS = 1_000_000
G = 9.81
INTEGRATORS = ("rk4", "implicitfast", "implicit", "euler")


def at(*position: float) -> FloatArray:
    return np.array([*position, 0.0, 0.0, 0.0, 1.0])


def world(*bodies: Body, step_ns: int = MS, **physics: Any) -> World:
    return World("test", time=TimeGrid(0, step_ns), bodies=bodies, physics=Physics(**physics))


def plane(surface: Surface | None = None, **more: Any) -> Body:
    return Body("ground", "map", geometry=(Geometry("plane", np.array([]), surface=surface, **more),))


def free(name: str, *shapes: Geometry, q: FloatArray, qd: Any = None) -> Body:
    return Body(name, "map", "free", geometry=shapes, q=q, qd=qd)


def engine_of(simulation: Simulation) -> RigidBodyEngine:
    (engine,) = simulation.engines.values()
    assert isinstance(engine, RigidBodyEngine)
    return engine


def height(simulation: Simulation, name: str) -> float:
    return float(simulation.snapshot().poses[simulation.frames.index(name)][2])


# Friction


def on_slope(friction: float, fraction: float, **physics: Any) -> Simulation:
    """A block at rest on a slope of a fraction of the friction angle: gravity is inclined, not the plane."""
    angle = fraction * np.arctan(friction)
    gravity = G * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    block = Geometry("box", np.array([0.2, 0.2, 0.1]), 2.0, surface=Surface(sliding=friction))
    return Simulation(world(plane(), free("block", block, q=at(0, 0, 0.05)), gravity=gravity, **physics))


@pytest.mark.parametrize("integrator", ["rk4", "implicitfast"])
@pytest.mark.parametrize("friction", [0.2, 0.5, 1.0])
def test_a_block_holds_below_the_friction_angle(friction: float, integrator: str) -> None:
    """Coulomb: it sticks where tan(slope) < friction. Less than 1 mm/s is creep of soft contacts."""
    simulation = on_slope(friction, 0.95, integrator=integrator)
    simulation.run(1.0)
    row, before = simulation.frames.index("block"), simulation.snapshot().poses.copy()
    simulation.run(2.0)
    moved = simulation.snapshot().poses[row, :3] - before[row, :3]
    assert np.linalg.norm(moved) / 2.0 < 1e-3


@pytest.mark.parametrize("integrator", ["rk4", "implicitfast"])
@pytest.mark.parametrize("friction", [0.2, 0.5, 1.0])
def test_a_block_slides_above_the_friction_angle(friction: float, integrator: str) -> None:
    """With a = g (sin(slope) - friction cos(slope))."""
    simulation = on_slope(friction, 1.05, integrator=integrator)
    simulation.run(0.2)
    x = simulation.frames.index("block")
    first = simulation.snapshot().poses[x, 0]
    simulation.run(1.0)
    second = simulation.snapshot().poses[x, 0]
    simulation.run(1.0)
    acceleration = simulation.snapshot().poses[x, 0] - 2.0 * second + first
    angle = 1.05 * np.arctan(friction)
    assert acceleration == pytest.approx(G * (np.sin(angle) - friction * np.cos(angle)), rel=1e-3)


def test_pyramidal_cones_creep() -> None:
    """The reason for elliptic cones where friction is given: MuJoCo's default moves by several mm/s."""
    simulation = on_slope(0.5, 0.95, cone="pyramidal")
    simulation.run(1.0)
    row, before = simulation.frames.index("block"), simulation.snapshot().poses.copy()
    simulation.run(1.0)
    assert simulation.snapshot().poses[row, 0] - before[row, 0] > 1e-3


def test_torsional_friction_stops_a_spinning_ball() -> None:
    """Torque mu_t m g about the contact's normal: w(t) = w0 - mu_t m g t / I with I = 0.4 m r^2."""
    radius, friction, spin = 0.1, 0.01, 40.0
    ball = Geometry("sphere", np.array([radius]), 1.0, surface=Surface(sliding=1.0, torsional=friction))
    body = free("ball", ball, q=at(0, 0, radius), qd=np.array([0, 0, 0, 0, 0, spin]))
    simulation = Simulation(world(plane(), body, integrator="implicitfast"))
    simulation.run(1.0)
    twist = simulation.motion()[0][simulation.frames.index("ball")]
    assert twist[5] == pytest.approx(spin - friction * G / (0.4 * radius**2), rel=0.02)


def test_rolling_friction_stops_a_rolling_ball() -> None:
    """Torque mu_r m g: a = mu_r g / (r (1 + 0.4)) for a ball that rolls without slip."""
    radius, friction, speed = 0.1, 0.002, 1.0
    ball = Geometry("sphere", np.array([radius]), 1.0, surface=Surface(sliding=1.0, rolling=friction))
    body = free("ball", ball, q=at(0, 0, radius), qd=np.array([speed, 0, 0, 0, speed / radius, 0]))
    simulation = Simulation(world(plane(), body, integrator="implicitfast"))
    simulation.run(2.0)
    twist = simulation.motion()[0][simulation.frames.index("ball")]
    assert np.linalg.norm(twist[:3]) == pytest.approx(speed - 2.0 * friction * G / (1.4 * radius), rel=0.03)


def test_a_shape_with_friction_decides_its_contacts_with_shapes_without() -> None:
    """MuJoCo alone would take the larger of 0.2 and 1."""
    for surfaces in ((Surface(sliding=0.2), None), (None, Surface(sliding=0.2))):
        ground = plane(surfaces[0])
        block = Geometry("box", np.array([0.2, 0.2, 0.1]), 2.0, surface=surfaces[1])
        start = free("block", block, q=at(0, 0, 0.05), qd=np.array([2.0, 0, 0, 0, 0, 0]))
        simulation = Simulation(world(ground, start))
        simulation.run(0.5)
        twist = simulation.motion()[0][simulation.frames.index("block")]
        assert twist[0] == pytest.approx(2.0 - 0.2 * G * 0.5, rel=0.02)


# Restitution


@pytest.mark.parametrize("restitution", [0.0, 0.05, 0.3, 0.5, 0.8, 0.95])
def test_the_formula_is_that_of_a_spring_and_damper_that_cannot_pull(restitution: float) -> None:
    """Schwager and Poeschel 2007: the equation of motion until the force vanishes, integrated."""
    z = damping_ratio(restitution)

    def ended(_: float, y: FloatArray) -> float:
        return float(-y[0] - 2.0 * z * y[1]) if y[1] > 0.0 else 1.0

    ended.terminal = True  # type: ignore[attr-defined]
    motion = solve_ivp(
        lambda _, y: [y[1], -y[0] - 2.0 * z * y[1]], (0, 50), [-1e-9, -1.0], events=ended, rtol=1e-9, max_step=0.01
    )
    assert motion.y[1, -1] == pytest.approx(bounce(z), abs=2e-3)
    assert -motion.y[0].min() == pytest.approx(penetration(restitution, np.pi, 1.0), abs=1e-4)
    if restitution >= 0.05:
        assert bounce(z) == pytest.approx(restitution, abs=1e-9)


def bounces(simulation: Simulation, speed: float, radius: float, seconds: float) -> tuple[float, FloatArray, float]:
    """The speed after the first bounce by that before, the energies (J/kg) of flights, the deepest penetration."""
    data = engine_of(simulation).data
    energies, flight, deepest = [0.5 * speed**2], False, 0.0
    for _ in range(round(seconds * 1000)):
        simulation.step()
        z, vz = float(data.qpos[2]) - radius, float(data.qvel[2])
        deepest = max(deepest, -z)
        if z > 0.0:
            energy = 0.5 * vz**2 + G * z
            if not flight:
                energies.append(energy)
            energies[-1] = max(energies[-1], energy)
        flight = z > 0.0
    ratio = float(np.sqrt(energies[2] / energies[1]) if len(energies) > 2 else 0.0)
    return ratio, np.array(energies[1:]), deepest


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("speed", only([1.0, 2.3, 5.0], 1))
def test_a_ball_bounces_to_its_restitution_and_gains_no_energy(integrator: str, speed: float) -> None:
    """0.8 of the speed at 1 ms, with the penetration that is stated; no flight has more energy than the one before."""
    radius, restitution = 0.1, 0.8
    surface = Surface(restitution=restitution)
    ball = Geometry("sphere", np.array([radius]), 0.3, surface=surface)
    drop = speed**2 / (2.0 * G)
    simulation = Simulation(world(plane(), free("ball", ball, q=at(0, 0, radius + drop)), integrator=integrator))
    ratio, energies, deepest = bounces(simulation, speed, radius, 2.5)
    assert ratio == pytest.approx(restitution, abs=0.03)
    # Below the speed that gravity adds in a timestep it is at rest.
    assert np.diff(energies).max() < (G * 1e-3) ** 2
    assert deepest == pytest.approx(penetration(restitution, surface.contact_time, speed), rel=0.05)


@pytest.mark.parametrize("integrator", ["rk4", "implicitfast"])
def test_a_ball_bounces_so_on_a_ground_with_friction_only(integrator: str) -> None:
    """Friction of the other shape leaves the spring and the damper alone."""
    ball = Geometry("sphere", np.array([0.1]), 0.3, surface=Surface(restitution=0.8))
    found = []
    for ground in (plane(), plane(Surface(sliding=0.8))):
        simulation = Simulation(world(ground, free("ball", ball, q=at(0, 0, 1.1)), integrator=integrator))
        ratio, _, deepest = bounces(simulation, np.sqrt(2.0 * G), 0.1, 1.5)
        found.append((ratio, deepest))
    assert found[1] == pytest.approx(found[0], abs=1e-6)
    assert found[1][0] == pytest.approx(0.8, abs=0.03)


@settings(max_examples=25)
@given(st.floats(0.2, 0.95), st.floats(0.5, 8.0), st.sampled_from(["rk4", "implicitfast"]), st.floats(0.0, 1.0))
def test_the_largest_timestep_still_bounces_so(restitution: float, speed: float, integrator: str, phase: float) -> None:
    """At any instant of the impact in a timestep, in MuJoCo, without gravity."""
    radius, contact_time = 0.1, 0.02
    largest = largest_timestep(restitution, contact_time, integrator)
    step_ns = int(largest * 1e9)
    ball = Geometry("sphere", np.array([radius]), 1.0, surface=Surface(restitution=restitution))
    body = free("ball", ball, q=at(0, 0, radius + phase * speed * largest), qd=np.array([0, 0, -speed, 0, 0, 0]))
    physics = {"timestep_ns": step_ns, "integrator": integrator, "gravity": np.zeros(3)}
    simulation = Simulation(world(plane(), body, step_ns=step_ns, **physics))
    simulation.run(0.2)
    after = engine_of(simulation).data.qvel[2] / speed
    assert after < 1.0
    assert after == pytest.approx(restitution, abs=0.035)


def test_a_timestep_that_is_too_large_is_refused_with_the_largest_that_works() -> None:
    ball = Geometry("sphere", np.array([0.1]), 1.0, surface=Surface(restitution=0.8, contact_time=0.005))
    body = free("ball", ball, q=at(0, 0, 1))
    with pytest.raises(WorldError, match=r"0\.8 needs timesteps of at most .* physics\.timestep: 0\.00025") as refused:
        Simulation(world(plane(), body))
    assert "geometry[0].restitution" in str(refused.value)
    simulation = Simulation(world(plane(), body, timestep_ns=250_000))
    ratio, *_ = bounces(simulation, np.sqrt(2 * G * 0.9), 0.1, 1.5)
    assert ratio == pytest.approx(0.8, abs=0.03)


# Takes seconds: make test has balls that bounce and gain nothing.
@pytest.mark.nightly
def test_a_tumbling_box_gains_no_energy() -> None:
    """It strikes with corners and edges, and slides; energies of flights, to a thousandth of the first."""
    box = Geometry("box", np.array([0.2, 0.3, 0.1]), 1.0, surface=Surface(sliding=0.4, restitution=0.8))
    start = np.array([0, 0, 1.0, 0.3, 0.2, 0.1, 0.0])
    start[6] = np.sqrt(1.0 - np.sum(start[3:6] ** 2))
    simulation = Simulation(world(plane(), free("box", box, q=start, qd=np.array([1.0, 0, 0, 2.0, 1.0, 3.0]))))
    engine = engine_of(simulation)
    model, data = engine.model, engine.data
    first = last = 9.81 + 0.5 + 0.5 * float(np.sum(model.body("box").inertia * [4.0, 1.0, 9.0]))
    for _ in range(2500):
        simulation.step()
        now = mujoco.MjData(model)
        now.qpos[:], now.qvel[:] = data.qpos, data.qvel
        mujoco.mj_forward(model, now)
        mujoco.mj_energyPos(model, now)
        mujoco.mj_energyVel(model, now)
        if now.ncon == 0:
            energy = float(now.energy.sum())
            assert energy < last + 1e-3 * first
            last = min(last, energy)
    assert last < 0.5 * first


# Layers


POCKET_DOOR = """
world: pocket_door
ground: {}
bodies:
  - {name: wall, geometry: [{box: [2, 0.2, 2], pose: {position: [1.5, 0, 1]}, layer: building, touches: [robots]}]}
  - name: door
    joint: {type: px, limits: [0, 1]}
    pose: {position: [0, 0, 1]}
    geometry: [{box: [1, 0.05, 1.9], mass: 20, layer: doors, touches: [robots]}]
  - name: robot
    joint: {type: free, q: [-0.6, 0, 0.2, 0, 0, 0, 1], qd: [3, 0, 0, 0, 0, 0]}
    geometry: [{sphere: 0.1, mass: 0.1, layer: robots}]
actuators:
  - {joint: door, type: velocity, damping: 400, force: 500, target: 0.5}
"""


def test_a_door_slides_into_the_wall_that_it_overlaps_up_to_the_end_of_its_rail() -> None:
    """m dv/dt = k (u - v): x = u (t - T (1 - exp(-t / T))) with T = m / k = 0.05 s, as if there were no wall."""
    simulation = Simulation(loads(POCKET_DOOR))
    door = simulation.joints["door"]
    simulation.run(1.0)
    assert door.position == pytest.approx([0.5 * (1.0 - 0.05)], abs=1e-3)
    assert door.velocity == pytest.approx([0.5], abs=1e-6)
    simulation.run(2.0)
    assert door.position == pytest.approx([1.0], abs=1e-4)
    assert door.velocity == pytest.approx([0.0], abs=1e-6)
    assert simulation.bodies["robot"].pose[0] < -0.6, "what may touch the door bounces off it"


def test_layers_decide_who_touches_whom() -> None:
    """Three balls on two floors: a floor for some, a floor for all."""

    def ball(name: str, x: float, surface: Surface | None) -> Body:
        return free(name, Geometry("sphere", np.array([0.1]), 1.0, surface=surface), q=at(x, 0, 1))

    shelf = Geometry("box", np.array([9, 1, 0.1]), surface=Surface(layer="shelf", touches=("red",)))
    ground = Geometry("box", np.array([9, 1, 0.1]), pose=at(0, 0, -1))
    red = Surface(layer="red")
    ghost = Surface(layer="ghost", touches=("shelf",))
    simulation = Simulation(
        world(
            Body("floors", "map", geometry=(shelf, ground)),
            ball("red", 0, red),
            ball("plain", 1, None),
            ball("ghost", 2, ghost),
            integrator="implicitfast",
        )
    )
    simulation.run(2.0)
    assert height(simulation, "red") == pytest.approx(0.15, abs=2e-3), "both want to touch"
    assert height(simulation, "plain") == pytest.approx(-0.85, abs=2e-3), "the shelf does not touch it"
    assert height(simulation, "ghost") < -5.0, "it touches neither: the shelf does not want to, and it not the ground"


@given(
    st.lists(
        st.builds(
            CollisionFilter,
            st.sampled_from(["default", "a", "b", "c"]),
            st.none() | st.frozensets(st.sampled_from(["default", "a", "b", "c"])),
        ),
        max_size=8,
    )
)
def test_masks_are_those_of_mujoco(filters: list[CollisionFilter]) -> None:
    """MuJoCo's rule (Computation, Collision detection): contype of one and conaffinity of the other."""
    masks = masks_of(filters)
    for one in filters:
        for two in filters:
            wanted = (one.touches is None or two.layer in one.touches) and (
                two.touches is None or one.layer in two.touches
            )
            first, second = masks[one], masks[two]
            found = first.contype & second.conaffinity or second.contype & first.conaffinity
            assert bool(found) == wanted
    # Shapes of models have MuJoCo's defaults.
    plain = CollisionFilter()
    for one in filters:
        meets = one.touches is None or "default" in one.touches
        assert bool(masks[one].contype & 1 or masks[one].conaffinity & 1) == meets
    assert masks[plain].contype == 1


def test_more_layers_than_bits_are_refused() -> None:
    names = [f"l{k}" for k in range(MAX_BITS)]
    filters = [CollisionFilter(name, frozenset({name})) for name in names]
    with pytest.raises(TooManyLayers, match=r"32 different .*; allowed: 31"):
        masks_of(filters)
    assert len({mask.contype for mask in masks_of(filters[1:]).values()}) == MAX_BITS
    with pytest.raises(TooManyLayers, match="allowed: 30"):
        masks_of(filters[1:], reserved=4)


def test_layers_leave_the_masks_of_models_alone(tmp_path: Any) -> None:
    """A model's geometry with bit 1 touches its own kind, not the world's layers."""
    from sim_node.world import load

    (tmp_path / "m.xml").write_text(
        """<mujoco model="m"><worldbody><body name="b"><joint type="slide"/>
        <geom size=".1" mass="1" contype="2" conaffinity="2"/></body></worldbody></mujoco>"""
    )
    (tmp_path / "w.yaml").write_text(
        """
include: [m.xml]
bodies:
  - {name: a, geometry: [{sphere: 1, layer: a, touches: [a]}, {sphere: 1, layer: b, touches: [b]}]}
"""
    )
    model = engine_of(Simulation(load(tmp_path / "w.yaml"))).model
    theirs = next(k for k in range(model.ngeom) if model.geom_contype[k] == 2)
    for geom in range(model.ngeom):
        if geom != theirs:
            assert not model.geom_contype[geom] & 2
            assert not model.geom_conaffinity[geom] & 2


# Visual-only and collision-only


def test_a_visual_shape_has_neither_contact_nor_mass() -> None:
    ball = Geometry("sphere", np.array([0.1]), 1.0)
    hat = Geometry("box", np.array([1, 1, 1]), only="visual", colour=np.array([1, 0, 0, 1]))
    simulation = Simulation(world(plane(), free("ball", ball, hat, q=at(0, 0, 0.1))))
    simulation.run(0.5)
    assert height(simulation, "ball") == pytest.approx(0.1, abs=1e-3)
    model = engine_of(simulation).model
    assert model.body("ball").mass[0] == pytest.approx(1.0)
    assert model.body("ball").inertia[0] == pytest.approx(0.4 * 0.01)


def test_a_collision_shape_makes_contact_and_is_in_no_drawn_group() -> None:
    shelf = Body("shelf", "map", geometry=(Geometry("box", np.array([1, 1, 0.2]), only="collision"),))
    ball = free("ball", Geometry("sphere", np.array([0.1]), 1.0), q=at(0, 0, 0.3))
    simulation = Simulation(world(shelf, ball))
    simulation.run(1.0)
    assert height(simulation, "ball") == pytest.approx(0.2, abs=2e-3)
    model = engine_of(simulation).model
    options = mujoco.MjvOption()
    drawn = [bool(options.geomgroup[model.geom_group[k]]) for k in range(model.ngeom)]
    assert drawn == [False, True]


# Options of the solver


def test_solver_options_reach_mujoco() -> None:
    ball = free("ball", Geometry("sphere", np.array([0.1]), 1.0), q=at(0, 0, 1))
    plain = engine_of(Simulation(world(plane(), ball))).model.opt
    flags = {"warmstart": False, "multiccd": True}
    given = world(plane(), ball, cone="elliptic", impratio=3.0, solver="pgs", iterations=7, flags=flags)
    option = engine_of(Simulation(given)).model.opt
    assert (plain.cone, plain.impratio, plain.iterations) == (mujoco.mjtCone.mjCONE_PYRAMIDAL, 1.0, 100)
    assert (option.cone, option.impratio, option.iterations) == (mujoco.mjtCone.mjCONE_ELLIPTIC, 3.0, 7)
    assert (plain.solver, option.solver) == (mujoco.mjtSolver.mjSOL_NEWTON, mujoco.mjtSolver.mjSOL_PGS)
    assert option.disableflags & mujoco.mjtDisableBit.mjDSBL_WARMSTART
    assert not plain.disableflags & mujoco.mjtDisableBit.mjDSBL_WARMSTART


@pytest.mark.parametrize("way", ["force", "twist", "pose"])
def test_a_body_that_sleeps_wakes_when_it_is_moved(way: str) -> None:
    box = free("box", Geometry("box", np.array([0.1, 0.1, 0.1]), 1.0), q=at(0, 0, 0.1))
    simulation = Simulation(world(plane(), box, integrator="implicitfast", flags={"sleep": True}))
    simulation.run(1.0)
    engine = engine_of(simulation)
    assert engine.data.ntree_awake == 0
    body = simulation.bodies["box"]
    if way == "force":
        body.apply_force([0.0, 0.0, 1e3])
    elif way == "twist":
        body.twist = [0.0, 0.0, 2.0, 0.0, 0.0, 0.0]
    else:
        body.pose = at(0, 0, 1.0)
    before = body.pose[2]
    simulation.run(0.1)
    # It flies or falls, but does not stay where it is.
    assert abs(simulation.bodies["box"].pose[2] - before) > 0.02


def test_bodies_that_sleep_are_as_mujoco_has_them_to_the_bit() -> None:
    boxes = [
        free(f"b{k}", Geometry("box", np.array([0.1, 0.1, 0.1]), 1.0), q=at(k, 0, 0.1 + 0.02 * k)) for k in range(3)
    ]
    simulation = Simulation(world(plane(), *boxes, integrator="implicitfast", flags={"sleep": True}))
    engine = engine_of(simulation)
    bare = mujoco.MjData(engine.model)
    bare.qpos[:] = engine.data.qpos

    def is_same() -> bool:
        parts = ("qpos", "qvel", "time", "qacc_warmstart", "xfrc_applied")
        return all(np.array_equal(getattr(engine.data, part), getattr(bare, part)) for part in parts)

    # Falling, sleeping, struck, and sleeping again.
    for height in (None, None, 0.3, None, None):
        if height is not None:
            pose = simulation.bodies["b1"].pose
            pose[2] += height
            simulation.bodies["b1"].pose = pose
            bare.qpos[:], bare.qvel[:] = engine.data.qpos, engine.data.qvel
        for _ in range(10):
            simulation.run(0.1)
            for _ in range(round(0.1 / engine.model.opt.timestep)):
                mujoco.mj_step(engine.model, bare)
            assert is_same()
    assert engine.data.ntree_awake == 0


def test_friction_makes_cones_elliptic_unless_a_cone_is_given() -> None:
    ball = free("ball", Geometry("sphere", np.array([0.1]), 1.0, surface=Surface(sliding=0.5)), q=at(0, 0, 1))
    default = engine_of(Simulation(world(plane(), ball))).model.opt
    chosen = engine_of(Simulation(world(plane(), ball, cone="pyramidal"))).model.opt
    assert (default.cone, default.impratio) == (mujoco.mjtCone.mjCONE_ELLIPTIC, 10.0)
    assert (chosen.cone, chosen.impratio) == (mujoco.mjtCone.mjCONE_PYRAMIDAL, 1.0)
