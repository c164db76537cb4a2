"""Mutations of YAML and XML as trees: what they give is well formed, and says what nobody means."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import yaml

from stress.mutations import NUMBERS, ODD

# Values that a YAML file may hold in any place.
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, -(2**63), 10**30, 0.0, 1e-320, 1e308, -1e300, math.nan, math.inf, "", " ",
    "map",
    "none", "../x", "/etc/passwd", "a" * 3000, [], {}, [0, 0, 0], [1, 2], [[1]], [math.nan] * 3, [1e308] * 3, [0, 0,
    0, 0],
    {"a": 1}, {"name": "map"}, [None], [{}], [[[[[[]]]]]], *ODD,
)  # fmt: skip
Slot = tuple[Any, Any]


def broken_yaml(text: str, rng: Random, keys: Sequence[str], words: Sequence[str]) -> bytes:
    """Return a YAML file whose tree has other values, keys and places.

    Args:
        text: A sound file.
        rng: The random numbers.
        keys: That files of this format have.
        words: That stand for choices in such files.
    """
    root = yaml.load(text, yaml.CSafeLoader)
    for _ in range(rng.choice((1, 1, 2, 4))):
        slots = list(_slots(root))
        if not slots:
            break
        holder, key = rng.choice(slots)
        what = rng.randrange(8)
        if what < 2:
            holder[key] = rng.choice(VALUES)
        elif what == 2:
            holder[key] = rng.choice(words)
        elif what == 3 and isinstance(holder[key], int | float):
            holder[key] = holder[key] * rng.choice((-1, 0, 1e-9, 1e9, 1e150, 0.5)) + rng.choice((0, 1e-12, 1))
        elif what == 4:
            other, at = rng.choice(slots)
            holder[key] = other[at]  # shared: becomes an anchor, or a loop
        elif what == 5:
            del holder[key]
        elif what == 6 and isinstance(holder, dict):
            holder[rng.choice(keys)] = rng.choice((holder[key], rng.choice(VALUES)))
        elif isinstance(holder, list):
            holder[key:key] = [holder[key]] * rng.choice((1, 2, 50))
        else:
            holder[rng.choice(keys)] = holder.pop(key)
    try:
        return str(yaml.dump(root, Dumper=yaml.CSafeDumper, allow_unicode=True, sort_keys=False)).encode()
    except (RecursionError, yaml.YAMLError):
        return b"{}"


def _slots(value: Any) -> Iterator[Slot]:
    stack, seen = [value], set()
    while stack:
        value = stack.pop()
        if id(value) in seen or not isinstance(value, list | dict):
            continue
        seen.add(id(value))
        for key in value if isinstance(value, dict) else range(len(value)):
            yield value, key
            stack.append(value[key])


def broken_xml(text: str, rng: Random, pool: Sequence[tuple[str, dict[str, str]]]) -> bytes:
    """Return an XML file whose elements have other attributes, names and places.

    Args:
        text: A sound file.
        rng: The random numbers.
        pool: Names and attributes of elements of this format, as `elements` has them.
    """
    root = ElementTree.fromstring(text)
    for _ in range(rng.choice((1, 1, 2, 4))):
        parents = [each for each in root.iter() if len(each)]
        parent = rng.choice(parents) if parents else root
        element = rng.choice(list(root.iter()))
        what = rng.randrange(10)
        if what < 4 and element.attrib:
            name = rng.choice(list(element.attrib))
            element.set(name, _other(element.get(name, ""), rng, pool))
        elif what == 4:
            name, attributes = rng.choice(pool)
            for key, value in attributes.items():
                if rng.random() < 0.5:
                    element.set(key, value)
        elif what == 5:
            element.tag = rng.choice(pool)[0]
        elif what == 6 and len(parent):
            parent.remove(rng.choice(list(parent)))
        elif what == 7 and len(parent):
            child = rng.choice(list(parent))
            if element not in child.iter():
                element.append(child)
        elif what == 8 and len(parent):
            for _ in range(rng.choice((1, 2, 40))):
                parent.append(parent[0])
        else:
            name, attributes = rng.choice(pool)
            ElementTree.SubElement(element, name, attributes)
    return bytes(ElementTree.tostring(root))


def elements(text: str) -> list[tuple[str, dict[str, str]]]:
    """Return name and attributes of each element of a file."""
    return [(each.tag, dict(each.attrib)) for each in ElementTree.fromstring(text).iter()]


def _other(value: str, rng: Random, pool: Sequence[tuple[str, dict[str, str]]]) -> str:
    """Return another value of an attribute: one of its numbers hostile, more or fewer of them, or another's."""
    parts, what = value.split(), rng.randrange(6)
    if what == 0 or not parts:
        return rng.choice(NUMBERS)
    if what == 1:
        parts[rng.randrange(len(parts))] = rng.choice(NUMBERS)
    elif what == 2:
        del parts[rng.randrange(len(parts)) :]
    elif what == 3:
        parts *= rng.choice((2, 50))
    elif what == 4:
        return rng.choice([each for _, attributes in pool for each in attributes.values()] or [""])
    else:
        # What XML cannot hold the writer would not escape.
        odd = rng.choice([each for each in ODD if each not in ("\0", "\x0b")])
        parts[rng.randrange(len(parts))] += odd
    return " ".join(parts)
