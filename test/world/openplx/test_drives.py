"""Models in motion: what their authors expect of springs, ranges, motors and drive trains (models of our own)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sim_node.cli.main import main
from sim_node.simulation import Simulation
from sim_node.world import World, WorldError, WorldWarning, load

SLIDER = """\
Slider is Physics3D.System:
    rail is Physics3D.Interactions.MateConnector:
        main_axis: Math.Vec3.Z_AXIS()
    load is Physics3D.Bodies.RigidBody:
        inertia.mass: 10
        shape is Physics3D.Geometries.Box:
            size: {0.1, 0.1, 1}
        foot is Physics3D.Interactions.MateConnector:
            position: {0, 0, 0.5}
            main_axis: Math.Vec3.Z_AXIS()
    guide is Physics3D.Interactions.Prismatic:
        connectors: [rail, load.foot]
        initial_position: -0.25
"""
ROTOR = """\
Rotor is Physics3D.System:
    pivot is Physics3D.Interactions.MateConnector:
        main_axis: Math.Vec3.Y_AXIS()
    bar is Physics3D.Bodies.RigidBody:
        inertia.mass: 2
        shape is Physics3D.Geometries.Box:
            size: {1, 0.1, 0.1}
        eye is Physics3D.Interactions.MateConnector:
            position: {0.4, 0, 0}
            main_axis: Math.Vec3.Y_AXIS()
    hinge is Physics3D.Interactions.Hinge:
        connectors: [pivot, bar.eye]
