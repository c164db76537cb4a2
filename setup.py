"""The ament_python package: `colcon build` and `pip install` both read this."""

from glob import glob

from setuptools import find_packages, setup

NAME = "sim_node"

setup(
    name=NAME,
    version="0.1.0",
    description="Worlds from files, simulated and published on the TF tree, beside PX4 and ArduPilot.",
    long_description=open("README.md", encoding="utf-8").read(),
    long_description_content_type="text/markdown",
    author="sim_node maintainers",
    maintainer="sim_node maintainers",
    maintainer_email="maintainers@sim-node.example",
    license="Apache-2.0",
    python_requires=">=3.10",
    packages=find_packages(include=[NAME, NAME + ".*"]),
    package_data={NAME: ["py.typed"]},
    zip_safe=False,
    install_requires=["numpy>=1.26", "transforms3d>=0.4", "PyYAML>=6.0", "tqdm"],
    extras_require={
        # The real rclpy for machines without ROS 2; tf2_msgs has no wheel: `make setup` builds it.
        "ros": [
            "ros-rclpy[fastrtps]==7.1.6",
            "ros-geometry-msgs==5.3.6",
            "ros-sensor-msgs==5.3.6",
            "ros-std-msgs==5.3.6",
            "ros-nav-msgs==5.3.6",
            "ros-visualization-msgs==5.3.6",
            "ros-std-srvs==5.3.6",
            "ros-diagnostic-msgs==5.3.6",
        ],
        "test": ["pytest", "pytest-xdist", "pytest-timeout", "hypothesis", "scipy", "psutil"],
    },
    entry_points={"console_scripts": ["sim_node = sim_node.cli.main:main"]},
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/" + NAME]),
        ("share/" + NAME, ["package.xml"]),
        ("share/" + NAME + "/launch", glob("launch/*.launch.py")),
        ("share/" + NAME + "/config", glob("config/*.yaml")),
        ("share/" + NAME + "/config/dds", glob("config/dds/*.xml")),
        ("share/" + NAME + "/config/rviz", glob("config/rviz/*.rviz")),
        ("share/" + NAME + "/config/worlds", glob("config/worlds/*.*")),
        ("share/" + NAME + "/config/worlds/parts", glob("config/worlds/parts/*")),
        # `ros2 run` and launch's Node look for executables here, after colcon and pip alike.
        ("lib/" + NAME, glob("scripts/*")),
    ],
)
