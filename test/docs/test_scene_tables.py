"""The tables of docs/contact.md, docs/appearance.md and docs/viewing.md beside the keys and ranges of the readers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from sim_node.world.declared import holder_of, keys_of
from sim_node.world.physics import Physics
from sim_node.world.scene import Ground, Heightmap, Light, Sky, Viewpoint
from sim_node.world.shapes import Geometry
from sim_node.world.surfaces import FLAGS, Material, Surface

DOCS = Path(__file__).parents[2] / "docs"
CONTACT, APPEARANCE, VIEWING = (
    (DOCS / f"{name}.md").read_text(encoding="utf-8") for name in ("contact", "appearance", "viewing")
)


def rows(page: str, head: str) -> dict[str, str]:
    """The rows of the table whose first heading this is, by each key of their first cell."""
    table = page.partition(f"| {head} |")[2].partition("\n\n")[0]
    found = {}
    for line in table.splitlines()[2:]:
        for key in re.findall(r"`([^`]+)`", line.split("|")[1]):
            found[key] = line
    return found


FRICTION = ("sliding", "torsional", "rolling")
SHAPE = {*keys_of(Surface), "only", *(f"friction.{key}" for key in FRICTION)}
GROUND = {"height", "heightmap", *(f"heightmap.{key}" for key in keys_of(Heightmap))}


@pytest.mark.parametrize(
    ("page", "head", "keys"),
    [
        (CONTACT, "Key", SHAPE),
        (CONTACT, "Key of `ground`", GROUND),
        (CONTACT, "Key of `physics`", {"cone", "impratio", "solver", "iterations", "flags"}),
        (APPEARANCE, "Key of `material`", set(keys_of(Material))),
        (APPEARANCE, "Key of `lights`", set(keys_of(Light))),
        (APPEARANCE, "Key of `sky`", set(keys_of(Sky))),
        (VIEWING, "Key of `camera`", set(keys_of(Viewpoint))),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 30 else "",
)
def test_a_table_has_the_keys_that_are_read(page: str, head: str, keys: set[str]) -> None:
    assert set(rows(page, head)) == keys


def test_ground_and_shapes_share_their_keys() -> None:
    assert set(keys_of(Geometry)) >= {*keys_of(Surface), "material"}
    assert set(keys_of(Ground)) == {*keys_of(Surface), "material", "height", "heightmap", "color"}


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        *((Surface, key) for key in (*FRICTION, "restitution", "contact_time")),
        *((Material, key) for key in ("roughness", "texture_size")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_ranges_are_those_of_the_readers(kind: type[Any], key: str) -> None:
    holds: Any = holder_of(kind, key)
    low, high = holds.low, holds.high
    tables = {**rows(CONTACT, "Key"), **rows(APPEARANCE, "Key of `material`")}
    row = tables[f"friction.{key}" if key in FRICTION else key]
    assert f"{low:g} to {high:g}".replace("e+0", "e").replace("1e-06", "1e-6").replace("1e06", "1e6") in row


def test_options_of_the_solver_have_their_ranges_and_flags() -> None:
    table = rows(CONTACT, "Key of `physics`")
    for key in ("impratio", "iterations"):
        holds: Any = holder_of(Physics, key)
        low, high = holds.low, holds.high
        assert f"{low:g} to {high:g}".replace("e+0", "e") in table[key]
    assert re.findall(r"`(\w+)`", table["flags"].split("|")[5]) == list(FLAGS)
