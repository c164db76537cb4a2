"""Worlds as YAML: a file that reads back as the same world, to the last bit of its numbers."""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from sim_node.names import SENSOR_PATTERNS
from sim_node.world.declared import data_of
from sim_node.world.fields import is_provenance
from sim_node.world.model import World
from sim_node.world.part import PARTS, Refer
from sim_node.world.problems import NO_PLACE, Problem, Where, refuse_any, shown_key
from sim_node.world.readers.numbers import NON_FINITE, as_number
from sim_node.world.readers.yaml_section import SECTIONS
from sim_node.world.readers.yaml_values import FALSE, NULL, TRUE
from sim_node.world.readers.yaml_world import read_data
from sim_node.world.writers.values import given

# Fields of a world other than its parts.
SETTINGS = ("name", "fixed_frame", "origin", "time", "physics", "static_patterns")
# Tolerance for numbers that reading changes, such as a quaternion from single precision, which is normalised.
CLOSE = 1e-6
_WORDS = frozenset((*NULL, *TRUE, *FALSE))


def absolute(path: Path) -> str:
    """Return an absolute path."""
    return str(path.resolve())


def to_yaml(world: World, refer: Refer = absolute) -> str:
    """Return the text of a world file.

    Defaults and included parts are written in full; vehicles are written on their bodies; models are included from
    their files.

    Args:
        world: The world.
        refer: Returns the reference to a mesh or a model in the file; by default, its absolute path.

    Returns:
        The text.

    Raises:
        WorldError: Lists everything that world files cannot express: markers, ranges of positions, options of
            MuJoCo and the like.
    """
    sections = Sections.of(world, refer)
    where = Where(world.source)
    wordless = [_wordless(kind, where, reason) for kind, reason in sections.wordless.items()]
    refuse_any(wordless or _unwritable(world))
    return yaml.dump(
        sections.data, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=120, allow_unicode=True
    )


class Sections(NamedTuple):
    """The sections of a world file as plain data, in the order in which they are read.

    spans: for each kind whose parts are in the list of another section, that section, the index of the first part, and
    the index after the last. wordless: the kinds that world files cannot express, and the reason if known.
    """

    data: dict[str, Any]
    spans: dict[str, tuple[str, int, int]]
    wordless: dict[str, str]

    @classmethod
    def of(cls, world: World, refer: Refer = absolute) -> Sections:
        """Return the sections of a world."""
        data: dict[str, Any] = {}
        spans: dict[str, tuple[str, int, int]] = {}
        wordless: dict[str, str] = {}
        for kind in PARTS.values():
            if kind.parts(world):
                first = len(data.get(kind.section, ()))
                try:
                    kind.write(world, data, refer)
                except NotImplementedError as reason:
                    wordless[kind.name] = str(reason)
                if kind.section != kind.name:
                    spans[kind.name] = (kind.section, first, len(data.get(kind.section, ())))
        data.update(_settings(world))
        return cls({key: data[key] for key in (*SECTIONS, *data) if key in data}, spans, wordless)


def _settings(world: World) -> dict[str, Any]:
    """Return the fields of a world other than its parts."""
    patterns = list(world.static_patterns) if world.static_patterns != SENSOR_PATTERNS else None
    settings = {
        "world": world.name,
        "fixed_frame": world.fixed_frame,
        "origin": world.origin,
        "time": data_of(world.time),
    }
    return given({**settings, "static_patterns": patterns, "physics": physics_data(world)})


def physics_data(world: World) -> dict[str, Any]:
    """Return the physics as data."""
    return data_of(world.physics)


# What cannot be written


def _unwritable(world: World) -> Iterator[Problem]:
    """Yield what is lost or rejected when the sections of a world are read back."""
    context, report = read_data(Sections.of(world).data, world)
    yield from report.errors
    if report.errors:
        return
    back = context.world()
    for key in SETTINGS:
        for at in _differing(getattr(world, key), getattr(back, key), key):
            yield _wordless(at, Where(world.source))
    for name, kind in PARTS.items():
        before, after = kind.parts(world), kind.parts(back)
        if len(before) != len(after):
            yield Problem(Where(world.source), name, f"a world file can express only {len(after)} of {len(before)}")
            continue
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            for at in _differing(one, other, f"{name}[{index}]"):
                yield _wordless(at, getattr(one, "place", NO_PLACE).where)


def _wordless(at: str, where: Where, reason: str = "") -> Problem:
    return Problem(where, at, reason or f"a world file cannot express {at.rpartition('.')[2]}")


def _differing(one: Any, other: Any, at: str) -> Iterator[str]:
    """Yield the key paths below `at` that differ by more than rounding."""
    if is_dataclass(one) and type(one) is type(other):
        for field in fields(one):
            if not is_provenance(field):
                yield from _differing(getattr(one, field.name), getattr(other, field.name), f"{at}.{field.name}")
    elif isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in dict.fromkeys((*one, *other)):
            yield from _differing(one.get(key), other.get(key), f"{at}.{shown_key(str(key))}")
    elif isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)) and len(one) == len(other):
        for index, (first, second) in enumerate(zip(one, other, strict=True)):
            yield from _differing(first, second, f"{at}[{index}]")
    elif not _same(one, other):
        yield at


def _same(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    if isinstance(one, (str, bytes)):
        return bool(one == other)
    if isinstance(one, Path) and isinstance(other, Path):
        return one.resolve() == other.resolve()
    first, second = np.asarray(one), np.asarray(other)
    if first.dtype.kind in "fiub" and second.dtype.kind in "fiub" and first.shape == second.shape:
        return bool(np.allclose(first, second, rtol=CLOSE, atol=CLOSE, equal_nan=True))
    return bool(np.array_equal(first, second))


# Text


class _Dumper(yaml.SafeDumper):
    """A dumper whose texts and numbers are read back as texts and numbers by the reader of world files."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    looks_otherwise = text in _WORDS or text.lower() in NON_FINITE or not math.isnan(as_number(text))
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="'" if looks_otherwise else None)


def _represent_decimal(dumper: yaml.SafeDumper, number: decimal.Decimal) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:float", format(number, "f"))


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(decimal.Decimal, _represent_decimal)
