"""What an FMU says of itself: its version, variables and abilities, from modelDescription.xml. Nothing of it is run."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from pathlib import Path
from xml.etree.ElementTree import Element

DESCRIPTION = "modelDescription.xml"
VERSIONS = ("2.0", "3.0")
# More than any description needs.
_MAX_BYTES = 64 * 1024 * 1024
# The types of FMI 2 and 3 that have values here, and the Python types of these. Binaries and clocks have none.
TYPES: Mapping[str, type] = {
    **dict.fromkeys(("Real", "Float64", "Float32"), float),
    **dict.fromkeys(("Integer", "Enumeration"), int),
    **{f"{sign}Int{bits}": int for sign in ("", "U") for bits in (8, 16, 32, 64)},
    "Boolean": bool,
    "String": str,
}
NOUNS = {float: "a number", int: "a whole number", bool: "true or false", str: "a text"}


class FmuFault(ValueError):
    """A file is no FMU that can be run here; the message says why."""


@dataclass(frozen=True)
class Variable:
    """A variable of an FMU.

    Attributes:
        name: Its name.
        type: Its type, as FMI calls it.
        causality: input, output, parameter, ...
        size: How many values it has; None for a scalar.
    """

    name: str
    type: str
    causality: str
    size: int | None = None

    def takes(self, value: object) -> str:
        """Return why it cannot have a value.

        Args:
            value: A number, a truth value, a text, or a list of them.

        Returns:
            The reason; empty if it can have it.
        """
        wanted = TYPES.get(self.type)
        if wanted is None:
            return f"is of the type {self.type}, which has no values here"
        each = value if isinstance(value, (list, tuple)) else [value]
        if len(each) != (self.size or 1):
            return f"has {self.size or 1} values, found {len(each)}"
        fits = all(
            isinstance(one, (bool if wanted is bool else str if wanted is str else (int, float)))
            and (wanted is bool or not isinstance(one, bool))
            and (wanted is not int or float(one) % 1.0 == 0.0)
            for one in each
        )
        return "" if fits else f"is of the type {self.type}; {NOUNS[wanted]} is needed, found {value!r}"


@dataclass(frozen=True)
class Description:
    """What an FMU says of itself.

    Attributes:
        version: "2.0" or "3.0".
        model: Its name.
        variables: Its variables by name.
        saves: Whether its state can be saved and put back.
    """

    version: str
    model: str
    variables: Mapping[str, Variable]
    saves: bool

    @property
    def outputs(self) -> tuple[Variable, ...]:
        """The outputs that have values here."""
        return tuple(each for each in self.variables.values() if each.causality == "output" and each.type in TYPES)


def description_of(path: Path) -> Description:
    """Read what an FMU says of itself.

    Args:
        path: The file, an archive.

    Returns:
        The description.

    Raises:
        FmuFault: It is no FMU for co-simulation of FMI 2 or 3.
        OSError: It cannot be read.
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
    # Of structural parameters, by which arrays may be sized.
    starts = {each.get("valueReference", ""): each.get("start", "1") for each in elements}
    found = [_variable(each, version, starts) for each in elements]
    state = "FMUState" if version == "3.0" else "FMUstate"
    saves = all(about.get(f"can{verb}{state}") in ("true", "1") for verb in ("GetAndSet", "Serialize"))
    return Description(version, root.get("modelName", ""), {each.name: each for each in found}, saves)


def _variable(element: Element, version: str, starts: Mapping[str, str]) -> Variable:
    """Return a variable. FMI 2 has its type as an element below it, and no arrays."""
    kind = element.tag
    sizes = [
        int(each.get("start") or starts.get(each.get("valueReference", ""), "1"))
        for each in element.findall("Dimension")
    ]
    if version == "2.0":
        kind = next((each.tag for each in element if each.tag in TYPES), "unknown")
    return Variable(element.get("name", ""), kind, element.get("causality", "local"), prod(sizes) if sizes else None)
