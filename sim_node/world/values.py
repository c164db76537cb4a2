"""The numbers of a World by their key paths, as in messages: bodies[ball].inertial.mass, physics.timestep."""

from __future__ import annotations

import copy
import numbers
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np

from sim_node import names
from sim_node.text import did_you_mean
from sim_node.world.fields import equal, is_provenance
from sim_node.world.model import World
from sim_node.world.part import PARTS
from sim_node.world.problems import quoted, refuse, refuse_any, shown_key
from sim_node.world.readers.yaml_section import Context
from sim_node.world.readers.yaml_world import read_data
from sim_node.world.writers.yaml import SETTINGS, Sections

Number = float | int | Decimal
# Keys that identify an entry of a list; the first one that exists is used.
LABELS = ("name", "frame", "joint", "prefix", "body", "type")
_STEP = re.compile(r"\.?(?P<key>'[^']*'|[^.\[\]']+)|\[(?P<label>[^\]]*)\]")
MAX_LISTED = 12


def value_at(world: World, path: str) -> Number:
    """Return the number at a key path. Raises WorldError with the nearest key if there is none."""
    return _Tree(world).number(path)


def numbers_of(world: World) -> dict[str, Number]:
    """Return all numbers in a world's file by their key paths, as in `value_at`."""
    return dict(_numbers(_Tree(world).sections, ""))


