"""Examples of Elodin 0.16.2 run here with their import lines changed alone, and give the numbers of Elodin itself.

They need Elodin, which `make test-peers` sets up, and its repository at the tag v0.16.2: set ELODIN_DIR to a checkout.
Campaigns are those of a later version, with controllers in Rust: set ELODIN_CAMPAIGNS_DIR to a checkout of 0.20.
"""

from __future__ import annotations

import ast
import functools
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from strangers import environment_of

import sim_node.extensions.elodin as el
from sim_node.extensions.elodin.egm08 import C_FILE, S_FILE, SHIPPED
from sim_node.viewing.schematic import read_schematic

pytestmark = pytest.mark.peers
SCRIPT = Path(__file__).with_name("run_of_elodin.py")
COMPAT = "sim_node.extensions.elodin.compat"
TICKS = 1000
# Relative to the range of a component; what is zero but for rounding, such as a slip angle, is zero.
TOLERANCE, ROUNDING = 1e-9, 1e-12
# For so many ticks the runs are equal. When the reaction wheels of cube-sat-pysim leave their limit, at tick 81, they
# stick and slip at its long step: rounding, first of the pseudo-inverse in its filter, grows tenfold every 6 ticks. Two
# runs of Elodin itself whose first spins differ in the last bit are 1e-9 apart at tick 112, ours and Elodin's at 111.
EXAMPLES = {
    "ball": TICKS,
    "three-body": TICKS,
    "drone": TICKS,
    "rocket": TICKS,
    "rc-jet": TICKS,
    "ellipsoid": TICKS,
    "cube-sat": TICKS,
    "cube-sat-pysim": 100,
    "sensor-camera": TICKS,
    "rocket-barrowman": TICKS,
}


@pytest.fixture(scope="module")
def examples() -> Path:
    folder = os.environ.get("ELODIN_DIR", "")
    if not folder:
        pytest.skip("set ELODIN_DIR to a checkout of Elodin's repository at the tag v0.16.2")
    return Path(folder) / "examples"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """With a cache that has coefficients of gravity: neither program downloads any."""
    cache = tmp_path / "cache" / "elodin-cli"
    cache.mkdir(parents=True)
    with np.load(SHIPPED) as shipped:
        np.save(cache / C_FILE, shipped["c"])
        np.save(cache / S_FILE, shipped["s"])
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return {**own, "XDG_CACHE_HOME": str(tmp_path / "cache"), "MPLBACKEND": "agg"}


