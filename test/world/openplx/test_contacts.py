"""What materials of a model do where they touch, and which geometries do not touch at all."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from sim_node.simulation import Simulation
from sim_node.world import ContactMaterial, World, WorldError, WorldWarning, lay_out, load
from sim_node.world.layers import filter_of

# Boxes of 2 kg on a slope of 20 degrees, held by its material; {model} is between theirs and the slope's.
SLOPE = """\
Steel is Physics.Geometries.Material:
    density: 2000
Floor is Physics.Geometries.Material
Slope is Simulation.Environment:
    gravity becomes Simulation.UniformGravitationalField:
        vector: {{3.355218, 0, -9.218385}}
    steel is Steel
    floor is Floor
    ground is Physics3D.Geometries.Box:
        size: {{20, 20, 0.1}}
        local_transform.position: {{0, 0, -0.05}}
        material: floor
    box is Physics3D.Bodies.RigidBody:
        kinematics.local_transform.position: {{0, 0, 0.05}}
        shape is Physics3D.Geometries.Box:
            size: {{0.1, 0.1, 0.1}}
            material: steel
    contact is {model}
"""
G, ANGLE = 9.81, math.radians(20.0)


@pytest.fixture
def slope(tmp_path: Path) -> Callable[..., World]:
    def made(lines: str, model: str = "Physics.Interactions.SurfaceContact.Model") -> World:
        path = tmp_path / "slope.openplx"
        both = "material_1: steel\nmaterial_2: floor\n" + lines
        block = "".join(f"        {line}\n" for line in both.splitlines())
        path.write_text(SLOPE.format(model=f"{model}:\n{block}"), encoding="utf-8")
        return load(path)

    return made


DRY = "friction becomes Physics.Interactions.Dissipation.DryConeFriction:\n    coefficient: {}\n"


@pytest.mark.parametrize("coefficient", [0.1, 0.3])
def test_friction_is_of_a_pair_of_materials(slope: Callable[..., World], coefficient: float) -> None:
    run = Simulation(slope(DRY.format(coefficient)))
    run.run(1.0)
    expected = 0.5 * G * (math.sin(ANGLE) - coefficient * math.cos(ANGLE))
    assert run.bodies["Slope/box"].pose[0] == pytest.approx(expected, rel=0.05)


def test_what_sticks_stays(slope: Callable[..., World]) -> None:
    run = Simulation(slope(DRY.format(0.6)))
    run.run(1.0)
    assert abs(run.bodies["Slope/box"].pose[0]) < 1e-3


ELASTIC = "normal_flexibility becomes Physics.Interactions.SurfaceContact.PointwiseElasticity:\n    stiffness: 2e4\n"


def test_a_stiffness_is_of_each_contact_point(slope: Callable[..., World]) -> None:
    """Four corners carry the component of the weight that is normal to the slope; 2000 kg/m^3 are 2 kg."""
    run = Simulation(slope(DRY.format(1.0) + ELASTIC))
    run.run(1.5)
    assert 0.05 - run.bodies["Slope/box"].pose[2] == pytest.approx(2.0 * G * math.cos(ANGLE) / (4 * 2e4), rel=0.01)


@pytest.mark.parametrize(
    ("dissipation", "damping"),
    [
        ("", 2e4 * 0.075),
        ("MechanicalDamping:\n    damping_constant: 30", 30.0),
        ("ConstraintRelaxationTimeDamping:\n    relaxation_time: 0.01", 200.0),
    ],
)
def test_dissipation_is_a_damping_or_a_relaxation_time(
    slope: Callable[..., World], dissipation: str, damping: float
) -> None:
    line = f"dissipation becomes Physics.Interactions.Dissipation.{dissipation}\n" if dissipation else ""
    (made,) = slope(ELASTIC + line).contact_materials
    assert made == ContactMaterial(("Slope/steel", "Slope/floor"), stiffness=2e4, damping=damping)


def test_two_elastic_materials_are_springs_in_series(tmp_path: Path) -> None:
    text = SLOPE.format(model="Physics3D.Interactions.SurfaceContact.PointwiseElasticityDryFrictionModel:\n        {}")
    text = text.replace("{}", "material_1: steel\n        material_2: floor\n")
    for name, modulus, time in (("Steel", 3e5, 0.02), ("Floor", 6e5, 0.01)):
        plain = f"{name} is Physics.Geometries.Material"
        elastic = f"{name} is Physics.Geometries.LinearElasticMaterial:\n    youngs_modulus: {modulus}\n"
        elastic += "    dissipation becomes Physics.Interactions.Dissipation.ConstraintRelaxationTimeDamping:\n"
        text = text.replace(f"{plain}:\n", elastic + f"        relaxation_time: {time}\n")
        text = text.replace(f"{plain}\n", elastic + f"        relaxation_time: {time}\n")
    path = tmp_path / "slope.openplx"
    path.write_text(text, encoding="utf-8")
    (made,) = load(path).contact_materials
    assert made.stiffness == pytest.approx(2e5)
    assert made.damping == pytest.approx(2e5 * 0.02)
    assert made.sliding == 0.1


def test_restitution_bounces(slope: Callable[..., World]) -> None:
    world = slope(DRY.format(0.0) + "normal_restitution: 0.5\n")
    run = Simulation(world)
    run.bodies["Slope/box"].twist = (0.0, 0.0, -2.0, 0.0, 0.0, 0.0)
    fastest = 0.0
    for _ in range(12):
        run.step()
        fastest = max(fastest, float(run.bodies["Slope/box"].twist[2]))
    assert fastest == pytest.approx(1.0, abs=0.06)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("tangential_restitution: 0.1", "contacts have no tangential_restitution; it is ignored"),
        ("normal_restitution: 1", "normal_restitution 1 becomes 0.95, the largest that is simulated"),
        (
            "friction becomes Physics.Interactions.Dissipation.DryBoxFriction",
            "DryBoxFriction of a contact is not simulated; the default friction applies",
        ),
        (
            "friction becomes Physics.Interactions.Dissipation.DryScaleBoxFriction",
            "DryScaleBoxFriction is a cone of friction here, the same in all directions",
        ),
        (
            "adhesion becomes Physics.Interactions.Adhesion.ConstantForceAdhesion:\n    force: 3",
            "a Physics.Interactions.Adhesion.ConstantForceAdhesion of a contact is not simulated",
        ),
        (
            "normal_flexibility becomes Physics.Interactions.SurfaceContact.PatchElasticity:\n    stiffness: 1e5",
            "gives its stiffness to each contact point, as a PointwiseElasticity",
        ),
        (
            "friction becomes Physics.Interactions.Dissipation.DefaultDryFriction with "
            "Physics3D.Interactions.SurfaceContact.Traits.OrientedFriction",
            "OrientedFriction is ignored; friction is the same in all directions",
        ),
    ],
)
def test_what_mujoco_cannot_say_is_named_once(slope: Callable[..., World], lines: str, message: str) -> None:
    with pytest.warns(WorldWarning) as noted:
        slope(lines)
    (found,) = [str(each.message) for each in noted]
    place = "21:9: contact.adhesion: " if "adhesion" in lines else "18:5: contact: "
    assert f"slope.openplx:{place}" in found
    assert message in found


def test_faults_of_models(slope: Callable[..., World]) -> None:
    with pytest.raises(WorldError, match=r"contact\.normal_restitution: 1\.5 is out of range; allowed: 0 to 1"):
        slope("normal_restitution: 1.5")
    second = (
        "    again is Physics.Interactions.SurfaceContact.Model:\n        material_1: floor\n        material_2: steel"
    )
    path = slope("").source
    text = Path(path).read_text(encoding="utf-8")
    Path(path).write_text(text + second, encoding="utf-8")
    with pytest.raises(WorldError, match="a second contact model of Slope/floor and Slope/steel; the first is at"):
        load(Path(path))


def test_a_model_that_is_not_enabled_is_none(slope: Callable[..., World]) -> None:
    assert slope("enabled: false\nnormal_restitution: 0.5").contact_materials == ()


GROUPS = """\
Ball is Physics3D.Bodies.RigidBody:
    shape is Physics3D.Geometries.Sphere:
        radius: 0.1
