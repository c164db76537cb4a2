"""What `import sim_node.extensions.elodin as el` gives, and what it costs."""

from __future__ import annotations

import os
import subprocess
import sys
import types

import pytest
from nightly import only

import sim_node.extensions.elodin as el

X64 = "JAX_ENABLE_X64"
# Everything that the Elodin Python API documents, except panels.
DOCUMENTED = """
World EntityId StepContext Mesh Material Shape Scene six_dof Integrator Body WorldPos WorldVel Inertia Force WorldAccel
Component ComponentType Edge Archetype system map map_seq Query GraphQuery PrimitiveType Quaternion SpatialTransform
SpatialMotion SpatialForce SpatialInertia Annotated dataclass System
"""
# And what the installed package has besides.
INSTALLED = (
    "WorldBuilder RevEdge TotalEdge Seed SimulationTick SimulationTimeStep C skew ukf s10 Camera Exec jax ShapeIndexer"
)


def test_every_name_is_there() -> None:
    assert {*DOCUMENTED.split(), *INSTALLED.split()} <= set(vars(el)["__all__"])
    for name in vars(el)["__all__"]:
        assert getattr(el, name) is not None
        assert name in dir(el)


def test_public_modules_are_modules() -> None:
    for name in ("s10", "ukf"):
        assert isinstance(getattr(el, name), types.ModuleType)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Wrld"):
        el.Wrld  # type: ignore[attr-defined]  # noqa: B018


# Takes seconds: make test has worlds that do not import jax in test_python_files.py.
@pytest.mark.nightly
def test_importing_the_package_imports_neither_jax_nor_what_runs_worlds() -> None:
    code = """
import sys
import sim_node.extensions.elodin as el
el.dataclass, el.Annotated
print([name for name in ("jax", "numpy", "polars", "mujoco", "sim_node.session") if name in sys.modules])
el.World
runs = ("polars", "mujoco", "sim_node.session.session", "sim_node.simulation.loop")
print([name for name in runs if name in sys.modules])
"""
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n[]\n"


# Takes seconds: make test has what the package imports.
@pytest.mark.nightly
@pytest.mark.parametrize(
    ("imports", "expected"),
    only(
        [
            ("import sim_node.extensions.elodin as el\nimport jax.numpy as jnp", "float64"),
            ("import jax.numpy as jnp\nimport sim_node.extensions.elodin as el", "float64"),
            # The package imports it for any world: others' JAX stays as it is, until a script runs.
            (
                "import jax.numpy as jnp\nexec('import sim_node.extensions.elodin.engine', {'__name__': 'sim_node.x'})",
                "float32",
            ),
        ],
        1,
    ),
)
def test_scripts_compute_with_doubles_from_their_first_line_on(imports: str, expected: str) -> None:
    code = (
        f"{imports}\nprint(jnp.ones(2).dtype)\n"
        f"import os, sim_node.extensions.elodin.jax_setup\nprint(os.environ.get('{X64}'))"
    )
    environment = {name: value for name, value in os.environ.items() if name != X64}
    found = subprocess.check_output([sys.executable, "-c", code], text=True, env=environment)
    assert found == f"{expected}\nNone\n"
