"""Installing the package in the ways that users do, each from a copy of the sources."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from waiting import PATIENCE

ROOT = Path(__file__).parents[2]
SOURCES = (
    "package.xml", "setup.py", "setup.cfg", "pyproject.toml", "README.md",
    "resource", "launch", "config", "scripts", "interfaces", "sim_node", "test",
)  # fmt: skip
WAYS = ("colcon", "colcon --symlink-install", "pip")


@dataclass(frozen=True)
class Installation:
    """Where it is, the folder that its modules must come from, its Python, and the environment that goes with it."""

    prefix: Path
    modules: Path
    python: Path
    environment: dict[str, str]

    @property
    def share(self) -> Path:
        return self.prefix / "share" / "sim_node"

    @property
    def node(self) -> Path:
        return self.prefix / "lib" / "sim_node" / "simulation"


def copy_sources(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / name, folder / name)
    return folder


def install(way: str, folder: Path) -> Installation:
    return install_with_pip(folder) if way == "pip" else install_with_colcon(folder, way.split()[1:])


def install_with_colcon(workspace: Path, options: list[str]) -> Installation:
    """`colcon build` in a workspace; the environment is what its setup.sh makes."""
    copy_sources(workspace / "src" / "sim_node")
    run([venv_command("colcon"), "build", "--packages-select", "sim_node", *options], cwd=workspace, env=own_path())
    made = run(["sh", "-c", ". install/setup.sh && exec env -0"], cwd=workspace, env=own_path())
    environment = dict(line.split("=", 1) for line in made.split("\0") if line)
    modules = workspace / ("build" if options else "install") / "sim_node"
    return Installation(workspace / "install" / "sim_node", modules, Path(sys.executable), environment)


def install_with_pip(folder: Path) -> Installation:
    """`pip install` into a fresh venv. What sim_node depends on is borrowed from the venv of the tests."""
    venv.create(folder / "venv", symlinks=True)
    python = folder / "venv" / "bin" / "python"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    modules = folder / "venv" / "lib" / version / "site-packages"
    borrowed = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    (modules / "borrowed.pth").write_text("\n".join(borrowed) + "\n", encoding="utf-8")
    sources = copy_sources(folder / "sources")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-qq", "--no-deps", "--no-build-isolation"]
    run([*pip, sources], cwd=folder, env=own_path())
    prefixes = [str(folder / "venv"), os.environ.get("AMENT_PREFIX_PATH", "")]
    environment = {
        **own_path(),
        "PATH": os.pathsep.join([str(python.parent), os.environ["PATH"]]),
        "AMENT_PREFIX_PATH": os.pathsep.join(filter(None, prefixes)),
    }
    return Installation(folder / "venv", modules, python, environment)


def clone_environment(made: Path, folder: Path) -> Path:
    """Copy a virtual environment by hard links: pip and Python replace files, so neither changes the other's."""
    shutil.copytree(made, folder, symlinks=True, copy_function=os.link)
    for path in (folder / "bin").iterdir():
        # Scripts name the Python that runs them.
        if not path.is_symlink() and path.is_file() and os.fsencode(made) in (content := path.read_bytes()):
            mode = path.stat().st_mode
            path.unlink()
            path.write_bytes(content.replace(os.fsencode(made), os.fsencode(folder)))
            path.chmod(mode)
    return folder


def own_path() -> dict[str, str]:
    """This environment, with the programs of the tests' venv first on PATH."""
    return {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}


def venv_command(name: str) -> Path:
    return Path(sys.executable).parent / name


def run(words: Sequence[str | Path], *, cwd: Path, env: dict[str, str] | None = None) -> str:
    """What a program prints; its whole output is the failure where it fails."""
    ran = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ran.returncode == 0, f"{words}\n{ran.stdout}"
    return ran.stdout
