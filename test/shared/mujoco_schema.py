"""Models with every element and attribute of MJCF, from the schema that MuJoCo publishes.

An attribute is tried on an element of its own, with a value that changes what MuJoCo compiles. Many such elements make
one model.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from functools import cache
from io import BytesIO
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

import mujoco
import numpy as np
from PIL import Image

# What elements refer to, besides what they bring themselves.
SKELETON = """<mujoco model="m">{top}<default>{default}<default class="d"><mesh scale="2 2 2"/><texture rgb1="1 0 0"/>
<material shininess="0.1"/><joint damping="3"/><geom rgba="1 0 0 1"/><site rgba="1 0 0 1"/><camera fovy="30"/>
<light exponent="3"/><pair margin="0.1"/><equality solref="0.03 1"/><tendon rgba="1 0 0 1"/><general group="2"/>
</default></default>
<extension><plugin plugin="mujoco.elasticity.cable"/><plugin plugin="mujoco.sensor.touch_grid"/>
<plugin plugin="mujoco.pid"/><plugin plugin="mujoco.sdf.bowl"/>{extension}</extension>
<asset><texture name="tex" type="2d" builtin="checker" width="8" height="8"/>
<texture name="tex2" type="2d" builtin="flat" width="4" height="4"/><material name="mat"/><material name="mat2"/>
<mesh name="tet" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/><hfield name="hf" nrow="2" ncol="2" size="1 1 1 1"/>
<hfield name="hf2" nrow="3" ncol="3" size="1 1 1 1"/>{asset}</asset>
<worldbody><camera name="cam"/><camera name="cam2" resolution="4 4"/>
<body name="a"><joint name="j" type="slide"/><geom name="g" size="0.1"/><site name="s" size="0.1"/>
<body name="b" pos="1 0 0"><joint name="k" axis="0 1 0"/><geom name="h" size="0.1"/><site name="r" pos="0.1 0 0"/>
</body></body>
<body name="c" pos="0 3 0"><joint name="ball" type="ball"/><geom name="i" size="0.1"/><site name="q" pos="0 0.2 0"/>
</body>
<body name="e" pos="0 5 0"><joint name="ball2" type="ball"/><geom size="0.1"/></body>
<body name="f" pos="0 7 0"><joint name="l" range="0 1"/><joint name="l2" range="0 1"/><geom size="0.1"/></body>
{worldbody}</worldbody>
<deformable>{deformable}</deformable><contact>{contact}</contact>
<tendon><spatial name="t"><site site="s"/><site site="r"/></spatial>
<fixed name="t2" range="0 1"><joint joint="j" coef="1"/></fixed>
<fixed name="t3" range="0 1"><joint joint="j" coef="1"/></fixed>{tendon}</tendon>
<equality>{equality}</equality>
<actuator><motor name="u" joint="j"/><motor name="u2" joint="k"/>{actuator}</actuator>
<sensor>{sensor}</sensor><custom>{custom}</custom><keyframe>{keyframe}</keyframe></mujoco>"""
FILES = {
    "x.obj": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n",
    "y.obj": b"v 0 0 0\nv 2 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n",
    "inner/z.obj": b"v 0 0 0\nv 3 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n",
    "part.xml": b'<mujoco model="part"><worldbody><body name="p"><geom size="0.2"/></body></worldbody></mujoco>',
    "other.xml": b'<mujoco model="part"><worldbody><body name="p"><geom size="0.3"/></body><frame name="f"/>'
    b"</worldbody></mujoco>",
}
# Attributes that name what configures a plug-in, which MuJoCo checks.
OF_PLUGINS = ("plugin", "instance", "key")
# Elements of which a model has one.
SINGLE = ("compiler", "option", "size", "statistic", "visual")
# Elements of MuJoCo's reference that its schema does not have.
MORE = {
    ("body", "frame"): ("axisangle", "childclass", "euler", "pos", "quat", "xyaxes", "zaxis"),
    ("body", "replicate"): ("count", "euler", "offset"),
}
JOINT, SITE, TENDON = 'joint="j"', 'site="s"', 'tendon="t"'
CABLE = '<composite type="cable" prefix="@" curve="s" count="4 1 1" size="1">{}</composite>'
_GRID = '<flexcomp name="@" type="grid" spacing="0.1 0.1 0.1" radius="0.01" mass="1"'
CLOTH, BLOCK = f'{_GRID} count="3 3 1" dim="2">{{}}</flexcomp>', f'{_GRID} count="3 3 3" dim="3"'
SKIN = (
    '<skin name="@" vertex="0 0 0 1 0 0 0 1 0" face="0 1 2" texcoord="0 0 1 0 0 1">'
    '<bone body="b" bindpos="0 0 0" bindquat="1 0 0 0" vertid="0 1 2" vertweight="1 1 1"/></skin>'
)
FLEX = '<flex name="@" dim="2" body="b" vertex="0 0 0 1 0 0 0 1 0" element="0 1 2" radius="0.01">{}</flex>'
BOWL = '<mesh name="@"><plugin plugin="mujoco.sdf.bowl"><config key="height" value="0.4"/></plugin></mesh>'
OF_CABLE = (
    '<plugin plugin="mujoco.elasticity.cable"><config key="twist" value="10"/><config key="bend" value="4"/></plugin>'
)
TRANSMISSIONS = (
    JOINT,
    TENDON,
    'site="s" refsite="r"',
    'cranksite="s" slidersite="r" cranklength="1"',
    'body="b"',
    'jointinparent="ball"',
)
# Examples of elements, in which @ is a name of their own; the first in which an attribute counts is taken. Children
# of sections go there, other elements into the section of the path.
EXAMPLES: dict[str, tuple[str, ...]] = {
    "compiler": (
        '<worldbody><body euler="10 20 30"><joint range="0.1 0.2"/><geom type="box" size="0.1 0.2 0.3" group="3"/>'
        '<inertial mass="1" pos="0 0 0" diaginertia="1 2 3"/><body><geom size="0.1"/></body></body></worldbody>',
        '<worldbody><body><freejoint/><geom size="0.1" pos="1 0 0"/><geom type="box" mesh="tet"/></body></worldbody>',
        '<worldbody><body><freejoint/><inertial mass="1" pos="0 0 0" diaginertia="1 1 9"/></body></worldbody>',
        '<asset><mesh file="z.obj"/></asset>',
        '<asset><mesh file="gone/x.obj"/></asset>',
        '<asset><texture type="2d" file="v.png"/></asset>',
    ),
    "compiler/lengthrange": (
        '<worldbody><body><joint name="@" range="-1 1"/><geom size="0.1" pos="0.3 0 0"/></body></worldbody>'
        '<actuator><muscle joint="@"/></actuator>',
    ),
    "option": ("",),
    "size": ("",),
    "statistic": ("",),
    "visual": ("",),
    "body": (
        '<body name="@" pos="0 0 1"><freejoint/><geom size="0.1"/><body pos="1 0 0"><geom size="0.1"/></body></body>',
        '<body name="@" pos="0 0 1"><geom size="0.1"/></body>',
    ),
    "body/inertial": (
        '<body name="@"><freejoint/><inertial mass="1" pos="0 0 0" diaginertia="1 2 3"/></body>',
        '<body name="@"><freejoint/><inertial mass="1" pos="0 0 0" fullinertia="1 2 2.5 0 0 0"/></body>',
    ),
    "body/joint": (
        '<body name="@"><joint/><geom size="0.1"/></body>',
        '<body name="@"><joint range="0.1 0.2" frictionloss="1" actuatorfrcrange="-1 1"/><geom size="0.1"/></body>',
    ),
    "body/freejoint": (
        '<body name="@"><freejoint/><geom size="0.1"/></body>',
        '<body name="@"><freejoint/><geom size="0.1"/><geom size="0.2" pos="1 0 0"/></body>',
    ),
    "body/geom": (
        '<body name="@"><freejoint/><geom size="0.1"/></body>',
        '<body name="@"><freejoint/><geom type="box" size="0.1 0.2 0.3"/></body>',
        '<body name="@"><freejoint/><geom type="capsule" size="0.1"/></body>',
        '<body name="@"><freejoint/><geom type="box" mesh="tet"/></body>',
        '<body name="@"><freejoint/><geom type="mesh" mesh="tet"/></body>',
        '<geom type="hfield" hfield="hf"/>',
        '<body name="@"><freejoint/><geom size="0.1" fluidshape="ellipsoid"/></body>',
    ),
    "body/geom/plugin": (f'<asset>{BOWL}</asset><geom type="sdf" mesh="@"><plugin plugin="mujoco.sdf.bowl"/></geom>',),
    "body/geom/plugin/config": (
        f'<asset>{BOWL}</asset><geom type="sdf" mesh="@"><plugin plugin="mujoco.sdf.bowl">'
        '<config key="height" value="0.5"/></plugin></geom>',
    ),
    "body/attach": (
        '<asset><model name="@" file="part.xml"/></asset><attach model="@" body="p" prefix="@_"/>',
        '<asset><model name="@" file="other.xml"/></asset><attach model="@" frame="f" prefix="@_"/>',
    ),
    "body/site": ("<site/>", '<site type="box" size="0.1 0.2 0.3"/>', '<site type="capsule" size="0.1"/>'),
    "body/camera": (
        "<camera/>",
        '<camera sensorsize="0.01 0.01" resolution="4 4" focal="0.01 0.01"/>',
        '<camera sensorsize="0.01 0.01" resolution="4 4" focalpixel="5 5"/>',
        '<camera mode="targetbody" target="b"/>',
    ),
    "body/light": ("<light/>", '<light mode="targetbody" target="b"/>'),
    "body/plugin": (f'<body name="@"><joint type="ball"/><geom type="capsule" size="0.01 0.1"/>{OF_CABLE}</body>',),
    "body/frame": ('<frame><body name="@"><joint/><geom size="0.1"/></body></frame>',),
    "body/replicate": (
        '<replicate count="2" offset="0 1 0"><body name="@"><joint/><geom size="0.1"/></body></replicate>',
    ),
    "body/composite": (
        CABLE.format('<joint kind="main"/><geom type="capsule" size="0.01"/>'),
        '<composite type="cable" prefix="@" vertex="0 0 0 1 0 0 2 0 1"><joint kind="main"/>'
        '<geom type="capsule" size="0.01"/></composite>',
    ),
    "body/composite/joint": (CABLE.format('<joint kind="main"/><geom type="capsule" size="0.01"/>'),),
    "body/composite/skin": (
        CABLE.format('<joint kind="main"/><geom type="box" size="0.01 0.02 0.03"/><skin texcoord="true"/>'),
    ),
    "body/composite/geom": (CABLE.format('<joint kind="main"/><geom type="capsule" size="0.01"/>'),),
    "body/composite/site": (CABLE.format('<joint kind="main"/><geom type="capsule" size="0.01"/><site/>'),),
    "body/composite/plugin": (CABLE.format(f'<joint kind="main"/><geom type="capsule" size="0.01"/>{OF_CABLE}'),),
    "body/flexcomp": (
        CLOTH.format(""),
        '<flexcomp name="@" type="direct" dim="2" radius="0.01" mass="1" point="0 0 0 1 0 0 0 1 0" element="0 1 2"/>',
        '<flexcomp name="@" type="mesh" file="x.obj" dim="2" radius="0.01" mass="1"/>',
        f"{BLOCK}/>",
        f'{BLOCK} dof="trilinear"/>',
    ),
    "body/flexcomp/edge": (CLOTH.format("<edge/>"), CLOTH.format('<edge equality="true"/>')),
    "body/flexcomp/elasticity": (
        CLOTH.format('<elasticity young="10" poisson="0.1" thickness="0.01" elastic2d="both"/>'),
        CLOTH.format('<elasticity young="10" poisson="0.1"/>'),
    ),
    "body/flexcomp/contact": (CLOTH.format("<contact/>"),),
    "body/flexcomp/pin": (
        CLOTH.format('<pin id="0"/>'),
        CLOTH.format('<pin range="0 1"/>'),
        CLOTH.format('<pin grid="0 0"/>'),
        CLOTH.format('<pin gridrange="0 0 1 0"/>'),
    ),
    "asset/mesh": (
        '<mesh name="@" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>',
        '<mesh name="@" file="x.obj"/>',
        '<mesh name="@" builtin="sphere" params="1"/>',
        '<mesh name="@" vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 2 1 0 1 3 0 3 2 1 2 3"/>',
    ),
    "asset/mesh/plugin": (f"<asset>{BOWL}</asset>",),
    "asset/hfield": (
        '<hfield name="@" nrow="2" ncol="2" size="1 1 1 1"/>',
        '<hfield name="@" nrow="2" ncol="2" size="1 1 1 1" elevation="0 1 2 3"/>',
    ),
    "asset/skin": (SKIN,),
    "asset/texture": (
        '<texture name="@" type="2d" builtin="flat" width="4" height="4"/>',
        '<texture name="@" type="2d" builtin="flat" width="4" height="4" mark="edge"/>',
        '<texture name="@" type="cube" builtin="gradient" width="4" height="4"/>',
        '<texture name="@" type="2d" file="t.png"/>',
        '<texture name="@" type="cube" file="t.png" gridsize="1 1" gridlayout="."/>',
        '<texture name="@" type="cube" fileback="t.png" filedown="t.png" filefront="t.png" fileleft="t.png"'
        ' fileright="t.png" fileup="t.png"/>',
        '<texture name="@" type="2d" builtin="flat" width="8" height="8" mark="random" random="0.5"/>',
    ),
    "asset/material": ('<material name="@"/>', '<material name="@" texture="tex"/>'),
    "asset/material/layer": ('<material name="@"><layer texture="tex" role="rgb"/></material>',),
    "asset/model": (
        '<model name="@" file="part.xml"/><worldbody><attach model="@" body="p" prefix="@_"/></worldbody>',
    ),
    "deformable/flex": (
        FLEX.format(""),
        '<flex name="@" dim="2" body="b" vertex="0 0 0 1 0 0 0 1 0 1 1 0" element="0 1 2 1 2 3" radius="0.01"/>',
    ),
    "deformable/flex/contact": (FLEX.format("<contact/>"),),
    "deformable/flex/edge": (FLEX.format("<edge/>"),),
    "deformable/flex/elasticity": (FLEX.format('<elasticity young="10" poisson="0.1" thickness="0.01"/>'),),
    "deformable/skin": (SKIN,),
    "contact/pair": ('<pair geom1="g" geom2="i"/>',),
    "contact/exclude": ('<exclude body1="a" body2="c"/>',),
    "tendon/spatial": (
        '<spatial name="@"><site site="s"/><site site="r"/></spatial>',
        '<spatial name="@" range="0 1" actuatorfrcrange="-1 1"><site site="s"/><site site="r"/></spatial>',
    ),
    "tendon/spatial/site": ('<spatial name="@"><site site="s"/><site site="r"/></spatial>',),
    "tendon/spatial/geom": ('<spatial name="@"><site site="s"/><geom geom="h"/><site site="r"/></spatial>',),
    "tendon/spatial/pulley": (
        '<spatial name="@"><site site="s"/><site site="r"/><pulley divisor="3"/><site site="s"/><site site="r"/>'
        "</spatial>",
    ),
    "tendon/fixed": (
        '<fixed name="@"><joint joint="j" coef="1"/></fixed>',
        '<fixed name="@" range="0 1" actuatorfrcrange="-1 1"><joint joint="j" coef="1"/></fixed>',
    ),
    "equality/connect": ('<connect body1="a" body2="b" anchor="0 0 0"/>', '<connect site1="s" site2="r"/>'),
    "equality/weld": ('<weld body1="a" body2="b"/>', '<weld site1="s" site2="r"/>'),
    "equality/joint": ('<joint joint1="j"/>', '<joint joint1="j" joint2="k"/>'),
    "equality/tendon": ('<tendon tendon1="t2"/>', '<tendon tendon1="t2" tendon2="t3"/>'),
    **{
        f"equality/{tag}": (f'<worldbody>{CLOTH.format("")}</worldbody><{tag} flex="@"/>',)
        for tag in ("flex", "flexvert")
    },
    "equality/flexstrain": (f'<worldbody>{BLOCK} dof="trilinear"/></worldbody><flexstrain flex="@"/>',),
    "actuator": (
        *(f"<TAG {each}/>" for each in TRANSMISSIONS),
        '<TAG joint="j" ctrlrange="0.1 0.2" forcerange="0.1 0.2"/>',
        '<TAG joint="j" nsample="3"/>',
        '<worldbody><body><joint name="@" range="0.1 0.2"/><geom size="0.1"/></body></worldbody><TAG joint="@"/>',
        '<TAG joint="j" dyntype="integrator" actrange="0.1 0.2"/>',
        '<TAG joint="j" kp="2"/>',
        '<TAG joint="j" kv="2"/>',
        '<TAG joint="j" motorconst="0.1" resistance="2"/>',
        '<TAG joint="ball" kp="2"/>',
    ),
    "actuator/damper": ('<damper joint="j" ctrlrange="0 1"/>', '<damper joint="j" ctrlrange="0 1" nsample="3"/>'),
    "actuator/cylinder": (
        '<cylinder joint="j" diameter="0.1"/>',
        '<cylinder joint="j"/>',
        '<cylinder joint="j" ctrlrange="0 1" forcerange="0 1" nsample="3"/>',
    ),
    "actuator/muscle": (
        '<muscle joint="l"/>',
        '<muscle tendon="t2"/>',
        '<muscle joint="l" ctrlrange="0 1" forcerange="0 1" nsample="3"/>',
    ),
    "actuator/adhesion": (
        '<adhesion body="b" ctrlrange="0 1"/>',
        '<adhesion body="b" ctrlrange="0 1" forcerange="0 1" nsample="3"/>',
    ),
    "actuator/plugin": (f'<plugin {JOINT} plugin="mujoco.pid"><config key="kp" value="1"/></plugin>',),
    "sensor": tuple(
        f"<TAG {each}/>"
        for each in (
            *("", SITE, JOINT, TENDON, 'body="b"', 'actuator="u"', 'joint="ball"', 'objtype="body" objname="b"'),
            *('site="s" camera="cam"', 'geom1="g" geom2="i"', 'body1="a" body2="c"', 'dim="1"', 'camera="cam2"'),
            *('joint="l"', 'tendon="t2"', 'geom1="g" num="1"', 'body1="a" num="1"', 'subtree1="a" num="1"'),
            *('objtype="body" objname="b" site="s"', 'objtype="body" objname="b" reftype="body" refname="c"'),
            'geom="g" mesh="tet"',
            *(
                f'{each} nsample="3"'
                for each in (
                    *("", SITE, JOINT, TENDON, 'body="b"', 'actuator="u"', 'joint="ball"', 'joint="l"', 'tendon="t2"'),
                    *('objtype="body" objname="b"', 'geom1="g" geom2="i"', 'geom1="g" num="1"'),
                )
            ),
        )
    ),
    "sensor/plugin": (
        '<plugin name="@" plugin="mujoco.sensor.touch_grid" objtype="site" objname="s"><config key="size" value="2 2"/>'
        '<config key="fov" value="45 45"/><config key="gamma" value="0"/><config key="nchannel" value="1"/></plugin>',
    ),
    "custom/numeric": ('<numeric name="@" data="1"/>',),
    "custom/text": ('<text name="@" data="x"/>',),
    "custom/tuple": ('<tuple name="@"><element objtype="body" objname="b" prm="0"/></tuple>',),
    "keyframe/key": ('<key name="@"/>',),
    "extension/plugin": (
        '<extension><plugin plugin="mujoco.elasticity.cable"><instance name="@"><config key="twist" value="1"/>'
        '</instance></plugin></extension><worldbody><body><joint type="ball"/><geom type="capsule" size="0.01 0.1"/>'
        '<plugin instance="@"/></body></worldbody>',
    ),
}

# Sections that elements of a path go to, if they have other names, and all sections.
_SECTIONS = {"body": "worldbody"}
_PLACES = tuple(re.findall(r"\{(\w+)\}", SKELETON))
# The element that shows what a default class sets, by what is set; actuators are their own.
SHOWN = {
    **{tag: ("asset", tag) for tag in ("mesh", "texture", "material")},
    **{tag: ("body", tag) for tag in ("joint", "geom", "site", "camera", "light")},
    **{"pair": ("contact", "pair"), "equality": ("equality", "connect"), "tendon": ("tendon", "spatial")},
}
# What attributes may hold. The first one is taken that MuJoCo accepts, and that changes what it compiles.
VALUES = (
    *("0.3", "2", "1", "0.3 0.4", "0.3 0.4 0.5", "0.6 0 0.8 0", "0.1 0.2 0.3 0.4 0.5 0.6", "true", "false"),
    *("enable", "disable", "0.9 0.95 0.002 0.4 1.5", "0.01 0.5", "0.7 1", "0.5 0.5 0.5 0.5", "0 0 0 1 0 0 0 1 0 0 0 2"),
    *("k", "r", "q", "c", "b", "h", "i", "t2", "t3", "u2", "l2", "ball2", "d", "mat2", "tex2", "cam2"),
    *("tet", "geom", "xbody"),
)
VALUES_OF: dict[str, tuple[str, ...]] = {
    "type": ("slide", "box", "cube", "spot", "capsule", "circle"),
    "file": ("y.obj", "other.xml"),
    **{f"file{side}": ("u.png",) for side in ("back", "down", "front", "left", "right", "up")},
    **{"angle": ("radian",), "eulerseq": ("zyx",), "inertiagrouprange": ("1 2",), "boundmass": ("20",)},
    **{"meshdir": ("inner",), "texturedir": ("inner",), "assetdir": ("inner",)},
    **{"jacobian": ("dense",), "solver": ("PGS",), "mode": ("track", "all"), "inertia": ("shell", "convex")},
    **{"projection": ("orthographic",), "output": ("depth",), "resolution": ("4 4",), "fluidshape": ("ellipsoid",)},
    **{"builtin": ("gradient", "cone", "plate"), "colorspace": ("sRGB",), "mark": ("cross",), "nchannel": ("4",)},
    **{"gridsize": ("2 2",), "gridlayout": (".U..LFRB.D..",), "width": ("6",), "height": ("6",), "maxhullvert": ("5",)},
    **{"dyntype": ("integrator",), "gaintype": ("affine",), "biastype": ("affine",), "interp": ("linear", "cubic")},
    **{"input": ("position", "velocity"), "role": ("normal",), "curve": ("l", "cos(s)"), "initial": ("ball", "none")},
    **{"cone": ("elliptic",), "integrator": ("implicit",), "hfield": ("hf2",), "count": ("3 1 1", "3", "4 4 1")},
    **{"face": ("0 2 1 0 1 3 0 3 2 1 2 3 0 1 2",), "texcoord": ("0 0 1 0 0 1 1 1", "0 1 1 0 0 1", "true")},
    **{"vertex": ("0 0 0 1 0 0 0 1 0 0 0 2", "0 0 0 2 0 0 0 1 0", "0 0 0 1 0 0 2 0 2")},
    **{"vertid": ("0 2 1",), "vertweight": ("1 2 1",), "kp": ("7",), "value": ("0.6", "3 3")},
    **{"delay": ("0.004",), "interval": ("0.01",), "polycoef": ("0.1 0.9",), "relpose": ("1 2 3 1 0 0 0",)},
    **{"actuatorfrcrange": ("-1 1",), "dof": ("trilinear", "quadratic"), "selfcollide": ("none", "narrow")},
    **{"elastic2d": ("bend", "stretch", "none"), "section": ("rectangle",), "forcerange": ("-1 1", "0.1 0.3")},
    **{"cutoff": ("0.3", "1"), "axis": ("0 1 0",), "range": ("0.1 0.3",)},
    **{"solref": ("0.03 1",), "data": ("1 2", "found", "normal")},
}


class Element(NamedTuple):
    """An element of the schema: the tags from below the root down to it, and its attributes."""

    path: tuple[str, ...]
    attributes: tuple[str, ...]


class Choice(NamedTuple):
    """An attribute of an element in an example, and a value that counts. example: empty for elements of the whole."""

    path: tuple[str, ...]
    key: str
    value: str
    example: str = ""


def elements() -> Iterator[Element]:
    """Yield the elements of the schema."""
    above: list[str] = []
    found: list[tuple[tuple[str, ...], list[str]]] = []
    for line in mujoco.mj_printSchema(False, True).splitlines():
        head = re.match(r"( *)([\w()]+) \(.\) *(.*)", line)
        if head is not None:
            above[len(head[1]) // 3 :] = [head[2].removeprefix("(world)")]
            found.append((tuple(above[1:]), head[3].split()))
        elif found:
            found[-1][1].extend(line.split())
    for path, attributes in (*found, *MORE.items()):
        if len(path) > (path[:1] == ("default",)) and attributes:
            yield Element(path, tuple(attributes))


def shown_by(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the element that shows what one in a default class sets; others are their own."""
    return path if path[0] != "default" else SHOWN.get(path[1], ("actuator", path[1]))


