"""Builds the FMU of drifter.c, for FMI 2 or 3."""

from __future__ import annotations

import platform
import shutil
import subprocess
import tempfile
import zipfile
from functools import cache
from pathlib import Path

import pytest

VARIABLES = {
    **dict.fromkeys(("speed", "turn"), "parameter"),
    "input": "input",
    "sum": "output",
    **{f"vehicle_state.state.pose.position.{x}": "output" for x in "xyz"},
    **{f"vehicle_state.state.pose.orientation.{x}": "output" for x in "xyzw"},
    **dict.fromkeys(("crash_at", "fail_at", "hang_at"), "parameter"),
}
POSE = {
    number: f"vehicle_state.state.pose.{part}"
    for number, part in zip(
        ("x", "y", "z", "qx", "qy", "qz", "qw"),
        (*(f"position.{x}" for x in "xyz"), *(f"orientation.{x}" for x in "xyzw")),
        strict=True,
    )
}


def described(version: str, *, saves: bool = True, variables: dict[str, str] | None = None) -> str:
    """Return the description of an FMU whose variables are numbers."""
    listed = []
    for reference, (name, causality) in enumerate((VARIABLES if variables is None else variables).items()):
        own = f'name="{name}" valueReference="{reference}" causality="{causality}"'
        start = ' start="0"' if causality in ("parameter", "input") else ""
        fixed = ' variability="tunable"' if causality == "parameter" else ""
        number = f"<Real{start}/></ScalarVariable>"
        listed.append(
            f"<ScalarVariable {own}{fixed}>{number}" if version == "2.0" else f"<Float64 {own}{fixed}{start}/>"
        )
    if version == "3.0" and variables is None:
        length, count = len(VARIABLES), 'causality="structuralParameter" variability="fixed" start="2"'
        listed.append(f'<UInt64 name="length" valueReference="{length}" {count}/>')
        line = f'name="line" valueReference="{length + 1}" causality="output"'
        listed.append(f'<Float64 {line}><Dimension valueReference="{length}"/></Float64>')
    if version == "3.0":
        listed.append('<Float64 name="time" valueReference="99" causality="independent" variability="continuous"/>')
    state, flag = "FMUstate" if version == "2.0" else "FMUState", str(saves).lower()
    token = "guid" if version == "2.0" else "instantiationToken"
    return (
        f'<fmiModelDescription fmiVersion="{version}" modelName="drifter" {token}="drifter">'
        f'<CoSimulation modelIdentifier="drifter" canGetAndSet{state}="{flag}" canSerialize{state}="{flag}"/>'
        f"<ModelVariables>{''.join(listed)}</ModelVariables><ModelStructure/></fmiModelDescription>"
    )


def build(folder: Path, version: str = "2.0", *, saves: bool = True, name: str = "drifter.fmu") -> Path:
    """Write the FMU into a folder, or skip the test where nothing compiles C."""
    system = {"2.0": "linux64", "3.0": f"{platform.machine()}-linux"}[version]
    with zipfile.ZipFile(folder / name, "w") as archive:
        archive.writestr("modelDescription.xml", described(version, saves=saves))
        archive.writestr(f"binaries/{system}/drifter.so", _library(version))
    return folder / name


@cache
def _library(version: str) -> bytes:
    """Compile the library."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    source = Path(__file__).with_name("drifter.c")
    flags = ["-DFMI3"] if version == "3.0" else []
    with tempfile.TemporaryDirectory() as folder:
        library, rest = Path(folder, "drifter.so"), Path(folder, "rest.c")
        functions = _functions(version, source.read_text())
        rest.write_text("".join(f"int {name}(void) {{ return 3; }}\n" for name in functions))
        subprocess.run([compiler, "-shared", "-fPIC", *flags, "-o", library, source, rest, "-lm"], check=True)
        return library.read_bytes()


def _functions(version: str, source: str) -> list[str]:
    """Return the functions that FMPy looks for in every FMU, and that this one leaves out."""
    from fmpy.fmi2 import FMU2Slave
    from fmpy.fmi3 import FMU3Slave

    start, kind = ("fmi2", FMU2Slave) if version == "2.0" else ("fmi3", FMU3Slave)
    return [
        name for name in dir(kind) if name.startswith(start) and f" {name}(" not in source and f"*{name}(" not in source
    ]
