"""Build a message package that PyPI does not have, such as tf2_msgs or mavros_msgs."""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from sim_node.cli.arguments import UsageError
from sim_node.cli.commands import command
from sim_node.packages import BUILT, missing_message
from sim_node.world.locate import share

# For packages with many short interfaces: a single file, with each interface below a heading.
_DEFINITIONS, _HEADING = "definitions.txt", "## "
_CMAKE = "CMakeLists.txt"
# The type of a field, if it is a message type without a package name.
_OF_SAME_PACKAGE = re.compile(r"^\s*([A-Z]\w*)(?:\[[^\]]*\])?\s+[a-z]\w*", re.MULTILINE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare PACKAGE and --from."""
    parser.add_argument("package", metavar="PACKAGE", choices=BUILT, help=", ".join(BUILT))
    parser.add_argument(
        "--from",
        dest="folder",
        metavar="DIR",
        type=Path,
        help="take the interfaces that a checkout has: of the package, or of PX4 for px4_msgs",
    )


@command("build", add_arguments)
def run(arguments: argparse.Namespace) -> int:
    """Build the package into this Python's environment, unless it exists already."""
    package, prefix = arguments.package, Path(sys.prefix)
    definitions = interface_texts(package)
    if arguments.folder is not None:
        definitions = of_checkout(definitions, arguments.folder)
    digest = hashlib.sha256("".join(name + text for name, text in sorted(definitions.items())).encode()).hexdigest()
    stamp = prefix / "build" / f"{package}.built"
    if (found := importlib.util.find_spec(package)) is not None:
        # A package of a sourced ROS 2 has no stamp, and is never replaced.
        if not stamp.exists() or stamp.read_text() == digest:
            there = f"{package} is there: {next(iter(found.submodule_search_locations or ['?']))}"
            if arguments.folder is not None and not stamp.exists():
                raise UsageError(f"{there}; --from replaces what sim_node has built only")
            print(there)
            return 0
    elif os.environ.get("ROS_DISTRO"):
        raise UsageError(missing_message(package))
    elif sys.prefix == sys.base_prefix:
        raise UsageError("messages are built into virtual environments only: python3 -m venv DIR")
    started = time.monotonic()
    print(f"building {package}", flush=True)
    stamp.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{package}-", dir=stamp.parent) as work:
        source = Path(work) / "source"
        for name, text in definitions.items():
            path = source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        _compile(source, Path(work) / "build", stamp.with_suffix(".log"))
    stamp.write_text(digest)
    print(f"{package} is built, in {time.monotonic() - started:.0f} s")
    return 0


def interface_texts(package: str) -> dict[str, str]:
    """Return a package's files as rosidl needs them, by name: one file per interface."""
    root = share("sim_node")
    folder = root and root / "interfaces" / package
    if folder is None or not folder.is_dir():
        raise UsageError(f"the definitions of {package} are not installed with sim_node")
    texts = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.is_file() and path.name != "COLCON_IGNORE"
    }
    for block in texts.pop(_DEFINITIONS, "").split(f"\n{_HEADING}")[1:]:
        name, _, text = block.partition("\n")
        texts[f"{name}.{name.partition('/')[0]}"] = text.rstrip("\n") + "\n"
    if _CMAKE not in texts:
        needed = " ".join(re.findall(r"<depend>(\w+)</depend>", texts["package.xml"]))
        template = folder.with_name("CMakeLists.in").read_text(encoding="utf-8")
        texts[_CMAKE] = template.replace("@PACKAGE@", package).replace("@DEPENDENCIES@", needed)
    return texts