Two is Ball:
    other is Physics3D.Geometries.Sphere:
        radius: 0.1
        local_transform.position.x: 1
Scene is Physics3D.System:
{balls}
    first is Simulation.CollisionGroup:
        {first}
    second is Simulation.CollisionGroup:
        {second}
    apart is Simulation.DisableCollisionPair:
        group1: first
        group2: second
"""


def scene(tmp_path: Path, balls: int, first: str, second: str) -> World:
    lines = "\n".join(f"    b{k} is Two:\n        kinematics.local_transform.position.z: {k}" for k in range(balls))
    path = tmp_path / "scene.openplx"
    path.write_text(GROUPS.format(balls=lines, first=first, second=second), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return load(path)


def meet(world: World, one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Return whether two geometries, by the indices of body and geometry, may touch."""
    bodies = world.systems[0].bodies
    names = {f"Scene/b{one[0]}", f"Scene/b{other[0]}"}
    filters = [filter_of(bodies[b].geometries[g].geometry.surface) for b, g in (one, other)]
    return filters[0].meets(filters[1]) and not any(names == set(pair) for pair in world.contact_exclusions)


def test_groups_of_bodies_become_exclusions(tmp_path: Path) -> None:
    world = scene(tmp_path, 3, "bodies: [b0]", "bodies: [b1]")
    assert not meet(world, (0, 0), (1, 1))
    assert meet(world, (0, 0), (2, 0))
    assert world.contact_exclusions == (("Scene/b0", "Scene/b1"),)