def _numbers(value: Any, path: str) -> Iterator[tuple[str, Number]]:
    """Yield the numbers in data and their paths."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _numbers(each, f"{path}.{shown_key(key)}".lstrip("."))
    elif isinstance(value, list):
        labels = [_label(entry) for entry in value]
        for index, each in enumerate(value):
            is_name = labels.count(labels[index]) == 1 and labels[index] and not set(labels[index]) & set("[]")
            yield from _numbers(each, f"{path}[{labels[index] if is_name else index}]")
    elif _is_number(value):
        yield path, value


def with_values(world: World, values: Mapping[str, Number]) -> World:
    """Return the world with other numbers at key paths. Unchanged parts are the same objects.

    Keys with default values may be given, too. Raises WorldError for paths that do not exist and for numbers that a
    world file could not have, and TypeError for values that are not numbers.
    """
    before, after = _Tree(world), _Tree(world)
    touched = {after.put(path, value) for path, value in values.items()}
    old, new = (_read({key: tree.sections.get(key) for key in touched}, world) for tree in (before, after))
    changes = {key: _merged(getattr(world, key), getattr(old, key), getattr(new, key)) for key in SETTINGS}
    parts = dict(world.parts)
    for name in dict.fromkeys((*old.parts, *new.parts)):
        parts[name] = _merged(world.parts.get(name, ()), tuple(old.parts.get(name, ())), tuple(new.parts.get(name, ())))
    # Its files no longer have the same content.
    return replace(world, **changes, parts=parts, files=())


class _Tree:
    """The contents of a world as data that key paths refer to."""

    def __init__(self, world: World) -> None:
        written = Sections.of(world)
        self.sections, self._spans = copy.deepcopy(written.data), written.spans

    def number(self, path: str) -> Number:
        """Return the number at a path."""
        value: Any = self.sections
        for step in self._steps(path):
            value = value[_found(value, step, path)]
        if not _is_number(value):
            refuse(path, f"is not a number but {_described(value)}")
        number: Number = value
        return number

    def put(self, path: str, value: Number) -> str:
        """Change the number at a path, or add it to a mapping. Return its section."""
        if not _is_number(value):
            raise TypeError(f"{path}: a number is needed, found {value!r:.60}")
        *above, last = steps = self._steps(path, adds=True)
        holder: Any = self.sections
        for step in above:
            key = self._settable(holder, step, path)
            if isinstance(holder, dict):
                holder.setdefault(key, {})
            holder = holder[key]
        key = self._settable(holder, last, path)
        if (isinstance(holder, list) or key in holder) and not _is_number(holder[key]):
            refuse(path, f"is not a number but {_described(holder[key])}")
        holder[key] = value.item() if isinstance(value, np.generic) else value
        return str(steps[0])

    def _settable(self, holder: Any, step: str | int, path: str) -> Any:
        """Return the key that a step stands for.

        In a mapping, it may be new: the reader decides whether it is allowed.
        """
        is_open = isinstance(holder, dict) and (holder is not self.sections or step in SETTINGS)
        return _key(holder, step) if is_open else _found(holder, step, path)

    def _steps(self, path: str, adds: bool = False) -> list[str | int]:
        """Return the keys and labels of a path.

        Names of kinds are replaced by the location of their parts in the sections. adds: whether to add a single part
        that the world lacks, with the defaults of its kind.
        """
        steps: list[str | int] = []
        at = 0
        while at < len(path):
            step = _STEP.match(path, at)
            if step is None:
                refuse(path, "is not a key path; an example is bodies[ball].inertial.mass")
            steps.append(step["label"] if step["key"] is None else step["key"])
            at = step.end()
        if not steps:
            refuse(path, "is not a key path; an example is bodies[ball].inertial.mass")
        name = str(steps[0])
        if name in self.sections or name not in PARTS:
            return steps
        if name not in self._spans:
            kind = PARTS[name]
            if not adds or kind.blank is None:
                refuse(path, f"the world has no {name}")
            entries = self.sections.setdefault(kind.section, [])
            self._spans[name] = (kind.section, len(entries), len(entries) + 1)
            entries.append(dict(kind.blank))
        section, first, last = self._spans[name]
        if PARTS[name].single:
            return [section, first, *steps[1:]]
        if len(steps) == 1:
            return [section]
        index = _found(self.sections[section][first:last], steps[1], path)
        return [section, first + int(index), *steps[2:]]


def _found(holder: Any, step: str | int, path: str) -> Any:
    """Return the key of a mapping, or the index in a list, that a step of a path stands for."""
    if isinstance(holder, Mapping):
        key = _key(holder, step)
        if key in holder:
            return key
        refuse(path, f"no {quoted(str(step))} here{did_you_mean(key, holder)} (known: {_listed(holder)})")
    if not isinstance(holder, list):
        refuse(path, f"nothing is below {_described(holder)}")
    if isinstance(step, int) or (step.isdecimal() and int(step) < len(holder)):
        return int(step)
    labels = [_label(entry) for entry in holder]
    # The body of a vehicle may be given by the name of the vehicle.
    wanted = step if step in labels else names.prefixed(str(step), names.BASE_LINK)
    matching = [index for index, label in enumerate(labels) if label == wanted]
    if len(matching) == 1:
        return matching[0]
    if matching:
        refuse(path, f"{len(matching)} entries have the name {quoted(step)}: {', '.join(f'[{k}]' for k in matching)}")
    named = list(dict.fromkeys(filter(None, labels)))
    known = f"[0] to [{len(holder) - 1}]" if holder else "nothing"
    among = f"{known}, {_listed(named)}" if named else known
    refuse(path, f"no [{step}] here{did_you_mean(step, named)} (known: {among})")


def _key(holder: Mapping[str, Any], step: str | int) -> str:
    key = str(step)
    return key if key in holder else key.strip("'")


def _label(entry: Any) -> str:
    return next((str(entry[key]) for key in LABELS if key in entry), "") if isinstance(entry, Mapping) else ""


def _listed(names: Any) -> str:
    names = list(names)
    return ", ".join(map(shown_key, names[:MAX_LISTED])) + (", ..." if len(names) > MAX_LISTED else "")


def _described(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"a mapping ({_listed(value)})"
    return f"a list of {len(value)}" if isinstance(value, list) else quoted(str(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, (numbers.Real, Decimal)) and not isinstance(value, (bool, np.bool_))


def _read(sections: dict[str, Any], world: World) -> Context:
    context, report = read_data({key: value for key, value in sections.items() if value is not None}, world)
    refuse_any(report.errors)
    return context


def _merged(kept: Any, old: Any, new: Any) -> Any:
    """Return `kept` where old and new are equal, otherwise `new`: field by field, item by item."""
    if equal(old, new):
        return kept
    if is_dataclass(new) and type(kept) is type(old) is type(new):
        names = [field.name for field in fields(new) if not is_provenance(field)]
        changes = {name: _merged(getattr(kept, name), getattr(old, name), getattr(new, name)) for name in names}
        return replace(kept, **changes)  # type: ignore[type-var]
    if isinstance(kept, tuple) and isinstance(old, tuple) and isinstance(new, tuple):
        if len(kept) == len(old) == len(new):
            return tuple(map(_merged, kept, old, new))
    elif isinstance(kept, Mapping) and isinstance(old, Mapping) and isinstance(new, Mapping):
        return {key: _merged(kept.get(key), old.get(key), value) for key, value in new.items()}
    elif all(isinstance(each, np.ndarray) for each in (kept, old, new)) and kept.shape == old.shape == new.shape:
        return np.where(old == new, kept, new)
    return new