def copied(example: Path, to: Path, module: str) -> str:
    """Copy an example, with its import lines changed alone. Return its main file."""
    shutil.copytree(example, to)
    for file in to.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        changed = re.sub(r"^(\s*)(import|from) elodin(\.elodin)?\b", rf"\1\2 {module}", text, flags=re.MULTILINE)
        file.write_text(changed, encoding="utf-8")
    return str(to / "main.py")


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_gives_elodins_numbers(
    name: str, examples: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    """Its run, and one tick from each of the states of Elodin's run."""
    python = environment_of("elodin")
    # The folder's name says which example it is.
    shutil.copytree(examples / name, tmp_path / "theirs" / name)
    example = str(tmp_path / "theirs" / name / "main.py")
    changed = copied(examples / name, tmp_path / "ours" / name, COMPAT)
    theirs, ours = tmp_path / "theirs.npz", tmp_path / "ours.npz"
    for command in (
        [str(python), str(SCRIPT), "elodin", example, str(TICKS), str(theirs)],
        [sys.executable, str(SCRIPT), COMPAT, changed, str(TICKS), str(ours), str(theirs)],
    ):
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    with np.load(theirs) as expected, np.load(ours) as found:
        # What is not of numbers is the same by itself: edges name entities, which Elodin counts from 0.
        compared = [each for each in expected.files if expected[each].dtype.kind == "f"]
        assert compared
        for component in compared:
            last = EXAMPLES[name] + 1
            _equal(found[component][:last], expected[component][:last], f"{component}, run")
            _equal(found[f"one/{component}"], expected[component][1:], f"{component}, one tick")


def _equal(found: Any, expected: Any, what: str) -> None:
    scale = np.nanmax(np.abs(expected), initial=0.0)
    np.testing.assert_allclose(
        found, expected, rtol=0, atol=max(TOLERANCE * scale, ROUNDING), err_msg=what, equal_nan=True
    )


def test_every_name_that_elodins_examples_use_is_there(examples: Path) -> None:
    """`el.NAME`, and what of it is named in turn: of both versions of the repository that are there."""
    later = os.environ.get("ELODIN_CAMPAIGNS_DIR", "")
    names = set()
    for folder in (examples, *([Path(later, "examples")] if later else [])):
        for file in folder.rglob("*.py"):
            text = file.read_text(encoding="utf-8")
            tree = ast.walk(ast.parse(text)) if "import elodin as el" in text else ()
            written = {ast.unparse(node) for node in tree if isinstance(node, ast.Attribute)}
            names |= {each for each in written if re.fullmatch(r"el(\.\w+)+", each)}
    assert len(names) > 50
    for name in sorted(names):
        functools.reduce(getattr, name.split(".")[1:], el)  # an AttributeError says which one is not


# Of Elodin's stubs: what its own modules are made of, and a server of its database.
INSIDE = {*["SystemBuilder", "QueryInner", "GraphQueryInner", "PyFnSystem", "Impeller", "_S10Module"]}
INSIDE |= {*["flatten", "unflatten", "to_json", "serve", "to_jax_func", "__matmul__"]}


def of_stubs(file: Path) -> Iterator[tuple[list[str], ast.FunctionDef]]:
    """Functions and methods, with their names in this package."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        owner = re.sub("^S10", "s10.", re.sub("^MonteCarlo", "monte_carlo.", getattr(node, "name", ""))).split(".")
        for each in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(each, ast.FunctionDef) and "property" not in map(ast.unparse, each.decorator_list):
                yield owner if each is node else [*owner, each.name], each


def test_every_argument_that_elodins_stubs_name_is_taken(examples: Path) -> None:
    """By its name: of both versions of the repository that are there."""
    later = os.environ.get("ELODIN_CAMPAIGNS_DIR", "")
    folders = [examples.parent, *([Path(later)] if later else [])]
    stubs = [each for of in folders for each in of_stubs(of / "libs/nox-py/python/elodin/elodin.pyi")]
    known = [(names, stub) for names, stub in stubs if not INSIDE & {*names}]
    assert len(known) > 80
    for names, stub in known:
        ours: Any = functools.reduce(getattr, names, el)
        taken = inspect.signature(ours).parameters
        more = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in taken.values())
        assert more or {each.arg for each in stub.args.args} - {"self"} <= {*taken}, names


def test_every_schematic_of_elodins_repository_is_read(examples: Path) -> None:
    """Nothing that its editor takes is refused: of both versions of the repository that are there."""
    later = os.environ.get("ELODIN_CAMPAIGNS_DIR", "")
    files = [file for folder in (examples, *([Path(later)] if later else [])) for file in sorted(folder.rglob("*.kdl"))]
    assert files
    for file in files:
        text = file.read_text(encoding="utf-8")
        found = read_schematic(text, str(file))
        words = re.findall(r"^\s*(graph|viewport|component_monitor|query_plot|query_table)\b", text, re.MULTILINE)
        monitors = [each for each in found.data_panels() if each.kind == "component_monitor"]
        assert len(words) == len(found.viewports()) + len(found.graphs()) + len(monitors), file
        # A model whose file is not there is said, and not drawn.
        drawn, lines = len(found.objects), re.findall(r"^\s*object_3d\b", text, re.MULTILINE)
        assert len(lines) - len([each for each in found.notes if ".glb" in each]) <= drawn <= len(lines), file


# Of the later version, those that an import line alone does not make a world in short time, and why.
ELSEWHERE = {
    "betaflight-sitl": "the firmware, built",
    "cube-sat-pysim": "no run of World.run: it steps by itself, with World.to_jax",
    "db-client": "elodin.db",
    "frames": "no run of World.run: it checks Frame by itself",
    "rocket-barrowman": "minutes, for a whole flight before it makes its world",
    "voyager": "spiceypy, and kernels of NAIF",
}


def test_every_example_of_a_later_version_is_a_world(tmp_path: Path) -> None:
    """With its schematic, and with its import lines changed alone."""
    folder = os.environ.get("ELODIN_CAMPAIGNS_DIR", "")
    if not folder:
        pytest.skip("set ELODIN_CAMPAIGNS_DIR to a checkout of a later version of Elodin's repository")
    shutil.copytree(Path(folder, "assets"), tmp_path / "assets")
    names = sorted(each.name for each in Path(folder, "examples").iterdir() if (each / "main.py").exists())
    assert len(names) > 20
    for name in sorted({*names} - {*ELSEWHERE}):
        copied(Path(folder, "examples", name), tmp_path / "examples" / name, "sim_node.extensions.elodin")
        done = subprocess.run(
            [sys.executable, "-m", "sim_node.cli.main", "check", f"examples/{name}/main.py"],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr


# Runs a script for as many ticks as are given after it.
BOUNDED = """
import os, runpy, sys
import sim_node.extensions.elodin as el

script, ticks = sys.argv[1], int(sys.argv[2])
run, sys.argv = el.World.run, [script, "run", "--no-s10"]
el.World.run = lambda *given, **more: run(*given, **{**more, "max_ticks": ticks, "interactive": False})
sys.path.insert(0, os.path.dirname(script))
runpy.run_path(script, run_name="__main__")
print("ran")
"""


def test_every_example_of_a_later_version_runs_for_some_ticks(tmp_path: Path) -> None:
    """With its import lines changed alone, and without the programs beside it."""
    folder = os.environ.get("ELODIN_CAMPAIGNS_DIR", "")
    if not folder:
        pytest.skip("set ELODIN_CAMPAIGNS_DIR to a checkout of a later version of Elodin's repository")
    shutil.copytree(Path(folder, "assets"), tmp_path / "assets")
    names = {each.name for each in Path(folder, "examples").iterdir() if (each / "main.py").exists()}
    for name in sorted(names - {*ELSEWHERE}):
        script = copied(Path(folder, "examples", name), tmp_path / "examples" / name, "sim_node.extensions.elodin")
        done = subprocess.run(
            [sys.executable, "-c", BOUNDED, script, "50"],
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path), "MPLBACKEND": "agg"},
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert done.stdout.endswith("ran\n"), name + done.stdout + done.stderr


@pytest.mark.parametrize("name", ["cube-sat", "cube-sat-pysim", "sensor-camera", "rocket-barrowman"])
def test_an_example_runs_to_its_end_with_its_import_lines_changed(name: str, examples: Path, tmp_path: Path) -> None:
    """All of it, with what is in this package alone: coefficients of gravity, and pictures."""
    script = copied(examples / name, tmp_path / "examples" / name, "sim_node.extensions.elodin")
    shutil.copytree(examples.parent / "assets", tmp_path / "assets")
    more = {"ELODIN_SENSOR_CAMERA_MAX_TICKS": "240", "XDG_CACHE_HOME": str(tmp_path), "MPLBACKEND": "agg"}
    done = subprocess.run(
        [sys.executable, script],
        env={**os.environ, **more},
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


# Of campaigns: the file, the variables of the specification where they are not Elodin's, and the environment. Cut short
# as in Elodin's own CI; falcon9 is over sooner with more thrust and an earlier turn.
CAMPAIGNS = {
    "monte-carlo": ("campaign.toml", {"mass": 1.0, "target_x": 20.0, "thrust_gain": 1.0, "wind": 0.0}, {}),
    "apollo-lander": ("campaign.ci.toml", {}, {"ELODIN_APOLLO_MAX_TICKS": "600"}),
    "falcon9": (
        "campaign.ci.toml",
        {"thrust_scale": 2.5, "kick_start_s": 5.0, "kick_ramp_s": 2.0},
        {"ELODIN_FALCON9_MAX_TICKS": "8500"},
    ),
}


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_a_campaign_of_a_later_version_runs_with_its_import_lines_changed(name: str, tmp_path: Path) -> None:
    """One run, whose hooks score it: two programs, which talk by ports of the run."""
    campaign, variables, more = CAMPAIGNS[name]
    folder = os.environ.get("ELODIN_CAMPAIGNS_DIR", "")
    if not folder or (campaign != "campaign.toml" and shutil.which("cargo") is None):
        pytest.skip("set ELODIN_CAMPAIGNS_DIR to a checkout of Elodin's repository; cargo is needed, too")
    # Its files name each other from the folder of the repository.
    example = f"examples/{name}"
    copied(Path(folder) / example, tmp_path / example, "sim_node.extensions.elodin")
    shutil.copytree(Path(folder) / "assets", tmp_path / "assets")
    if variables:
        fixed = "".join(f'{each} = {{ dist = "fixed", value = {value} }}\n' for each, value in variables.items())
        text = f"[monte_carlo]\nn_samples = 1\n[monte_carlo.variables]\n{fixed}"
        (tmp_path / example / "spec.ci.toml").write_text(text)
    given = ["--campaign", f"{example}/{campaign}", "--spec", f"{example}/spec.ci.toml", "--output", "out"]
    done = subprocess.run(
        [sys.executable, "-m", "sim_node.cli.main", "sweep", f"{example}/main.py", *given, "--workers", "1"],
        env={**os.environ, **more},
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert (summary["total_runs"], summary["passed"]) == (1, 1), done.stdout + done.stderr