def of_checkout(texts: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Replace the interfaces in a package's files by those of a checkout.

    Args:
        texts: The files of the package.
        folder: The checkout, with interfaces anywhere below msg, srv and action, as in PX4.

    Returns:
        The files: the same interfaces, except those missing in the checkout, which are reported, plus the messages that
        the others refer to.

    Raises:
        UsageError: The folder does not exist, or contains none of the interfaces.
    """
    if not folder.is_dir():
        raise UsageError(f"--from {folder}: no such folder")
    kinds = ("msg", "srv", "action")
    theirs = {f"{kind}/{path.name}": path for kind in kinds for path in sorted((folder / kind).rglob(f"*.{kind}"))}
    wanted = [name for name in texts if name.partition("/")[0] in kinds]
    found = {name: text for name, text in texts.items() if name not in wanted}
    if missing := [name for name in wanted if name not in theirs]:
        if len(missing) == len(wanted):
            raise UsageError(
                f"--from {folder}: has no {wanted[0]}; needs a checkout of the package or, for px4_msgs, of PX4"
            )
        print(f"not in {folder}: {', '.join(missing)}")
    waiting = [name for name in wanted if name in theirs]
    while waiting:
        name = waiting.pop()
        found[name] = theirs[name].read_text(encoding="utf-8")
        parts = (f"msg/{kind}.msg" for kind in _OF_SAME_PACKAGE.findall(found[name]))
        waiting += [part for part in parts if part in theirs and part not in found and part not in waiting]
    return found


def _compile(source: Path, build: Path, log: Path) -> None:
    """Configure, build and install a package. Raises UsageError with what is missing or the end of the output."""
    if importlib.util.find_spec("ament_package") is None or (cmake := _cmake()) is None:
        raise UsageError("building messages needs packages of the extra ros: pip install 'sim_node[ros]'")
    if not any(shutil.which(name) for name in (os.environ.get("CXX", "c++"), "g++", "clang++")):
        raise UsageError("building messages needs a C++ compiler; on Debian and Ubuntu: apt install g++")
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        raise UsageError(
            "building messages needs Python's headers; on Debian and Ubuntu: "
            f"apt install python3.{sys.version_info[1]}-dev"
        )
    _point_generators_here()
    environment = {name: value for name, value in os.environ.items() if name not in _OF_OTHERS}
    environment["PATH"] = str(Path(sys.executable).parent) + os.pathsep + os.environ.get("PATH", "")
    options = {
        "CMAKE_INSTALL_PREFIX": sys.prefix,
        "CMAKE_PREFIX_PATH": sys.prefix,
        "Python3_EXECUTABLE": sys.executable,
        "BUILD_TESTING": "OFF",
    }
    configure = ["-S", str(source), "-B", str(build), *(f"-D{name}={value}" for name, value in options.items())]
    with log.open("w+", encoding="utf-8") as output:
        for words in (configure, ["--build", str(build), f"-j{os.cpu_count() or 1}"], ["--install", str(build)]):
            if subprocess.call([cmake, *words], env=environment, stdout=output, stderr=subprocess.STDOUT) != 0:
                output.seek(0)
                sys.stderr.writelines(output.readlines()[-30:])
                raise UsageError(f"the build failed; its output is in {log}")


# Variables of another ROS 2 or Python, whose packages must not be found.
_OF_OTHERS = ("AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH", "PYTHONPATH", "PYTHONHOME")


def _cmake() -> str | None:
    return shutil.which("cmake", path=str(Path(sys.executable).parent)) or shutil.which("cmake")


def _point_generators_here() -> None:
    """Replace the Python and numpy include paths in the wheels' CMake exports, which are those of the build machine."""
    import numpy

    here: Mapping[str, str] = {
        r"/opt/python/[^;\"]*/numpy/_?core/include": numpy.get_include(),
        r"/opt/python/[^;\"/]*/include/python3\.\d+": sysconfig.get_path("include"),
    }
    for path in Path(sys.prefix, "share").rglob("*rosidl_generator_pyExport.cmake"):
        text = path.read_text(encoding="utf-8")
        for pattern, folder in here.items():
            text = re.sub(pattern, folder, text)
        path.unlink()  # may be a hard link into uv's cache
        path.write_text(text, encoding="utf-8")
