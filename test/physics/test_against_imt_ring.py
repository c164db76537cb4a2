"""An x_xy model beside the toolbox that the format comes from.

The figures are imt-ring 1.7.1's on jax in double precision (jax_enable_x64): `ring.System.create(XML)`,
`ring.State.create(system)`, then 2000 times `ring.algorithms.dynamics.step(system, state, zeros)`, the state's q
after every 250. Its joints px, r and p3d are free of the faults that docs/x-xy.md names.

Spherical joints differ by a guard against division by zero: `_strapdown_integration` adds 1e-8 rad/s to the rate of
rotation. `BALLS_UNGUARDED` is what the toolbox computes without it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sim_node.simulation import Simulation
from sim_node.world import load

XML = """\
<x_xy model="compared">
    <options gravity="0 0 9.81" dt="0.001"/>
    <worldbody>
        <body name="cart" joint="px" damping="0.1" armature="0.05" spring_stiff="20" spring_zero="0.3">
            <geom type="box" mass="1" dim="0.4 0.2 0.1"/>
            <body name="upper" joint="ry" euler="0 30 0" damping="0.01">
                <geom type="capsule" mass="0.5" dim="0.05 0.6" pos="0.3 0 0"/>
                <body name="lower" joint="rz" pos="0.6 0 0" euler="40 0 20" spring_stiff="0.5" spring_zero="0.2">
                    <geom type="cylinder" mass="0.4" dim="0.05 0.5" pos="0.25 0 0" euler="0 10 20"/>
                    <geom type="sphere" mass="0.2" dim="0.08" pos="0.5 0.05 0"/>
                </body>
            </body>
            <body name="slider" joint="p3d" pos="0 0 0.3" quat="0.8 0 0.6 0"
                  spring_stiff="50 60 70" damping="0.1 0.2 0.3">
                <geom type="box" mass="0.3" dim="0.1 0.2 0.3" pos="0.1 0 0"/>
            </body>
        </body>
    </worldbody>
</x_xy>
"""

# cart, upper, lower, slider x, y, z
Q = [
    [0.15575864088055769, 0.4384246465340515, 0.08579353985535663, -0.12656029930399612, 0.0, 0.013658358060315914],
    [0.5317062333099615, 1.2885320706651398, -0.5059482838199317, 0.009079157523781575, 0.0, -0.03527933073275634],
    [0.6735827221173084, 1.7540075349255941, -0.8768196351601985, -0.10011928167831746, 0.0, -0.025944628403528687],
    [0.4610109043874137, 1.5232218129500656, -0.6560027212290713, 0.0011862768655262498, 0.0, -0.04065318946563198],
    [0.027140367060362516, 0.8395842297316655, 0.04648069640238728, -0.10710396656545243, 0.0, 0.006814662863457138],
    [-0.1851978553358252, 0.36497030849028567, 0.09227457278875441, -0.03135656946952512, 0.0, 0.018675297407634708],
    [0.05079418175468853, 0.755923599224492, 0.04632295216682899, -0.10230177652068385, 0.0, 0.01786840472110187],
    [0.5022734975763219, 1.4131721790752543, -0.5844712275725772, -0.010300599904354507, 0.0, -0.04880585021071394],
]


def test_the_same_model_goes_the_same_way(tmp_path: Path) -> None:
    path = tmp_path / "compared.xml"
    path.write_text(XML, encoding="utf-8")
    simulation = Simulation(load(path))
    rows = [simulation.frames.index(name) for name in ("cart", "upper", "lower", "slider")]
    for expected in Q:
        simulation.step(250)
        cart, upper, lower, slider = simulation.snapshot().poses[rows]
        angles = 2 * np.arctan2(upper[4], upper[6]), 2 * np.arctan2(lower[5], lower[6])
        np.testing.assert_allclose([cart[0], *angles, *slider[:3]], expected, rtol=0, atol=1e-9)


BALLS = """\
<x_xy model="balls">
    <options gravity="0 0 9.81" dt="0.001"/>
    <worldbody>
        <body name="upper" joint="spherical" damping="0.01 0.02 0.03" euler="0 30 0">
            <geom type="capsule" mass="0.5" dim="0.05 0.6" pos="0.3 0 0"/>
            <body name="lower" joint="spherical" pos="0.6 0 0" euler="40 0 20" damping="0.01 0.01 0.01">
                <geom type="cylinder" mass="0.4" dim="0.05 0.5" pos="0.25 0 0" euler="0 10 20"/>
                <geom type="sphere" mass="0.2" dim="0.08" pos="0.5 0.05 0"/>
            </body>
        </body>
    </worldbody>
</x_xy>
"""
# upper, lower after one and two seconds: w x y z, passive
BALLS_GUARDED = [
    [
        0.3844846981647591,
        -0.43333679177419254,
        -0.4535346678631879,
        0.6772717673269955,
        0.5504860306567965,
        -0.7476094511613355,
        0.36056677071400917,
        -0.08964843803905749,
    ],
    [
        0.33160032212653945,
        -0.9332006353414831,
        -0.1058868484999185,
        0.08925119539021797,
        0.23467533964519366,
        -0.9563500628470528,
        0.08211489123834866,
        0.153555159118036,
    ],
]
BALLS_UNGUARDED = [
    [
        0.3844846984284967,
        -0.43333679114578444,
        -0.45353466720642405,
        0.6772717680191468,
        0.5504860315410565,
        -0.7476094510842279,
        0.3605667694555559,
        -0.08964843831379704,
    ],
    [
        0.3316003267001195,
        -0.9332006338680461,
        -0.10588684937864264,
        0.089251192761306,
        0.23467534641711008,
        -0.9563500617032362,
        0.08211489046502997,
        0.15355515630594063,
    ],
]


def test_balls_differ_by_the_guard_of_the_toolbox_alone(tmp_path: Path) -> None:
    path = tmp_path / "balls.xml"
    path.write_text(BALLS, encoding="utf-8")
    simulation = Simulation(load(path))
    rows = [simulation.frames.index(name) for name in ("upper", "lower")]
    for seconds, guarded, exact in zip((1, 2), BALLS_GUARDED, BALLS_UNGUARDED, strict=True):
        simulation.step(1000)
        found = simulation.snapshot().poses[rows][:, [6, 3, 4, 5]] * [1, -1, -1, -1]
        for expected, within in ((exact, 1e-12), (guarded, 1e-8 * seconds)):
            cosines = (found * np.reshape(expected, (2, 4))).sum(axis=1)
            turned = np.sign(cosines)[:, None] * np.reshape(expected, (2, 4))
            # Rotations differ by twice the distance of their quaternions.
            assert 2 * np.linalg.norm(found - turned, axis=1).max() < within
