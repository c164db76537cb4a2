"""Messages of any type: types by name, messages from YAML, and messages as YAML or CSV, as in ros2cli."""

from __future__ import annotations

import array
import importlib
import math
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import yaml
from rclpy.type_support import check_for_type_support
from rosidl_parser import definition as idl

from sim_node.packages import how_to_install
from sim_node.text import MAX_LINE, did_you_mean, printable, shown

TYPE_NAME = re.compile(r"[A-Za-z]\w*(/(msg|srv))?/[A-Za-z]\w*", re.ASCII)
# Field types that can stand for the current time, and the word for it in YAML.
_STAMPED = {"std_msgs/msg/Header": "auto", "builtin_interfaces/msg/Time": "now"}
_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_INTEGERS = {f"{sign}int{bits}": (sign, bits) for sign in ("", "u") for bits in (8, 16, 32, 64)}
_ELLIPSIS = "..."


class BadValue(ValueError):
    """A type or a value given by the user is invalid. The message is one line."""


# Types


def type_named(name: str, kind: str) -> Any:
    """Return the class of an interface.

    Args:
        name: package/Name or package/KIND/Name.
        kind: `msg` or `srv`.

    Returns:
        The class, whose type support is loaded.

    Raises:
        BadValue: The name is malformed, or the interface is not installed.
    """
    (package, *middle), last = name.split("/")[:-1] or [""], name.split("/")[-1]
    if not TYPE_NAME.fullmatch(name) or middle not in ([], [kind]):
        raise BadValue(f"{shown(name)!r} is not a type; write package/{kind}/Name")
    full = f"{package}/{kind}/{last}"
    try:
        module = importlib.import_module(f"{package}.{kind}")
    except ImportError as error:
        raise BadValue(f"{full} cannot be imported: {shown(how_to_install(error), MAX_LINE)}") from None
    found = getattr(module, last, None)
    if found is None:
        known = [each for each in vars(module) if each[:1].isupper()]
        raise BadValue(f"{full}: {package} has no such {kind}{did_you_mean(last, known)}")
    try:
        check_for_type_support(found)
    except Exception as error:  # rosidl has a class for each error, without a common base
        raise BadValue(f"{full} has no type support: {shown(str(error), MAX_LINE)}") from None
    return found


def slots(message: Any) -> dict[str, Any]:
    """Return the fields of a message or message class, with their types."""
    return dict(zip(message.get_fields_and_field_types(), message.SLOT_TYPES, strict=True))


def check_field(kind: Any, path: Sequence[str]) -> None:
    """Raise BadValue if a message type has no field at the path."""
    for depth, name in enumerate(path):
        known = slots(kind) if hasattr(kind, "SLOT_TYPES") else {}
        if name not in known:
            at = ".".join(path[: depth + 1])
            what = f"of {_full_name(kind)}" if known else "inside a field that is no message"
            raise BadValue(f"no field {shown(at)!r} {what}{did_you_mean(name, known)}")
        kind = _class_of(known[name])


def _full_name(kind: Any) -> str:
    package, folder, *_ = kind.__module__.split(".")
    return f"{package}/{folder}/{kind.__name__}"


def _class_of(slot: Any) -> Any:
    """Return the class of a field that is a message; None for other fields."""
    if not isinstance(slot, idl.NamespacedType):
        return None
    return getattr(importlib.import_module(".".join(slot.namespaces)), slot.name)


# From YAML


