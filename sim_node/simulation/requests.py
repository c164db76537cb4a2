"""Requests to a run, each declared once: services, commands, tools and the viewer's forms follow from the declaration.

    @request("attach")
    def attach(context: RequestContext, /, name: str, parent: str, *, pose: Pose | None = None) -> str:
        \"\"\"Fix a body that floats free to a frame.

        Args:
            context: The run.
            name: A body that floats free.
            parent: A frame.
            pose: Its pose in the frame.
        \"\"\"

The signature has the arguments, their types and defaults; those before the asterisk are positional on the command line.
The docstring says what the request does, and what each argument is. The function returns a line about what it did.
"""

from __future__ import annotations

import inspect
import math
import re
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import numpy as np

from sim_node.registry import Registry
from sim_node.text import did_you_mean, shown
from sim_node.world.quantities import Flag, Number, Plain, Text, Whole, Word
from sim_node.world.readers.numbers import from_euler

if TYPE_CHECKING:
    from sim_node.world.model import World

F = TypeVar("F", bound=Callable[..., str])
Check = Callable[[Mapping[str, Any]], object]
# The default of required arguments.
NEEDED: Any = inspect.Parameter.empty


@dataclass(frozen=True)
class Floats(Plain):
    """A list of finite numbers with one of several lengths, which users separate with commas."""

    counts: tuple[int, ...]
    meaning: str

    def settled(self, found: Any, owner: str, key: str) -> list[float]:
        """Return the numbers. Raises ValueError if their count is wrong or one is not finite."""
        are_finite = all(isinstance(each, int | float) and math.isfinite(each) for each in found)
        if len(found) not in self.counts or not are_finite:
            raise ValueError(f"{found} is not {self.meaning}")
        return list(map(float, found))


class PoseFloats(Floats):
    """A position, or one with roll, pitch and yaw in degrees, or with a quaternion [x y z w]."""

    def settled(self, found: Any, owner: str, key: str) -> list[float]:
        """Return position and unit quaternion (7,). Raises ValueError if the numbers are not a pose."""
        given = super().settled(found, owner, key)
        if len(given) == 6:
            return [*given[:3], *from_euler(np.radians(given[3:])).tolist()]
        turn = given[3:] or [0.0, 0.0, 0.0, 1.0]
        length = math.hypot(*turn)
        if abs(length - 1.0) > 0.01:
            raise ValueError(f"{found}: the quaternion's norm is {length:.6g}, a rotation needs 1")
        return [*given[:3], *(part / length for part in turn)]


class WordsOf(Plain):
    """A list of words, which users separate with spaces."""

    def settled(self, found: Any, owner: str, key: str) -> list[str]:
        """Return the words. Raises ValueError if there is anything else."""
        if not all(isinstance(each, str) for each in found):
            raise ValueError(f"{found} is not a list of words")
        return list(found)


class FileArgument(Text):
    """A file that the run reads: a path, a URI or a shipped name. The argument `text`, its content, may replace it."""


class ContentOf(Text):
    """The content of a file, which programs can pass instead of the file."""


@dataclass(frozen=True)
class NameOf(Text):
    """The name of something in the world of a run.

    Attributes:
        kind: The kind of entity, for messages.
        names: Returns the names in a world.
    """

    kind: str = ""
    names: Callable[[World], Sequence[str]] = lambda world: ()


def _frames_of(world: World) -> Sequence[str]:
    from sim_node.world.checks import entries_of  # imported here: all commands import requests, but most need no world

    return [entry.name for entry in entries_of(world)]


def _vehicles_of(world: World) -> Sequence[str]:
    from sim_node.world.bases import Base
    from sim_node.world.vehicles import Multirotor

    return [*(each.name for each in world.of(Multirotor)), *(each.name for each in world.of(Base))]


_POSE = "X,Y,Z in m; X,Y,Z,ROLL,PITCH,YAW with degrees; or X,Y,Z,QX,QY,QZ,QW"
Pose = Annotated[list[float], PoseFloats((3, 6, 7), _POSE)]
Twist = Annotated[list[float], Floats((6,), "VX,VY,VZ,WX,WY,WZ in m/s and rad/s")]
Words = Annotated[list[str], WordsOf()]
File = Annotated[str, FileArgument()]
Content = Annotated[str, ContentOf()]
BodyName = Annotated[str, NameOf(kind="body", names=_frames_of)]
VehicleName = Annotated[str, NameOf(kind="vehicle", names=_vehicles_of)]
_HOLDS: Mapping[Any, Plain] = {str: Text(), bool: Flag(), int: Whole(), float: Number()}
_NEEDED = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}