"""
# Moment of the bar's weight about its hinge, N m.
WEIGHT = 2.0 * 9.81 * 0.4


@pytest.fixture
def world(tmp_path: Path) -> Callable[..., World]:
    def made(model: str, lines: str = "", after: str = "") -> World:
        path = tmp_path / "model.openplx"
        path.write_text(model + "".join(f"    {line}\n" for line in lines.splitlines()) + after, encoding="utf-8")
        return load(path)

    return made


def run_of(world: World, seconds: float) -> Simulation:
    run = Simulation(world)
    run.run(seconds)
    return run


def speed(run: Simulation, joint: str) -> float:
    return float(run.joints[joint].velocity[0])


# Takes seconds: make test has springs and motors by their equations.
@pytest.mark.nightly
def test_a_spring_with_limited_effort_pulls_its_connectors_together(world: Callable[..., World]) -> None:
    """At rest half a metre below, at no speed, give way apart: m g / 1e6."""
    run = run_of(
        world(
            SLIDER,
            "spring is Physics3D.Interactions.LinearSpring:\n    connectors: guide.connectors\n"
            "    min_effort: -200\n    max_effort: 200",
        ),
        2.0,
    )
    body = run.bodies["Slider/load"]
    assert body.pose[2] == pytest.approx(-0.5 - 98.1 / 1e6, abs=1e-6)
    assert abs(body.twist[2]) < 1e-6


def test_a_range_stops_what_falls(world: Callable[..., World]) -> None:
    run = run_of(
        world(
            SLIDER,
            "stop is Physics3D.Interactions.LinearRange:\n    connectors: guide.connectors\n"
            "    start: -0.5\n    end: 0",
        ),
        2.0,
    )
    assert run.bodies["Slider/load"].pose[2] == pytest.approx(-1.0, abs=1e-4)
    assert abs(run.bodies["Slider/load"].twist[2]) < 1e-4


def test_a_spring_swings_by_its_equation(world: Callable[..., World]) -> None:
    """z = z0 - (a cos w t + m g / k), w = sqrt(k / m), undamped.

    Implicit springs are integrated semi-implicitly, to first order; explicit ones by rk4 of the world.
    """
    model = world(
        SLIDER,
        "spring is Physics3D.Interactions.LinearSpring:\n    connectors: guide.connectors\n"
        "    flexibility.stiffness: 1000\n"
        "    dissipation becomes Physics.Interactions.Dissipation.MechanicalDamping:\n        damping_constant: 0",
    )
    explicit = replace(model, actuators=tuple(replace(each, implicit=False) for each in model.actuators))
    rate, sag = math.sqrt(1000.0 / 10.0), 98.1 / 1000.0
    expected = -sag + (-0.25 + sag) * math.cos(rate * 2.0)
    assert run_of(explicit, 2.0).joints["Slider/load"].position[0] == pytest.approx(expected, abs=1e-9)
    whole, half = (
        run_of(replace(model, physics=replace(model.physics, timestep_ns=each)), 2.0).joints["Slider/load"].position[0]
        for each in (1_000_000, 500_000)
    )
    assert whole == pytest.approx(expected, abs=8e-4)
    assert (whole - expected) / (half - expected) == pytest.approx(2.0, rel=0.02)
    assert 2.0 * half - whole == pytest.approx(expected, abs=1e-5)


MOTOR = "motor is Physics3D.Interactions.RotationalVelocityMotor:\n    connectors: hinge.connectors\n"


def test_a_motor_holds_its_speed(world: Callable[..., World]) -> None:
    run = run_of(world(ROTOR, MOTOR + "    target_speed: 1"), 1.0)
    assert speed(run, "Rotor/bar") == pytest.approx(1.0, abs=1e-5)
    assert run.joints["Rotor/bar"].position[0] == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("milliseconds", [1, 2, 5, 7, 20])
@pytest.mark.parametrize("gain", ["", "    gain: 1e6\n", "    gain: 1e12\n"])
@pytest.mark.filterwarnings("ignore:.*is reduced to")
def test_a_motor_turns_from_the_first_step_on_and_over_changes_of_its_target(
    world: Callable[..., World], gain: str, milliseconds: int
) -> None:
    """The angle is the integral of the target."""
    model = world(ROTOR, f"{MOTOR}    target_speed: 1\n{gain}")
    run = Simulation(replace(model, time=replace(model.time, step_ns=milliseconds * 1_000_000)))
    angle = 0.0
    for target in (1.0, 0.5, 0.0, -0.5):
        run.signals["Rotor/motor/target_angular_velocity_input"].value = target
        for _ in range(3):
            run.step()
            angle += target * milliseconds * 1e-3
            assert run.joints["Rotor/bar"].position[0] == pytest.approx(angle, abs=2e-5)


# Takes seconds: make test has springs and motors by their equations.
@pytest.mark.nightly
def test_a_target_of_zero_is_a_brake(world: Callable[..., World]) -> None:
    held = run_of(world(ROTOR, MOTOR + f"    max_effort: {2 * WEIGHT}\n    min_effort: {-2 * WEIGHT}"), 10.0)
    assert abs(held.joints["Rotor/bar"].position[0]) < 1e-5
    slips = run_of(world(ROTOR, MOTOR + f"    max_effort: {WEIGHT / 2}\n    min_effort: {-WEIGHT / 2}"), 0.3)
    assert abs(slips.joints["Rotor/bar"].position[0]) > 0.1


def test_a_gain_gives_way_and_a_zero_speed_spring_does_not(world: Callable[..., World]) -> None:
    """Droop of a motor of gain 20: torque of the weight over the gain."""
    loose = Simulation(world(ROTOR, MOTOR + "    gain: 2000"))
    loose.run(1.0)
    assert abs(speed(loose, "Rotor/bar")) == pytest.approx(WEIGHT / 2000.0, rel=1e-2)
    spring = "    gain: 2000\n    zero_speed_as_spring: true\n    zero_speed_spring_flexibility.stiffness: 1e6"
    held = run_of(world(ROTOR, MOTOR + spring), 5.0)
    assert abs(held.joints["Rotor/bar"].position[0]) == pytest.approx(WEIGHT / 1e6, rel=0.05)


def test_connectors_in_the_other_order_turn_the_other_way(world: Callable[..., World]) -> None:
    text = MOTOR.replace("hinge.connectors", "[bar.eye, pivot]")
    assert speed(run_of(world(ROTOR, text + "    target_speed: 1"), 0.5), "Rotor/bar") == pytest.approx(-1.0, abs=1e-5)


def test_friction_of_a_mate_and_torque_of_a_motor(world: Callable[..., World]) -> None:
    """On a vertical axis: (torque - friction) / inertia."""
    level = ROTOR.replace("Y_AXIS", "Z_AXIS")
    text = (
        "motor is Physics3D.Interactions.TorqueMotor:\n    connectors: hinge.connectors\n    default_torque: 3\n"
        "hinge.friction becomes Physics.Interactions.Dissipation.ConstantLimitFriction:\n    limit: 1"
    )
    inertia = 2.0 * (1.0**2 + 0.1**2) / 12.0 + 2.0 * 0.4**2
    run = run_of(world(level, text), 0.5)
    assert speed(run, "Rotor/bar") == pytest.approx(0.5 * (3.0 - 1.0) / inertia, rel=1e-3)


@pytest.mark.parametrize("negative", [2.0, -2.0])
@pytest.mark.parametrize(("torque", "left"), [(3.0, 2.0), (-3.0, -1.0), (0.9, 0.0), (-1.9, 0.0)])
def test_asymmetric_friction_opposes_each_direction_up_to_its_limit(
    world: Callable[..., World], torque: float, left: float, negative: float
) -> None:
    """Physics.Interactions.Dissipation.AsymmetricLimitFriction of bundles 0.19: "a constant maximum friction [...]
    torque for [...] positive and negative relative directions": (torque - friction) / inertia.
    """
    level = ROTOR.replace("Y_AXIS", "Z_AXIS")
    text = (
        "motor is Physics3D.Interactions.TorqueMotor:\n    connectors: hinge.connectors\n"
        f"    default_torque: {torque}\n"
        "hinge.friction becomes Physics.Interactions.Dissipation.AsymmetricLimitFriction:\n"
        f"    positive_limit: 1\n    negative_limit: {negative}"
    )
    inertia = 2.0 * (1.0**2 + 0.1**2) / 12.0 + 2.0 * 0.4**2
    run = run_of(world(level, text), 0.1)
    assert speed(run, "Rotor/bar") == pytest.approx(0.1 * left / inertia, rel=1e-3, abs=1e-5)


def test_the_limit_of_friction_in_the_positive_direction_has_no_sign(world: Callable[..., World]) -> None:
    friction = "hinge.friction becomes Physics.Interactions.Dissipation.AsymmetricLimitFriction:\n"
    with pytest.raises(WorldError, match="positive_limit -1 must be zero or more"):
        world(ROTOR, f"{friction}    positive_limit: -1\n    negative_limit: 2")


SHAFTS = """\
Train is Physics3D.System:
    a is DriveTrain.Shaft:
        inertia.inertia: 1
    b is DriveTrain.Shaft:
        inertia.inertia: 1
    c is DriveTrain.Shaft:
        inertia.inertia: 3
    motor is Physics1D.Interactions.RotationalVelocityMotor:
        target_speed: 2
        connectors: [a.input]