def text_of(choices: Iterable[Choice], *, plain: bool = False) -> str:
    """Return a model with an element of its own for each choice, which has the value; or nothing of it, if plain."""
    slots: dict[str, list[str]] = {key: [] for key in re.findall(r"\{(\w+)\}", SKELETON)}
    for number, choice in enumerate(choices):
        for section, text in _parts(choice, f"n{number}", plain=plain):
            slots[section].append(text)
    return SKELETON.format(**{key: "".join(each) for key, each in slots.items()})


def _parts(choice: Choice, name: str, *, plain: bool) -> Iterator[tuple[str, str]]:
    """Yield the sections of a model and what a choice adds to each."""
    path, key = choice.path, choice.key
    value = "" if plain else f" {key}={quoteattr(choice.value)}"
    shown = shown_by(path)
    if path[0] in SINGLE:
        yield "top", _nested(path, value)
    if path[0] == "default":
        yield "default", f'<default class="{name}">{_nested(path[1:], value)}</default>'
    section = _SECTIONS.get(shown[0], shown[0])
    whole = ET.fromstring(f"<x>{choice.example.replace('@', name)}</x>")
    parts: list[tuple[str, ET.Element]] = []
    for part in whole:
        is_section = part.tag in _PLACES and not part.attrib
        parts += [(part.tag, each) for each in part] if is_section else [(section, part)]
    if path[0] in SINGLE:
        yield from ((at, ET.tostring(part, encoding="unicode")) for at, part in parts)
        return
    target = _target([part for at, part in parts if at == section], shown[1:] or shown)
    if path[0] == "default":
        target.set("class", name)
        target.attrib.pop(key, None)
    elif not plain:
        target.set(key, choice.value)
    for at, part in parts:
        yield at, ET.tostring(part, encoding="unicode")