def parsed(text: str) -> Any:
    """Parse YAML to mappings, lists and strings. The field types determine how strings are interpreted.

    Args:
        text: A mapping in YAML; empty for no values.

    Raises:
        BadValue: The text is not valid YAML, or a key occurs twice.
    """
    try:
        values = yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise BadValue(f"the values are not YAML: {shown(error.problem or str(error), MAX_LINE)}{at}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise BadValue(f"the values are not YAML: {shown(' '.join(str(error).split()), MAX_LINE)}") from None
    return {} if values in (None, "") else values


class _Loader(yaml.BaseLoader):
    """Loads strings, lists and mappings only. Rejects duplicate keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            if not name or name in seen:
                problem = f"{shown(name)} is given twice" if name else "a key must be the name of a field"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)


def filled(kind: Any, values: Any, now_ns: int = 0) -> Any:
    """Return a message with some fields set and defaults in the others.

    Args:
        kind: The class of the message.
        values: A mapping, as returned by `parsed`. `auto` in place of a Header, and `now` in place of a Time, mean the
            current time.
        now_ns: The current time (ns).

    Raises:
        BadValue: A field does not exist, or its value does not fit it; the message names the field.
    """
    return _message(kind, values, "", now_ns)


def _message(kind: Any, values: Any, path: str, now_ns: int) -> Any:
    message, known = kind(), slots(kind)
    if values == _STAMPED.get(_full_name(kind)):
        stamp = message.stamp if values == "auto" else message
        stamp.sec, stamp.nanosec = divmod(now_ns, 1_000_000_000)
        return message
    if not isinstance(values, Mapping):
        raise _misfit(path, f"a mapping of fields of {_full_name(kind)}", values)
    for name, value in values.items():
        at = f"{path}.{name}" if path else name
        if name not in known:
            raise BadValue(f"{shown(at)}: {_full_name(kind)} has no such field{did_you_mean(name, known)}")
        setattr(message, name, _value(known[name], value, at, now_ns))
    return message


def _value(slot: Any, value: Any, path: str, now_ns: int) -> Any:
    """Convert a value to the type of a field."""
    if isinstance(slot, idl.AbstractNestedType):
        return _elements(slot, value, path, now_ns)
    if isinstance(slot, idl.NamespacedType):
        return _message(_class_of(slot), value, path, now_ns)
    if not isinstance(value, str):
        raise _misfit(path, f"a {_type_text(slot)}", value)
    if isinstance(slot, idl.AbstractGenericString):
        limit = getattr(slot, "maximum_size", None)
        if limit is not None and len(value) > limit:
            raise BadValue(f"{path}: {len(value)} characters; at most {limit} fit")
        return value
    return _basic(slot.typename, value, path)


def _elements(slot: Any, value: Any, path: str, now_ns: int) -> Any:
    if not isinstance(value, list):
        raise _misfit(path, f"a list ({_type_text(slot)})", value)
    size, limit = getattr(slot, "size", None), getattr(slot, "maximum_size", None)
    if size is not None and len(value) != size:
        raise BadValue(f"{path}: {len(value)} elements; {size} are needed")
    if limit is not None and len(value) > limit:
        raise BadValue(f"{path}: {len(value)} elements; at most {limit} fit")
    return [_value(slot.value_type, each, f"{path}[{k}]", now_ns) for k, each in enumerate(value)]


def _basic(type: str, text: str, path: str) -> Any:
    if type == "boolean":
        if text.lower() not in _BOOLEANS:
            raise _misfit(path, "true or false", text)
        return _BOOLEANS[text.lower()]
    if type in ("float", "double", "long double"):
        number = _number(text)
        if number is None or (type == "float" and math.isfinite(number) and abs(number) > 3.4028235677973366e38):
            raise _misfit(path, f"a number ({type})", text)
        return number
    sign, bits = _INTEGERS.get(type, ("u", 8))  # octet and char are bytes
    low, high = (0, 2**bits - 1) if sign else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    try:
        integer = int(text, 0) if not text.lstrip("+-").isdecimal() else int(text)
    except ValueError:
        raise _misfit(path, f"an integer ({type})", text) from None
    if not low <= integer <= high:
        raise BadValue(f"{path}: {shown(text)} does not fit into {type}; allowed: {low} to {high}")
    return bytes([integer]) if type == "octet" else integer


def _number(text: str) -> float | None:
    """Parse a number, which may be spelled .nan or -.inf as in YAML. Return None for other text."""
    try:
        return float(text.replace(".nan", "nan").replace(".inf", "inf"))
    except ValueError:
        try:
            return float(int(text, 0))
        except (ValueError, OverflowError):
            return None


def _misfit(path: str, needed: str, found: Any) -> BadValue:
    what = "a list" if isinstance(found, list) else "a mapping" if isinstance(found, dict) else repr(shown(str(found)))
    return BadValue(f"{path or 'the values'}: {needed} is needed, found {what}")


# To text


def as_yaml(message: Any, *, limit: int | None = 128, arrays: bool = True, flow: bool = False) -> str:
    """Return a message as `ros2 topic echo` prints it.

    Args:
        message: The message.
        limit: Maximum length of arrays and strings before they end in `...`; None for no limit.
        arrays: Whether to show arrays; if not, only their type and length.
        flow: Whether to write arrays on one line.
    """
    data = _plain(message, limit, arrays)
    return str(
        yaml.dump(data, Dumper=_Dumper, allow_unicode=True, width=sys.maxsize, sort_keys=False, default_flow_style=flow)
    )


class _Dumper(yaml.SafeDumper):
    """Writes each field of a message on its own line, whatever the style of arrays."""


_Dumper.add_representer(
    dict, lambda dumper, data: dumper.represent_mapping("tag:yaml.org,2002:map", data.items(), flow_style=False)
)


def as_data(message: Any, *, limit: int = 64) -> dict[str, Any]:
    """Return a message as plain data: numbers, strings, lists, mappings. Arrays and strings are cut at `limit`."""
    data = _plain(message, limit, True)
    assert isinstance(data, dict)
    return data


def as_csv(message: Any, *, limit: int | None = 128) -> str:
    """Return all values of a message on one line, separated by commas. An empty array is an empty value."""
    return _joined(_plain(message, limit, True))


def _joined(data: Any) -> str:
    if not isinstance(data, (dict, list)):
        return printable(str(data))
    line = ""
    for each in data.values() if isinstance(data, dict) else data:
        line += ("," if line else "") + _joined(each)
    return line


def _plain(value: Any, limit: int | None, arrays: bool) -> Any:
    """Convert a message or a field value to data that YAML can represent."""
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    if isinstance(value, str):
        return value if limit is None or len(value) <= limit else value[:limit] + _ELLIPSIS
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (list, tuple, array.array, np.ndarray)):
        few = value if limit is None else value[:limit]
        elements = few.tolist() if isinstance(few, (array.array, np.ndarray)) else few
        return [_plain(each, limit, arrays) for each in elements] + [_ELLIPSIS] * (len(value) > len(few))
    data = {}
    for name, slot in slots(value).items():
        field = getattr(value, name)
        hidden = not arrays and isinstance(slot, idl.AbstractNestedType)
        data[name] = _summary(slot, field) if hidden else _plain(field, limit, arrays)
    return data


def _summary(slot: Any, value: Any) -> str:
    """Return `<sequence type: double, length: 3>`, or the like."""
    element = _type_text(slot.value_type)
    if isinstance(slot, idl.Array):
        return f"<array type: {element}[{slot.size}]>"
    bound = f"[{slot.maximum_size}]" if isinstance(slot, idl.BoundedSequence) else ""
    return f"<sequence type: {element}{bound}, length: {len(value)}>"


def _type_text(slot: Any) -> str:
    if isinstance(slot, idl.AbstractNestedType):
        return f"{_type_text(slot.value_type)}[{getattr(slot, 'size', '')}]"
    if isinstance(slot, idl.NamespacedType):
        return "/".join(slot.namespaced_name())
    if isinstance(slot, idl.AbstractGenericString):
        limit = getattr(slot, "maximum_size", None)
        return "string" if limit is None else f"string<{limit}>"
    return str(slot.typename)