"""


def test_a_gear_turns_its_output_by_its_ratio(world: Callable[..., World]) -> None:
    text = "gear is DriveTrain.Gear:\n    ratio: -4\n    connectors: [a.output, b.input]"
    assert speed(run_of(world(SHAFTS, text), 0.5), "Train/b") == pytest.approx(-0.5, abs=1e-4)


def test_a_flexible_gear_swings_about_its_ratio(world: Callable[..., World]) -> None:
    text = (
        "gear is DriveTrain.FlexibleGear:\n    ratio: 2\n    connectors: [a.output, b.input]\n"
        "    flexibility becomes Physics.Interactions.Flexibility.LinearElastic:\n        stiffness: 1e4"
    )
    run = run_of(world(SHAFTS, text), 2.0)
    assert speed(run, "Train/b") == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(("locked", "speeds"), [("false", (3.0, 1.0)), ("true", (2.0, 2.0))])
def test_a_differential(world: Callable[..., World], locked: str, speeds: tuple[float, float]) -> None:
    """Equal torques: speeds as 1 / inertia, 1 and 3, about their mean, the drive's 2. Locked both have that."""
    text = (
        f"diff is DriveTrain.Differential:\n    locked_up: {locked}\n"
        "    drive_shaft: a\n    left_axle_shaft: b\n    right_axle_shaft: c"
    )
    run = run_of(world(SHAFTS, text), 0.5)
    assert [speed(run, "Train/b"), speed(run, "Train/c")] == pytest.approx(speeds, abs=1e-3)


def test_a_differential_that_is_not_enabled_does_not_lock_either(world: Callable[..., World]) -> None:
    text = (
        "diff is DriveTrain.Differential:\n    locked_up: true\n    enabled: false\n"
        "    drive_shaft: a\n    left_axle_shaft: b\n    right_axle_shaft: c"
    )
    with pytest.warns(WorldWarning, match="not enabled couples nothing"):
        run = run_of(world(SHAFTS, text), 0.5)
    assert [speed(run, "Train/b"), speed(run, "Train/c")] == pytest.approx([0.0, 0.0], abs=1e-9)


