"""The reference FMUs of the Modelica Association, which are compiled of a checkout, give the outputs that it publishes.

The environment variable REFERENCE_FMUS_DIR names the checkout of github.com/modelica/Reference-FMUs.
"""

from __future__ import annotations

import csv
import os
import subprocess
from pathlib import Path

import pytest

from sim_node.extensions.fmu import start_fmus
from sim_node.simulation import Simulation

pytest.importorskip("fmpy")
pytestmark = pytest.mark.peers
NAMES = {
    "2.0": ("BouncingBall", "Dahlquist", "Feedthrough", "Resource", "Stair", "VanDerPol"),
    "3.0": ("BouncingBall", "Dahlquist", "Feedthrough", "Resource", "Stair", "StateSpace", "VanDerPol"),
}


@pytest.fixture(scope="session")
def checkout() -> Path:
    folder = os.environ.get("REFERENCE_FMUS_DIR", "")
    if not folder:
        pytest.skip("REFERENCE_FMUS_DIR names no checkout of modelica/Reference-FMUs")
    return Path(folder)


@pytest.fixture(scope="session")
def built(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the folders of the FMUs by the version of FMI."""
    found = {}
    for version in NAMES:
        folder = tmp_path_factory.mktemp(f"fmi{version[0]}")
        options = ["-DWITH_FMUSIM=OFF", f"-DFMI_VERSION={version[0]}"]
        subprocess.run(["cmake", str(checkout), *options], cwd=folder, check=True, capture_output=True)
        subprocess.run(["cmake", "--build", "."], cwd=folder, check=True, capture_output=True)
        found[version] = folder / "fmus"
    return found


@pytest.mark.parametrize(("version", "name"), [(version, name) for version in NAMES for name in NAMES[version]])
def test_a_reference_fmu_gives_its_reference_outputs(
    version: str, name: str, built: dict[str, Path], checkout: Path, tmp_path: Path
) -> None:
    rows = list(csv.DictReader((checkout / name / f"{name}_out.csv").open()))
    times = [float(row["time"]) for row in rows]
    step = round(times[1] - times[0], 9)
    (tmp_path / f"{name}.fmu").write_bytes((built[version] / f"{name}.fmu").read_bytes())
    world = tmp_path / "world.yaml"
    world.write_text(f"world: reference\ntime: {{step: {step}}}\nfmus: {{unit: {{file: {name}.fmu}}}}\n")
    simulation = Simulation(world)
    lines: list[str] = []
    unit = start_fmus(simulation, lines.append)["unit"]
    compared = 0
    for time, row in zip(times, rows, strict=True):
        if time * 1e9 > simulation.time_ns + 0.5e9 * step:
            simulation.step(round(time / step) - round(simulation.time_ns / 1e9 / step))
        for output, text in row.items():
            # Names of outputs of FMI 2 are others, and binaries have no values here.
            if output != "time" and output in unit.values:
                found, wanted = _numbers(unit.values[output]), _numbers(text)
                assert found == (wanted if isinstance(wanted[0], str) else pytest.approx(wanted, rel=1e-9, abs=1e-12))
                compared += 1
    assert compared >= len(rows)
    # The stairs end: that is no failure, and comes with the last outputs.
    assert lines == (
        ["FMU unit asks to end the simulation (at 9 s); the run goes on without it"] if name == "Stair" else []
    )
    simulation.close()


def test_structural_parameters_of_the_state_space_size_its_matrices(built: dict[str, Path], tmp_path: Path) -> None:
    """A double integrator: a state that grows by the other one, which its input moves. It steps by Euler's rule."""
    (tmp_path / "StateSpace.fmu").write_bytes((built["3.0"] / "StateSpace.fmu").read_bytes())
    world = tmp_path / "world.yaml"
    start = "m: 1, n: 2, r: 1, A: [0, 1, 0, 0], B: [0, 1], C: [1, 0], D: [0], x0: [5, 3], u: [0]"
    world.write_text(f"world: w\ntime: {{step: 1}}\nfmus: {{unit: {{file: StateSpace.fmu, start: {{{start}}}}}}}\n")
    simulation = Simulation(world)
    lines: list[str] = []
    unit = start_fmus(simulation, lines.append)["unit"]
    simulation.step(4)
    assert lines == []
    assert unit.values["y"] == pytest.approx([5.0 + 4 * 3.0])
    simulation.close()


def _numbers(value: object) -> list[float | str]:
    """Return the numbers of an output, or of a cell of a table; a text that is none as it is."""
    if isinstance(value, list):
        return [float(each) for each in value]
    words = {"true": 1.0, "false": 0.0}
    text = str(value)
    try:
        return [words.get(each.lower(), each) if each.lower() in words else float(each) for each in text.split()]
    except ValueError:
        return [text]
