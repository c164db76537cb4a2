"""The sections `ground`, `lights` and `sky` of a world file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.declared import BAD, keys_of, read
from sim_node.world.image_files import image_fault
from sim_node.world.problems import quoted
from sim_node.world.readers.keys import Keys, either, listing, number, text, vector, word
from sim_node.world.readers.yaml_nodes import Scalar
from sim_node.world.readers.yaml_section import Context, section
from sim_node.world.readers.yaml_surfaces import (
    COLOUR,
    CONTACT_KEYS,
    MATERIAL_KEYS,
    read_colour,
    read_surface,
)
from sim_node.world.readers.yaml_values import Value
from sim_node.world.scene import ARRAYS, Ground, Heightmap, Light, Sky
from sim_node.world.scene_checks import MAX_HEIGHT, heightmap_faults
from sim_node.world.surfaces import TEXTURES

PLANE = "plane"
HEIGHTMAP_KEYS = Keys(
    {
        "file": text("An image, or an array in .npy, relative to this file."),
        "heights": listing("Rows of heights from south to north, m.", listing("", number("", -MAX_HEIGHT, MAX_HEIGHT))),
        "size": vector("Extent along x and y, m.", 2),
        "range": vector("Heights of black and white, m.", 2),
        "center": vector("Position of the centre, m.", 2),
    },
    required=("size",),
    exactly_one=(("file", "heights"),),
    about="Heights on a grid.",
)
GROUND_KEYS = Keys(
    {
        "height": number("Height of the plane, m.", -MAX_HEIGHT, MAX_HEIGHT),
        "heightmap": HEIGHTMAP_KEYS,
        "color": COLOUR,
        **CONTACT_KEYS,
        "material": MATERIAL_KEYS,
    }
)
LIGHT_KEYS, SKY_KEYS = keys_of(Light), keys_of(Sky)


@section("ground", either("An endless plane, or a heightmap.", word("", PLANE), GROUND_KEYS))
def read_ground(value: Value, context: Context) -> None:
    """Read the word `plane`, or a mapping."""
    ground = Ground(place=value.place)
    if isinstance(value.node, Scalar) and value.node.text != PLANE:
        value.error(f"`{PLANE}` or a mapping is needed ({', '.join(GROUND_KEYS)}), found {value.found()}")
    elif not isinstance(value.node, Scalar):
        errors = len(value.report.errors)
        table = value.table(GROUND_KEYS)
        height, heightmap, colour = (table.get(key) for key in ("height", "heightmap", "color"))
        fields: dict[str, Any] = {
            "height": 0.0 if height is None else height.number(-MAX_HEIGHT, MAX_HEIGHT),
            "heightmap": None if heightmap is None else _heightmap(heightmap, context),
            "colour": None if colour is None else read_colour(colour),
            **read_surface(table, context),
        }
        if len(value.report.errors) == errors:
            ground = Ground(**fields, place=value.place)
    context.add(ground)
    value.sets(ground, "ground")


@section("lights", listing("Lights of pictures.", LIGHT_KEYS))
def read_lights(value: Value, context: Context) -> None:
    """Read a list of lights."""
    lights = [light for entry in value.items() if (light := read(Light, entry)) is not BAD]
    for light in lights:
        context.add(light)
    value.sets(tuple(lights), "lights")


@section("sky", SKY_KEYS)
def read_sky(value: Value, context: Context) -> None:
    """Read the colours of the sky and the brightness of its light."""
    sky = read(Sky, value)
    if sky is not BAD:
        context.add(sky)
        value.sets(sky, "sky")


def _heightmap(value: Value, context: Context) -> Heightmap | None:
    """Read a heightmap, and check its file. Return None with the faults recorded."""
    errors = len(value.report.errors)
    table = value.table(HEIGHTMAP_KEYS)
    given = {key: each for key in HEIGHTMAP_KEYS if (each := table.get(key)) is not None}
    if ("file" in given) == ("heights" in given):
        value.error("one of file (an image, or an array in .npy) and heights (rows from south to north, m) is needed")
        return None
    vectors = {key: given[key].vector(2) for key in ("size", "range", "center") if key in given}
    file = _file(given["file"], context) if "file" in given else None
    rows = _rows(given["heights"]) if "heights" in given else None
    if len(value.report.errors) > errors or (file is None and rows is None):
        return None
    heightmap = Heightmap(
        np.array(vectors["size"]),
        rows,
        file,
        None if vectors.get("range") is None else np.array(vectors["range"]),
        np.array(vectors.get("center") or (0.0, 0.0)),
        {key: each.place for key, each in given.items()},
    )
    for key, message in heightmap_faults(heightmap):
        given[key].error(message) if key in given else value.error(f"{key} {message}")
    return heightmap if len(value.report.errors) == errors else None


def _file(value: Value, context: Context) -> Path | None:
    """Return the file of a heightmap, or None with the fault recorded."""
    found = context.find(value)
    if found is None:
        return None
    suffix = found[0].suffix.lower()
    if suffix not in (*ARRAYS, *TEXTURES):
        allowed = ", ".join((*ARRAYS, *TEXTURES))
        value.error(f"{quoted(found[0].name)} is not a supported heightmap; allowed: {allowed}")
        return None
    if suffix in TEXTURES and (fault := image_fault(found[0])):
        value.error(fault)
        return None
    context.report.read.append(found[0])
    return found[0]


def _rows(value: Value) -> FloatArray | None:
    """Read rows of heights, all of one length."""
    rows = [[each.number(-MAX_HEIGHT, MAX_HEIGHT) for each in row.items()] for row in value.items()]
    odd = next((index for index, row in enumerate(rows) if len(row) != len(rows[0])), None)
    if odd is not None:
        value.error(f"[{odd}] has {len(rows[odd])} heights, [0] has {len(rows[0])}; rows need the same length")
        return None
    return np.array(rows) if rows else np.zeros((0, 0))