def test_groups_of_single_geometries_become_layers(tmp_path: Path) -> None:
    world = scene(tmp_path, 3, "geometries: [b0.shape, b2.shape]", "geometries: [b1.shape, b1.other]")
    assert not meet(world, (0, 0), (1, 0))
    assert not meet(world, (2, 0), (1, 1))
    assert meet(world, (0, 1), (1, 0))
    assert meet(world, (0, 0), (2, 0))
    lay_out(Simulation(world).world)


def test_a_group_is_kept_apart_from_itself(tmp_path: Path) -> None:
    world = scene(tmp_path, 3, "geometries: [b0.shape, b1.shape]", "bodies: []")
    text = (tmp_path / "scene.openplx").read_text(encoding="utf-8").replace("group2: second", "group2: first")
    (tmp_path / "scene.openplx").write_text(text, encoding="utf-8")
    assert meet(world, (0, 0), (1, 0))
    world = load(tmp_path / "scene.openplx")
    assert not meet(world, (0, 0), (1, 0))
    assert meet(world, (0, 1), (1, 0))


def test_large_groups_become_layers(tmp_path: Path) -> None:
    """40 bodies and 40 others are 1600 pairs, and two layers."""
    bodies = [", ".join(f"b{k}" for k in range(*part)) for part in ((0, 40), (40, 80))]
    world = scene(tmp_path, 80, f"bodies: [{bodies[0]}]", f"bodies: [{bodies[1]}]")
    assert world.contact_exclusions == ()
    assert not meet(world, (3, 0), (77, 1))
    assert meet(world, (3, 0), (4, 1))


def test_more_groups_than_mujoco_has_bits_are_refused(tmp_path: Path) -> None:
    """Each of 32 pairs of single geometries needs bits of its own."""
    scene(tmp_path, 64, "geometries: [b0.shape]", "geometries: [b1.shape]")
    path = tmp_path / "scene.openplx"
    text = path.read_text(encoding="utf-8")
    for k in range(1, 32):
        for n in (2 * k, 2 * k + 1):
            text += f"    g{n} is Simulation.CollisionGroup:\n        geometries: [b{n}.shape]\n"
        text += (
            f"    p{k} is Simulation.DisableCollisionPair:\n        group1: g{2 * k}\n        group2: g{2 * k + 1}\n"
        )
    path.write_text(text, encoding="utf-8")
    with pytest.raises(WorldError, match="groups of shapes that touch different layers; allowed: 31"):
        Simulation(load(path))


def test_a_geometry_without_collisions_makes_no_contact(tmp_path: Path) -> None:
    path = tmp_path / "scene.openplx"
    path.write_text(
        "Scene is Physics3D.System:\n    floor is Physics3D.Geometries.Box:\n        size: {1, 1, 0.1}\n"
        "        enable_collisions: false\n"
        "    ball is Physics3D.Bodies.RigidBody:\n        kinematics.local_transform.position.z: 0.2\n"
        "        shape is Physics3D.Geometries.Sphere:\n            radius: 0.1\n",
        encoding="utf-8",
    )
    run = Simulation(load(path))
    run.run(1.0)
    assert run.bodies["Scene/ball"].pose[2] == pytest.approx(0.2 - 0.5 * G, abs=1e-6)