@dataclass(frozen=True)
class Argument:
    """An argument of a request.

    Attributes:
        name: Name of the argument.
        kind: Type: str, bool, int, float, list[float] or list[str].
        holds: Allowed values.
        about: Description.
        default: Default value; NEEDED if the argument is required.
        is_positional: Whether it is positional on the command line.
    """

    name: str
    kind: Any
    holds: Plain
    about: str
    default: Any
    is_positional: bool

    def read(self, text: str) -> Any:
        """Return the value that a user has entered as text. Raises ValueError if it is invalid."""
        if self.kind == list[str]:
            return text.split()
        try:
            found = list(map(float, text.split(","))) if self.kind == list[float] else self.kind(text)
        except ValueError:
            raise ValueError(f"{text!r} is not {self._needed}") from None
        return self.checked(found)

    def checked(self, value: Any) -> Any:
        """Return a value converted for the request. Raises ValueError if its type is wrong or it is out of range."""
        is_list = typing.get_origin(self.kind) is list
        if is_list and not isinstance(value, str | bool | int | float):
            return self.holds.settled(list(value), "", self.name)  # any sequence, such as an array of a message
        if self.kind is float and type(value) is int:
            value = float(value)
        if is_list or type(value) is not self.kind:
            raise ValueError(f"{value!r:.60} is not {self._needed}")
        for _, fault in self.holds.faults(value):
            raise ValueError(fault)
        return value

    @property
    def _needed(self) -> str:
        return self.holds.meaning if isinstance(self.holds, Floats) else _NEEDED.get(self.kind, "a list of words")


@dataclass(frozen=True)
class Request:
    """A request to a run.

    Attributes:
        name: Name of the request.
        run: Carries out the request: takes the context of a run and the arguments, and returns a line on what it did.
        summary: Description in one line.
        note: Further description.
        arguments: The arguments.
        check: Checks the arguments in combination. Raises ValueError.
    """

    name: str
    run: Callable[..., str]
    summary: str
    note: str
    arguments: tuple[Argument, ...]
    check: Check

    @property
    def is_bare(self) -> bool:
        """Whether it can be made without arguments."""
        return not any(each.default is NEEDED or isinstance(each.holds, FileArgument) for each in self.arguments)

    def checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments converted for the function. Raises ValueError if they are invalid."""
        known, found = {each.name: each for each in self.arguments}, {}
        for name, value in given.items():
            if name not in known:
                allowed = ", ".join(known) or "nothing"
                raise ValueError(f"{self.name} has no {shown(name)!r}{did_you_mean(name, known)} (allowed: {allowed})")
            try:
                found[name] = known[name].checked(value)
            except ValueError as error:
                raise ValueError(f"{shown(name)}: {error}") from None
        for each in self.arguments:
            if each.default is NEEDED and given.get(each.name) in (None, "", []):
                raise ValueError(f"{self.name} needs {each.name}")
        self.check(found)
        return found


def _declared(name: str, function: Callable[..., str], check: Check) -> Request:
    """Return the request that a function declares."""
    text, _, rest = (inspect.getdoc(function) or "").partition("\n\nArgs:\n")
    section = rest.partition("\n\n")[0]
    abouts = dict(re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", section, re.MULTILINE))
    hints = typing.get_type_hints(function, include_extras=True)
    _, *own = inspect.signature(function).parameters.values()
    arguments = tuple(_argument(each, hints[each.name], abouts.get(each.name, "")) for each in own)
    summary, _, note = text.partition("\n")
    return Request(name, function, summary, " ".join(note.split()), arguments, check)


def _argument(parameter: inspect.Parameter, hint: Any, about: str) -> Argument:
    """Return the argument that a parameter of a function declares."""
    # For `Pose | None`, take Pose.
    hint = next((each for each in typing.get_args(hint) if typing.get_origin(each) is Annotated), hint)
    kind, holds = typing.get_args(hint)[:2] if typing.get_origin(hint) is Annotated else (hint, _HOLDS.get(hint))
    if typing.get_origin(hint) is Literal:
        kind, holds = str, Word(typing.get_args(hint))
    if not about or holds is None:
        raise TypeError(f"argument {parameter.name}: a type that requests have and a line of docstring are needed")
    about = " ".join(about.split()).rstrip(".")
    about = about[0].lower() + about[1:] if about[1:2].islower() or about[1:2] == " " else about
    if isinstance(holds, Floats):
        about += f": {holds.meaning}"
    elif isinstance(holds, Number) and math.isfinite(holds.high):
        about += f", {holds.allowed()}"
    is_positional = parameter.kind is not parameter.KEYWORD_ONLY
    return Argument(parameter.name, kind, holds, about, parameter.default, is_positional)


REQUESTS: Registry[str, Request] = Registry(
    "request", shipped=("sim_node.session.requests",), group="sim_node.requests"
)


def request(name: str, check: Check = lambda given: None) -> Callable[[F], F]:
    """Register a function as a request.

    Args:
        name: Name of the request, which is the verb of ~/change, the subcommand and the name of the tool.
        check: Checks the arguments in combination. Raises ValueError.

    Returns:
        The decorator.
    """

    def enter(function: F) -> F:
        REQUESTS.add(name, module=function.__module__)(_declared(name, function, check))
        return function

    return enter


def carry_out(context: object, name: str, given: Mapping[str, Any]) -> str:
    """Carry out a request.

    Args:
        context: The run; see `sim_node.session.requests.RequestContext`.
        name: The request.
        given: The arguments by name.

    Returns:
        A line on what it did.

    Raises:
        ValueError: There is no such request, or its arguments are wrong. Exceptions of the request are passed on.
    """
    if name not in REQUESTS:
        raise ValueError(f"verb {shown(name)!r}; allowed: {', '.join(REQUESTS)}{did_you_mean(name, REQUESTS)}")
    entry = REQUESTS[name]
    done = entry.run(context, **entry.checked(given))
    REQUESTS.expect(name, done, str, "a text")
    return done
