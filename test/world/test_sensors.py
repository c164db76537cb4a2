"""Sensors in world files, as far as the world knows them: types and raw parameters, with their places."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from sim_node.world import Sensor, World


def test_parameters_are_plain_values(read: Callable[..., World]) -> None:
    world = read("""\
        sensors:
          - name: drone/IMU
            parent: map
            type: imu
            rate: 250
            label: main
            quoted: "250"
            on: true
            off: False
            empty:
            gyroscope: {density: 1.5e-4, axes: [x, 2, {of: y}]}
        """)
    assert world.sensors == (
        Sensor(
            "drone/IMU",
            "map",
            np.array([0.0, 0, 0, 0, 0, 0, 1]),
            type="imu",
            parameters={
                "rate": 250.0,
                "label": "main",
                "quoted": "250",
                "on": True,
                "off": False,
                "empty": None,
                "gyroscope": {"density": 1.5e-4, "axes": ["x", 2.0, {"of": "y"}]},
            },
        ),
    )


def test_each_parameter_knows_the_place_of_its_key_and_of_its_value(read: Callable[..., World]) -> None:
    (sensor,) = read("""\
        sensors:
          - {name: a, parent: map, type: imu, rate: 250, gyroscope: {density: 2}}
        """).sensors
    places = {
        path: (at.key.where[1:], at.value.where[1:], at.value.key) for path, at in sensor.parameter_places.items()
    }
    assert places == {
        "type": ((2, 34), (2, 34), "sensors[0].type"),
        "rate": ((2, 39), (2, 45), "sensors[0].rate"),
        "gyroscope": ((2, 50), (2, 61), "sensors[0].gyroscope"),
        "gyroscope.density": ((2, 62), (2, 71), "sensors[0].gyroscope.density"),
    }


def test_an_included_sensor_keeps_its_type_and_parameters(
    write: Callable[..., Path], read: Callable[..., World]
) -> None:
    write("fixed_frame: base\nsensors:\n  - {name: IMU, parent: base, type: imu, rate: 50}\n", "part.yaml")
    (sensor,) = read("include:\n  - {file: part.yaml, prefix: cart/, parent: map}\n").sensors
    assert (sensor.name, sensor.type, sensor.parameters) == ("cart/IMU", "imu", {"rate": 50.0})
    assert sensor.parameter_places["rate"].value.where.file.endswith("part.yaml")


def test_equal_parameters_make_equal_sensors_wherever_they_stand(read: Callable[..., World]) -> None:
    flow = read("sensors: [{name: a, parent: map, type: imu, rate: 5}]").sensors
    block = read("sensors:\n  - name: a\n    rate: 5\n    type: imu\n    parent: map\n").sensors
    assert flow == block
    assert flow != read("sensors: [{name: a, parent: map, type: imu, rate: 6}]").sensors
