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
EXTRAS: "dict[str, list[str]]" = {
    # Colours of the command, and completion in shells.
    "terminal": ["termcolor>=2.4", "shtab>=1.7"],
    # The real rclpy for machines without ROS 2; tf2_msgs has no wheel: `make setup` builds it.
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
    ],
    # All types of OpenPLX models, as files, for OPENPLX_BUNDLE_PATH.
    "openplx": ["openplx-bundles>=0.19"],
    # The World Magnetic Model, for magnetometers.
    "magnetometer": ["pygeomag>=1.1"],
    # Rigid bodies: what worlds with `bodies` and x_xy models move by; COLLADA meshes of URDF models.
    "physics": ["mujoco>=3.3,!=4.0.0", "pycollada>=0.8"],
    # MAVLink: what `sim_node bridge` talks to autopilots with.
    "autopilot": ["pymavlink>=2.4.41", "fastcrc>=0.3", "pyserial>=3.5"],
    # Bags need no extra any more: their packages are small, and everything records.
    "recording": [],
    # Bags as Parquet.
    "export": ["pyarrow>=14"],
    # The browser viewer, plots, films.
    "view": ["viser>=1.0", "msgspec>=0.18", "trimesh>=4", "pillow>=10.1", "matplotlib>=3.8", "av>=12"],
    # Runs and bags in Foxglove.
    "foxglove": ["foxglove-sdk>=0.14", "pillow>=10.1", "trimesh>=4"],
    # Bags as recordings of Rerun.
    "rerun": ["rerun-sdk>=0.23", "pillow>=10.1", "trimesh>=4"],
    # Worlds in Python.
    "ecs": ["jax>=0.6.2", "polars>=1", "typing_extensions; python_version < '3.11'"],
    # Environments for learning, and datasets.
    "gym": ["gymnasium>=1.0", "polars>=1"],
    # Tools for AI assistants.
    "mcp": ["mcp>=2.3"],
    # Sweeps: their results as Parquet; and on clusters.
    "sweep": ["polars>=1"],
    "ray": ["ray>=2.40", "polars>=1"],
    # Heights above mean sea level without a geoid file of GeographicLib's.
    "geoid": ["egm96>=0.2; python_version >= '3.12'"],
    "test": [
        "pytest",
        "pytest-xdist",
        "pytest-timeout",
        "hypothesis",
        "jsonschema",
        "psutil",
        "pyproj",
        "pymap3d",
        "openplx-bundles",
        "towncrier",
    ],
}
# Everything but what depends on where ROS 2 comes from, what runs on clusters, and what only tests need.
EXTRAS["all"] = sorted({need for name, needs in EXTRAS.items() if name not in ("ros", "ray", "test") for need in needs})


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
        f"{NAME}.cli": ["templates/**/*"],
        f"{NAME}.frames": ["egm96_15.npz"],
        f"{NAME}.viewing.browser": ["gamepad.js", "page.js", "panels.html"],
        f"{NAME}.wire": ["standard_messages.txt"],
        f"{NAME}.schematic": ["eql.lark"],
        f"{NAME}.formats.openplx": ["openplx.lark", "bundles/**/*.openplx"],
    },
    zip_safe=False,
    # What Ubuntu 24.04 packages, where a ROS 2 Jazzy workspace gets them from, is new enough.
    install_requires=[
        "numpy>=1.26",
        "numba>=0.58",
        "transforms3d>=0.4",
        "PyYAML>=6.0",
        "defusedxml>=0.7",
        "tqdm>=4.60",
        "lark>=0.12",
        "scipy>=1.11",
        # PyPI alone has these; commands for worlds run without them.
        "mcap>=1.2",
        "rosbags>=0.11.2",
    ],
    extras_require=EXTRAS,
    entry_points={"console_scripts": ["sim_node = sim_node.cli.main:main"]},
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/" + NAME]),
        ("share/" + NAME, ["package.xml"]),
        *shared("config"),
        *shared("launch"),
        # `ros2 run` and launch's Node look for executables here, after colcon and pip alike.
        ("lib/" + NAME, glob("scripts/*")),
    ],
)
