"""Every element of MJCF with its attributes, from the schema that MuJoCo publishes, and values that change a model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import mujoco
import numpy as np

# What attributes may hold. The first one is taken that MuJoCo accepts, and that changes what it compiles.
VALUES = (
    *("0.3", "2", "1", "0.3 0.4", "0.3 0.4 0.5", "0.6 0 0.8 0", "0.1 0.2 0.3 0.4 0.5 0.6", "true", "false"),
    *(
        "enable",
        "disable",
        "0.9 0.95 0.002 0.4 1.5",
        "0.01 0.5",
        "extra",
        "cg",
        "implicit",
        "elliptic",
        "b",
        "mat",
        "0.7 1",
    ),
)
# What an element needs, the first of which MuJoCo accepts.
NEEDS = (
    *(
        "",
        'joint="j"',
        'site="s"',
        'body="b"',
        'tendon="t"',
        'actuator="u"',
        'objtype="body" objname="b"',
        'camera="cam"',
    ),
    *('site="s" body="b"', 'joint="ball"', 'body1="a" body2="b"', 'geom1="g" geom2="h"', 'site1="s" site2="r"'),
    *(
        'body1="a" body2="b" anchor="0 0 0"',
        'tendon1="t"',
        'joint1="j"',
        'joint="j" coef="1"',
        'geom="g"',
        'divisor="2"',
    ),
    *(
        'joint="j" cranksite="s" slidersite="r"',
        'size="0.1"',
        'name="n" data="1"',
        'dim="1"',
        'objtype="body" objname="b" site="s"',
    ),
    *('cranksite="s" slidersite="r" cranklength="1"', 'name="n"', 'geom1="g" body2="b"', 'joint="j" diameter="0.1"'),
    *('mass="1" pos="0 0 0" diaginertia="1 1 1"', 'file="x.obj"', 'type="2d" builtin="flat" width="4" height="4"'),
    *('nrow="2" ncol="2" size="1 1 1 1"', 'vertex="0 0 0 1 0 0 0 1 0 0 0 1"', 'texture="tex" role="rgb"'),
    *('body="b" site="s" num="1"', 'objtype="body" objname="b" prm="0"', 'site="s" refsite="r"', 'joint="j" kp="1"'),
)
WHOLE = """<mujoco model="m">
<compiler{compiler}>{in_compiler}</compiler><option{option}>{in_option}</option><size{size}/><statistic{statistic}/>
<visual>{in_visual}</visual>
<asset><texture name="tex" type="2d" builtin="checker" width="8" height="8"/><material name="mat"/>{in_asset}</asset>
<worldbody><light name="lamp"/><camera name="cam"/>
<body name="a"><joint name="j" type="slide"/><geom name="g" size="0.1"/><site name="s" size="0.1"/>
<body name="b" pos="1 0 0"{body}><joint name="k" axis="0 1 0"/><geom name="h" size="0.1"/><site name="r" pos="0.1 0 0"/>
{in_body}</body></body>
<body name="c" pos="0 3 0"><joint name="ball" type="ball"/><geom size="0.1"/></body></worldbody>
<contact>{in_contact}</contact>
<tendon><spatial name="t"><site site="s"/><site site="r"/></spatial>{in_tendon}</tendon>
<equality>{in_equality}</equality><actuator><motor name="u" joint="j"/>{in_actuator}</actuator>
<sensor>{in_sensor}</sensor><custom>{in_custom}</custom><keyframe>{in_keyframe}</keyframe></mujoco>"""
# Elements that are whole models or plug-ins of their own, or made of many parts, and children that come with them.
LEFT_OUT = (
    "plugin",
    "extension",
    "composite",
    "flexcomp",
    "deformable",
    "model",
    "attach",
    "frame",
    "replicate",
    "skin",
)
# References to other elements, which the needs have, and what has no effect by itself.
OTHERS = (
    *(
        "class",
        "childclass",
        "name",
        "file",
        "model",
        "joint",
        "site",
        "body",
        "tendon",
        "actuator",
        "refsite",
        "cranksite",
    ),
    *("slidersite", "objname", "objtype", "refname", "reftype", "geom1", "geom2", "body1", "body2", "site1", "site2"),
    *("joint1", "joint2", "tendon1", "tendon2", "delay", "interp", "jointinparent", "ctrllimited", "forcelimited"),
    *("savecompiled", "savecanonical", "saveinertial", "passthrough", "usethread", "conflict", "memory", "axisangle"),
)
PLACES = ("compiler", "option", "size", "statistic", "body")


class Element(NamedTuple):
    """An element of the schema: the tags from the root down to it, and its attributes."""

    path: tuple[str, ...]
    attributes: tuple[str, ...]


def elements() -> Iterator[Element]:
    """Yield the elements of the schema, without what default classes repeat of them."""
    above: list[str] = []
    found: list[tuple[tuple[str, ...], list[str]]] = []
    for line in mujoco.mj_printSchema(False, True).splitlines():
        head = re.match(r"( *)([\w()]+) \(.\) *(.*)", line)
        if head is not None:
            above[len(head[1]) // 3 :] = [head[2].removeprefix("(world)")]
            found.append((tuple(above), head[3].split()))
        elif found:
            found[-1][1].extend(line.split())
    for path, attributes in found:
        if len(path) > 1 and attributes and not {"default", *LEFT_OUT}.intersection(path):
            yield Element(path, tuple(attributes))


def text_with(element: Element, attributes: Mapping[str, str], needs: str = "") -> str:
    """Return a model in which an element has attributes, besides what it needs."""
    words = "".join(f' {key}="{value}"' for key, value in attributes.items())
    slots = dict.fromkeys(re.findall(r"\{(\w+)\}", WHOLE), "")
    tag, holder = element.path[-1], element.path[-2]
    if len(element.path) == 2 and tag in PLACES:
        slots[tag] = words
    elif len(element.path) == 4:  # in a tendon
        other = {"site": '<site site="r"/>', "geom": '<site site="s"/>'}.get(tag, "")
        inner = f"<{tag} {needs}{words}/>"
        inside = f'<site site="s"/>{inner}<site site="r"/>' if holder == "spatial" else inner
        slots["in_tendon"] = (
            f'<{holder} name="v">{other if holder == "spatial" and tag == "site" else ""}{inside}</{holder}>'
        )
    else:
        inside = ""
        if tag in ("spatial", "fixed"):
            inside = '<site site="s"/><site site="r"/>' if tag == "spatial" else '<joint joint="j" coef="1"/>'
        slots[f"in_{holder}"] = f"<{tag} {needs}{words}>{inside}</{tag}>"
    return WHOLE.format(**slots)


def compiled(text: str) -> dict[str, Any] | None:
    """Return what MuJoCo makes of a text by itself, by the names of its arrays; None if it refuses it."""
    try:
        return arrays_of(mujoco.MjModel.from_xml_string(text))
    except (ValueError, mujoco.FatalError):
        return None


def arrays_of(model: mujoco.MjModel) -> dict[str, Any]:
    """Return the arrays and settings of a model by their names."""
    found: dict[str, Any] = {}
    for name in dir(model):
        value = getattr(model, name)
        if name in ("opt", "stat"):
            found |= {f"{name}.{each}": np.array(getattr(value, each)) for each in dir(value) if each[0] != "_"}
        elif name == "vis":
            for part in (each for each in dir(value) if each[0] != "_" and each != "global_"):
                of = getattr(value, part)
                found |= {f"vis.{part}.{each}": np.array(getattr(of, each)) for each in dir(of) if each[0] != "_"}
            of = value.global_
            found |= {f"vis.global.{each}": np.array(getattr(of, each)) for each in dir(of) if each[0] != "_"}
        elif isinstance(value, np.ndarray) or (isinstance(value, int) and name[0] == "n"):
            found[name] = np.array(value)
    return found


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> set[str]:
    """Return the names of what differs."""
    return {
        name for name, value in one.items() if not np.array_equal(value, other[name], equal_nan=value.dtype.kind == "f")
    }


def changes(element: Element) -> tuple[str, dict[str, str]] | None:
    """Return what an element needs, and a value of each attribute that changes the model by itself.

    None if there is no model with the element.
    """
    for needs in NEEDS:
        plain = compiled(text_with(element, {}, needs))
        if plain is not None:
            break
    else:
        return None
    found = {}
    for key in element.attributes:
        if f'{key}="' in needs or key in OTHERS:
            continue
        for value in VALUES:
            made = compiled(text_with(element, {key: value}, needs))
            if made is not None and differing(plain, made):
                found[key] = value
                break
    return needs, found