def _target(parts: Iterable[ET.Element], path: tuple[str, ...]) -> ET.Element:
    """Return the first element whose own tag and those above it are a path. Raises LookupError."""
    stack: list[tuple[tuple[str, ...], ET.Element]] = [((part.tag,), part) for part in parts]
    while stack:
        tags, element = stack.pop(0)
        if tags[-len(path) :] == path:
            return element
        stack[:0] = [((*tags, inner.tag), inner) for inner in element]
    raise LookupError("/".join(path))


def examples(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return examples of an element, which may be those of one that it is in."""
    for length in range(len(path), 0, -1):
        found = EXAMPLES.get("/".join(path[:length]), ())
        if found and (length > 1 or len(path) == 1 or path[0] in (*SINGLE, "actuator", "sensor")):
            return tuple(each.replace("TAG", path[-1]) for each in found)
    return (f"<{path[-1]}/>",)


def compiled(text: str) -> mujoco.MjModel | None:
    """Return what MuJoCo makes of a text by itself; None if it refuses it."""
    try:
        return mujoco.MjModel.from_xml_string(text, assets=dict(files()))
    except (ValueError, mujoco.FatalError):
        return None


def bytes_of(model: mujoco.MjModel) -> bytes:
    """Return all that a model is."""
    buffer = np.empty(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, buffer)
    return buffer.tobytes()


@cache
def files() -> dict[str, bytes]:
    """Return the files beside a model."""
    found = dict(FILES)
    for name, colour in (("t.png", (9, 8, 7)), ("u.png", (90, 8, 7)), ("inner/v.png", (1, 2, 3))):
        buffer = BytesIO()
        Image.new("RGB", (4, 4), colour).save(buffer, "png")
        found[name] = buffer.getvalue()
    return found


class Chooser:
    """Finds values of attributes that count; what counted last for an attribute of the same name is tried first."""

    def __init__(self) -> None:
        # The number of the example, and the value.
        self._latest: dict[str, tuple[int, str]] = {}
        self._plain: dict[str, bytes | None] = {}

    def choice(self, path: tuple[str, ...], key: str) -> Choice | None:
        """Return an attribute with a value that changes a model; None if none is found."""
        number, latest = self._latest.get(key, (0, ""))
        known = (*((latest,) if latest else ()), *VALUES_OF.get(key, ()), *VALUES)
        for at, example in sorted(enumerate(examples(path)), key=lambda each: each[0] != number):
            plain = self._without(Choice(path, key, "", example))
            if plain is None and (path[0] != "compiler" or not example):
                continue
            for value in dict.fromkeys(known):
                choice = Choice(path, key, value, example)
                model = compiled(text_of([choice]))
                if model is not None and bytes_of(model) != plain:
                    self._latest[key] = at, value
                    return choice
        return None

    def _without(self, choice: Choice) -> bytes | None:
        try:
            text = text_of([choice], plain=True)
        except LookupError:
            return None
        if text not in self._plain:
            model = compiled(text)
            self._plain[text] = None if model is None else bytes_of(model)
        return self._plain[text]


def _nested(path: tuple[str, ...], attributes: str) -> str:
    *above, tag = path
    text = f"<{tag}{attributes}/>"
    for each in reversed(above):
        text = f"<{each}>{text}</{each}>"
    return text
