"""The description of an FMU: version, variables and capabilities from modelDescription.xml, without running the FMU."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod
from pathlib import Path
from xml.etree.ElementTree import Element

DESCRIPTION = "modelDescription.xml"
VERSIONS = ("2.0", "3.0")
# Maximum size of a description, larger than any real one.
_MAX_BYTES = 64 * 1024 * 1024
# The supported types of FMI 2 and 3, with the Python types of their values. Binaries and clocks are not supported.
TYPES: Mapping[str, type] = {
    **dict.fromkeys(("Real", "Float64", "Float32"), float),
    **dict.fromkeys(("Integer", "Enumeration"), int),
    **{f"{sign}Int{bits}": int for sign in ("", "U") for bits in (8, 16, 32, 64)},
    "Boolean": bool,
    "String": str,
}
NOUNS = {float: "a number", int: "a whole number", bool: "true or false", str: "a text"}


STRUCTURAL = "structuralParameter"
# Maximum size of an array. A larger size is likely an error in a structural parameter.
MAX_SIZE = 1_000_000


class FmuFault(ValueError):
    """A file is not an FMU that can be run; the message says why."""


@dataclass(frozen=True)
class Variable:
    """A variable of an FMU.

    Attributes:
        name: Its name.
        type: Its FMI type.
        causality: input, output, parameter, ...
        size: The number of its values; None for a scalar.
        dimensions: The dimensions of an array: numbers, or the names of structural parameters.
    """

    name: str
    type: str
    causality: str
    size: int | None = None
    dimensions: tuple[int | str, ...] = ()

    def takes(self, value: object) -> str:
        """Check a value.

        Args:
            value: A number, boolean or string, or a list of them.

        Returns:
            Why the value is invalid; empty if it is valid.
        """
        wanted = TYPES.get(self.type)
        if wanted is None:
            return f"is of the type {self.type}, which has no values here"
        each = value if isinstance(value, (list, tuple)) else [value]
        size = 1 if self.size is None else self.size
        if len(each) != size:
            return f"has {size} values, found {len(each)}"
        fits = all(
            isinstance(one, (bool if wanted is bool else str if wanted is str else (int, float)))
            and (wanted is bool or not isinstance(one, bool))
            and (wanted is not int or float(one) % 1.0 == 0.0)
            for one in each
        )
        if fits and self.causality == STRUCTURAL and not all(one in range(MAX_SIZE + 1) for one in each):
            return f"is a structural parameter; 0 to {MAX_SIZE} is needed, found {value!r}"
        return "" if fits else f"is of the type {self.type}; {NOUNS[wanted]} is needed, found {value!r}"


@dataclass(frozen=True)
class Description:
    """The description of an FMU.

    Attributes:
        version: "2.0" or "3.0".
        model: Its name.
        variables: Its variables by name.
        saves: Whether its state can be saved and restored.
        lengths: The values of its structural parameters, by name.
    """

    version: str
    model: str
    variables: Mapping[str, Variable]
    saves: bool
    lengths: Mapping[str, int] = field(default_factory=dict)

    def started(self, values: Mapping[str, object]) -> Description:
        """Return the description with array sizes for given start values.

        Args:
            values: Start values by variable; only valid values of structural parameters have an effect.

        Returns:
            The description.
        """
        given = {
            name: int(value)  # type: ignore[call-overload]  # it fits
            for name, value in values.items()
            if name in self.lengths and not self.variables[name].takes(value)
        }
        lengths = {**self.lengths, **given}
        sized = {
            name: replace(each, size=_size(each.dimensions, lengths)) if each.dimensions else each
            for name, each in self.variables.items()
        }
        return replace(self, variables=sized, lengths=lengths) if given else self

    @property
    def outputs(self) -> tuple[Variable, ...]:
        """The outputs of supported types."""
        return tuple(each for each in self.variables.values() if each.causality == "output" and each.type in TYPES)


def description_of(path: Path) -> Description:
    """Read the description of an FMU.

    Args:
        path: The file, an archive.

    Returns:
        The description.

    Raises:
        FmuFault: The file is not an FMI 2 or 3 FMU for co-simulation.
        OSError: The file cannot be read.
    """
    return _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _read(path: Path, changed_ns: int) -> Description:
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import ParseError, fromstring

    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(DESCRIPTION).file_size > _MAX_BYTES:
                raise FmuFault(f"its {DESCRIPTION} is larger than {_MAX_BYTES >> 20} MiB")
            root: Element = fromstring(archive.read(DESCRIPTION))
    except zipfile.BadZipFile:
        raise FmuFault("is not an FMU: it is no zip archive") from None
    except KeyError:
        raise FmuFault(f"is not an FMU: it has no {DESCRIPTION}") from None
    except (ParseError, DefusedXmlException) as error:
        raise FmuFault(f"its {DESCRIPTION} cannot be read: {error}") from None
    version = root.get("fmiVersion", "none")
    if version not in VERSIONS:
        raise FmuFault(f"is an FMU of FMI {version}; allowed: {', '.join(VERSIONS)}")
    about = root.find("CoSimulation")
    if about is None:
        raise FmuFault("is an FMU without co-simulation, which is needed")
    listed = root.find("ModelVariables")
    elements = [] if listed is None else list(listed)
    sizing = [each for each in elements if each.get("causality") == STRUCTURAL]
    lengths = {each.get("name", ""): int(each.get("start", "1")) for each in sizing}
    names = {each.get("valueReference", ""): each.get("name", "") for each in sizing}
    found = [_variable(each, version, names, lengths) for each in elements]
    state = "FMUState" if version == "3.0" else "FMUstate"
    saves = all(about.get(f"can{verb}{state}") in ("true", "1") for verb in ("GetAndSet", "Serialize"))
    return Description(version, root.get("modelName", ""), {each.name: each for each in found}, saves, lengths)


def _variable(element: Element, version: str, names: Mapping[str, str], lengths: Mapping[str, int]) -> Variable:
    """Return a variable. In FMI 2, its type is a child element, and there are no arrays."""
    kind = element.tag
    dimensions: tuple[int | str, ...] = tuple(
        int(each.get("start", "0")) or names.get(each.get("valueReference", ""), 1)
        for each in element.findall("Dimension")
    )
    if version == "2.0":
        kind = next((each.tag for each in element if each.tag in TYPES), "unknown")
    size = _size(dimensions, lengths) if dimensions else None
    return Variable(element.get("name", ""), kind, element.get("causality", "local"), size, dimensions)


def _size(dimensions: tuple[int | str, ...], lengths: Mapping[str, int]) -> int:
    return prod(lengths[each] if isinstance(each, str) else each for each in dimensions)