def test_a_third_shaft_is_refused(world: Callable[..., World]) -> None:
    text = "clutch is DriveTrain.ManualClutch:\n    connectors: [a.output, b.input, c.input]"
    with pytest.raises(WorldError, match="has 1 or 2 connectors, found 3"):
        world(SHAFTS, text)


def test_a_clutch_slips_at_its_capacity(world: Callable[..., World]) -> None:
    text = (
        "clutch is DriveTrain.ManualClutch:\n    initial_engagement_fraction: 0.5\n    torque_capacity: 2\n"
        "    connectors: [a.output, b.input]"
    )
    run = Simulation(world(SHAFTS, text))
    run.run(0.5)
    assert speed(run, "Train/b") == pytest.approx(0.5 * 0.5 * 2.0, rel=5e-3)
    run.run(2.5)
    assert speed(run, "Train/b") == pytest.approx(2.0, abs=1e-4)


def test_a_brake_takes_a_driven_hinge_to_rest(world: Callable[..., World]) -> None:
    """A motor of 10 N m turns a bar by a shaft; the engaged brake, stronger, holds it."""
    text = (
        "m is DriveTrain.Shaft:\n    inertia.inertia: 0.1\nw is DriveTrain.Shaft:\n    inertia.inertia: 0.1\n"
        "motor is Physics1D.Interactions.RotationalVelocityMotor:\n    connectors: [m.input]\n"
        "    max_effort: 10\n    min_effort: -10\n"
        "brake is DriveTrain.AutomaticBrake:\n    connectors: [m.output, w.input]\n    torque_capacity: 1000\n"
        "    initial_engagement_fraction: 1\n"
        "axle is DriveTrain.HingeActuator:\n    connector_1d: w.output\n    mate_3d: hinge"
    )
    run = Simulation(world(ROTOR, text))
    run.run(0.5)
    assert speed(run, "Rotor/bar") == pytest.approx(1.0, abs=1e-3)
    run.columns["drive_engaged"][:] = 1.0
    run.run(0.5)
    assert abs(speed(run, "Rotor/bar")) < 1e-4


def test_what_has_no_effect_is_named(world: Callable[..., World]) -> None:
    with pytest.warns(WorldWarning, match=r"model\.openplx:14:5: stray: .*LinearSpring has no mate"):
        world(SLIDER, "stray is Physics3D.Interactions.LinearSpring:\n    connectors: [load.foot, load.foot]")
    with pytest.warns(WorldWarning, match=r"guide\.friction: a Physics\.Interactions\.Dissipation\.DryConeFriction of"):
        world(SLIDER, "guide.friction becomes Physics.Interactions.Dissipation.DryConeFriction")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("\n    start: 1\n    end: 0", "end 0 must be above start 1"),
        ("", "start has no value"),
    ],
)
def test_faults_of_interactions(world: Callable[..., World], lines: str, message: str) -> None:
    with pytest.raises(WorldError, match=message):
        world(SLIDER, "r is Physics3D.Interactions.LinearRange:\n    connectors: guide.connectors" + lines)


def test_a_motor_of_an_included_model_runs(tmp_path: Path, world: Callable[..., World]) -> None:
    world(ROTOR, MOTOR + "    target_speed: 1")
    (tmp_path / "shop.yaml").write_text("world: shop\ninclude: [{file: model.openplx, prefix: a}]\n", encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = run_of(load(tmp_path / "shop.yaml"), 0.5)
    assert speed(run, "a/Rotor/bar") == pytest.approx(1.0, abs=1e-5)
    assert np.isfinite(run.snapshot().poses).all()


def test_bodies_of_collision_groups_pass_through_each_other(world: Callable[..., World]) -> None:
    """Two balls dropped on each other: apart they meet, in a disabled pair both fall as far."""
    text = """\
Balls is Physics3D.System:
    low is Physics3D.Bodies.RigidBody:
        kinematics.local_transform.position: {0, 0, 0.5}
        is_dynamic: false
        ball is Physics3D.Geometries.Sphere:
            radius: 0.1
    high is Physics3D.Bodies.RigidBody:
        kinematics.local_transform.position: {0, 0, 0.9}
        ball is Physics3D.Geometries.Sphere:
            radius: 0.1
    ones is Simulation.CollisionGroup:
        bodies: [low]
    others is Simulation.CollisionGroup:
        geometries: [high.ball]
    through is Simulation.DisableCollisionPair:
        group1: ones
        group2: others
"""
    run = run_of(world(text), 0.4)
    assert run.bodies["Balls/high"].pose[2] == pytest.approx(0.9 - 9.81 * 0.4**2 / 2.0, abs=1e-3)
    met = run_of(world(text.partition("    through")[0]), 0.4)
    assert met.bodies["Balls/high"].pose[2] > 0.5


def test_a_distance_takes_its_target(world: Callable[..., World]) -> None:
    """Without gravity, from 0.5 m to 3 m, as it is given; in the end on the line on which it began."""
    text = """\
Rope is Physics3D.System:
    far is Physics3D.Interactions.MateConnector
    load is Physics3D.Bodies.RigidBody:
        inertia.mass: 2
        kinematics.local_transform.position: {0.3, 0, 0.4}
        ball is Physics3D.Geometries.Sphere:
            radius: 0.1
        eye is Physics3D.Interactions.MateConnector
    rope is Physics3D.Interactions.Distance:
        connectors: [far, load.eye]
        initial_distance: 0.5
        target_distance: 3
"""
    made = world(text)
    run = run_of(replace(made, physics=replace(made.physics, gravity=np.zeros(3))), 1.0)
    assert run.bodies["Rope/load"].pose[:3] == pytest.approx([1.8, 0, 2.4], abs=1e-6)


def test_an_adaptive_connector_keeps_a_body_where_it_is_placed(world: Callable[..., World]) -> None:
    """The bar hangs on a pivot that it is placed beside; it swings about it as a compound pendulum does."""
    text = ROTOR.replace("eye is Physics3D.Interactions.Mate", "eye is Physics3D.Interactions.AdaptiveMate").replace(
        "inertia.mass: 2", "inertia.mass: 2\n        kinematics.local_transform.position: {0, 0, -0.5}"
    )
    made = world(text.replace("position: {0.4, 0, 0}", "position: {7, 8, 9}"))
    run = run_of(replace(made, physics=replace(made.physics, gravity=np.array([0.1, 0.0, -9.81]))), 0.4)
    inertia = 2.0 * (1.0**2 + 0.1**2) / 12.0 + 2.0 * 0.5**2
    rate = math.sqrt(2.0 * 9.81 * 0.5 / inertia)
    angle = run.joints["Rotor/bar"].position[0]
    assert angle == pytest.approx(-0.1 / 9.81 * (1.0 - math.cos(rate * 0.4)), abs=1e-5)
    pose = run.bodies["Rotor/bar"].pose[:3]
    assert pose == pytest.approx([-0.5 * math.sin(angle), 0, -0.5 * math.cos(angle)], abs=1e-9)


def test_what_mates_say_in_vain_is_named_once_with_its_place(tmp_path: Path) -> None:
    text = (
        ROTOR
        + """\
        flexibility becomes Physics3D.Interactions.Flexibility.LinearElasticHingeFlexibility
        dissipation.along_main becomes Physics.Interactions.Dissipation.MechanicalDamping:
            damping_constant: 3
        friction becomes Physics.Interactions.Dissipation.DefaultDryFriction
        toughness becomes Physics3D.Interactions.Toughness.HingeThresholdFracture
        force_output.enabled: true
"""
    )
    path = tmp_path / "model.openplx"
    path.write_text(text, encoding="utf-8")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load(path)
    found = sorted(str(one.message).partition("model.openplx:")[2] for one in caught)
    interactions = "Physics.Interactions"
    hinge = "a Physics3D.Interactions.Hinge"
    expected = [
        f"16:9: hinge.friction: a {interactions}.Dissipation.DefaultDryFriction of {hinge} is not simulated; it is "
        "ignored",
        f"13:9: hinge.flexibility: {hinge} is rigid here; its flexibility, a {interactions}.Flexibility.LinearElastic, "
        "is ignored",
        f"14:21: hinge.dissipation.along_main: {hinge} is rigid here; its dissipation, a "
        f"{interactions}.Dissipation.MechanicalDamping, is ignored",
        f"17:9: hinge.toughness: {hinge} is rigid here; its toughness, a {interactions}.Toughness.ThresholdFracture, "
        "is ignored",
        "18:22: Rotor.hinge.force_output.enabled: a Physics3D.Signals.Force3DOutput has no effect here; it is ignored",
    ]
    assert found == sorted(expected)


def test_a_signal_without_an_effect_is_named_and_fails_a_strict_check(
    world: Callable[..., World], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = MOTOR + "motor_input is Physics.Signals.DurationInput:\n    source: motor"
    with pytest.warns(WorldWarning, match="motor_input: a Physics.Signals.DurationInput has no effect here"):
        world(ROTOR, lines)
    file = str(tmp_path / "model.openplx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert main(["check", file]) == 0
    assert main(["check", "--strict", file]) == 2
    assert "motor_input: a Physics.Signals.DurationInput has no effect here" in capsys.readouterr().err


def test_a_vector_in_braces_is_divided(world: Callable[..., World]) -> None:
    model = world(SLIDER.replace("{0, 0, 0.5}", "{0, 0, 1} / 2"))
    assert model.systems[0].bodies[0].connectors[0].position.tolist() == [0.0, 0.0, 0.5]


@pytest.mark.parametrize(("file", "kind"), [("a.png", "an image"), ("a.glb", "a mesh"), ("a.agx", "an archive of AGX")])
def test_imports_of_other_files_are_named(tmp_path: Path, file: str, kind: str) -> None:
    (tmp_path / "w.openplx").write_text(f'import @"{file}" as Thing\nW is Physics3D.System\n', encoding="utf-8")
    with pytest.raises(WorldError, match=f"w.openplx:1:8: import: {file!r} is {kind}"):
        load(tmp_path / "w.openplx")


def test_a_bundle_has_the_name_in_its_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = tmp_path / "bundles" / "PartsBundle"
    bundle.mkdir(parents=True)
    (bundle / "config.openplx").write_text('config is BundleConfig:\n    name: "Parts"\n', encoding="utf-8")
    (bundle / "Crate.openplx").write_text("Crate is Physics3D.System\n", encoding="utf-8")
    monkeypatch.setenv("OPENPLX_BUNDLE_PATH", str(tmp_path / "bundles"))
    (tmp_path / "w.openplx").write_text("W is Parts.Crate\n", encoding="utf-8")
    assert load(tmp_path / "w.openplx").systems[0].name == "W"


def test_a_body_is_a_world_of_its_own(tmp_path: Path) -> None:
    text = "Ball is Physics3D.Bodies.RigidBody:\n    ball is Physics3D.Geometries.Sphere:\n        radius: 0.1\n"
    (tmp_path / "ball.openplx").write_text(text, encoding="utf-8")
    run = run_of(load(tmp_path / "ball.openplx"), 0.5)
    assert run.bodies["Ball/Ball"].pose[2] == pytest.approx(-9.81 * 0.5**2 / 2.0, abs=1e-3)


def test_a_misspelt_type_of_a_known_bundle_is_an_error(world: Callable[..., World]) -> None:
    with pytest.raises(
        WorldError, match=r"no type Physics3D\.Interactions\.LinearSprig; did you mean .*LinearSpring\?"
    ):
        world(SLIDER, "spring is Physics3D.Interactions.LinearSprig:\n    connectors: guide.connectors")


def test_a_range_between_connectors_in_the_other_order_has_the_other_sign(world: Callable[..., World]) -> None:
    stop = "stop is Physics3D.Interactions.LinearRange:\n    connectors: [load.foot, rail]\n    start: 0\n    end: 0.5"
    run = run_of(world(SLIDER, stop), 2.0)
    assert run.bodies["Slider/load"].pose[2] == pytest.approx(-1.0, abs=1e-4)


def test_a_range_without_a_mate_is_reported(world: Callable[..., World]) -> None:
    stop = "stop is Physics3D.Interactions.LinearRange:\n    connectors: [rail, rail]\n    start: 0\n    end: 0.5"
    with pytest.warns(WorldWarning, match=r":14:5: stop: a \S+LinearRange has no mate between its connectors"):
        world(SLIDER, stop)
    with pytest.warns(WorldWarning, match=r":13:5: stop: a \S+LinearRange has no effect on a \S+Hinge"):
        world(ROTOR, stop.replace("[rail, rail]", "hinge.connectors"))


# Takes seconds: make test has springs and motors by their equations.
@pytest.mark.nightly
def test_a_motor_without_a_limit_rests_at_a_hard_range(world: Callable[..., World]) -> None:
    ends = "    connectors: hinge.connectors\n    start: -0.5\n    end: 0.5"
    stop = f"\nstop is Physics3D.Interactions.RotationalRange:\n{ends}"
    for target in (1.0, -2.0):
        run = run_of(world(ROTOR, MOTOR + f"    target_speed: {target}" + stop), 3.0)
        assert run.joints["Rotor/bar"].position[0] == pytest.approx(math.copysign(0.5, target), abs=1e-4)


TRAIN = """\
Train is Physics3D.System:
    first is DriveTrain.Shaft:
        inertia.inertia: 1
    second is DriveTrain.Shaft:
        inertia.inertia: 1
"""


@pytest.mark.parametrize(
    ("gears", "gear", "ratio"), [("forward_gears: [-4]", 1, 4.0), ("reverse_gears: [2, 5]", -2, -5.0)]
)
def test_the_list_of_a_gear_gives_the_sign(world: Callable[..., World], gears: str, gear: int, ratio: float) -> None:
    """OpenPLX, GearBox: only the absolute values of the ratios count."""
    shafts = "    connectors: [first.output, second.input]"
    box = f"box is DriveTrain.GearBox:\n{shafts}\n    {gears}\n    initial_gear: {gear}\n"
    motor = (
        "motor is Physics1D.Interactions.RotationalVelocityMotor:\n    connectors: [first.input]\n    target_speed: 2"
    )
    run = run_of(world(TRAIN, box + motor), 0.5)
    assert speed(run, "Train/first") == pytest.approx(2.0, abs=1e-5)
    assert speed(run, "Train/second") == pytest.approx(2.0 / ratio, abs=1e-5)


def test_a_viscous_gear_slips_in_proportion_to_its_torque(world: Callable[..., World]) -> None:
    """Two inertias J = 1 and a torque T = 1 on one: dw/dt = T / J - 2 v w / J of the slip w."""
    gear = "gear is DriveTrain.ViscousGear:\n    connectors: [first.output, second.input]\n"
    motor = "motor is DriveTrain.TorqueMotor:\n    connectors: [first.input]"
    run = Simulation(world(TRAIN, gear + "    dissipation.viscosity: 0.5\n" + motor))
    run.signals["Train/motor/torque_input"].value = 1.0
    run.run(2.0)
    assert speed(run, "Train/first") - speed(run, "Train/second") == pytest.approx(1.0 - math.exp(-2.0), rel=2e-3)
    rigid = Simulation(world(TRAIN, gear + motor))
    rigid.signals["Train/motor/torque_input"].value = 1.0
    rigid.run(1.0)
    assert speed(rigid, "Train/first") == pytest.approx(speed(rigid, "Train/second"), abs=1e-6)


LOST = [
    ("load.shape:\n    inner is Physics3D.Geometries.Sphere:\n        radius: 1",
     "15:9: Slider.load.shape.inner: has no effect"),
    ("load.note is String: \"x\"", "14:10: Slider.load.note: has no effect here"),
    ("length is Real: 1\nwidth is Real: length", "15:5: Slider.width: has no effect here"),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "expected"), LOST, ids=[expected for _, expected in LOST])
def test_what_a_model_says_without_effect_is_reported(world: Callable[..., World], lines: str, expected: str) -> None:
    with pytest.warns(WorldWarning) as caught:
        world(SLIDER, lines)
    assert [expected in str(each.message) for each in caught].count(True) == 1, [str(each.message) for each in caught]


def test_a_connector_has_the_axis_z_by_default(world: Callable[..., World]) -> None:
    """Physics3D/Interactions/MateConnector.openplx of bundle 0.19: main_axis is Math.Vec3 with z: 1."""
    lines = (
        "a is Physics3D.Interactions.MateConnector\nh is Physics3D.Interactions.Hinge:\n    connectors: [a, load.foot]"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = world(SLIDER, lines)
    (mate,) = (each for each in made.systems[0].mates if each.name == "h")
    (connector,) = (each for each in made.systems[0].connectors if each.name == "a")
    assert mate.connectors[0] == "a"
    assert connector.main_axis.tolist() == [0.0, 0.0, 1.0]


def test_what_expressions_use_is_read(world: Callable[..., World]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        world(SLIDER, "length is Real: 2\nextra is Math.Vec3: {length, 0, 0}\nload.foot.normal: extra")
