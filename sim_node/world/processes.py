"""Programs that run beside the simulation of a World: fields, commands split as in a shell, and their section."""

from __future__ import annotations

import re
import shlex
from typing import Any

from sim_node.world.declared import BAD, declared, given, keys_of, place_of, read
from sim_node.world.model import World
from sim_node.world.part import Kind, Refer, Rename, part
from sim_node.world.problems import NO_PLACE, Place, quoted
from sim_node.world.quantities import Number, Other, Text, Word
from sim_node.world.readers.keys import Form, by_name, one_or_each
from sim_node.world.readers.yaml_nodes import Scalar, Sequence
from sim_node.world.readers.yaml_section import Context, section
from sim_node.world.readers.yaml_values import NULL, Value

# When to restart a program that ended. A failure is any exit code but 0.
RESTARTS = ("never", "on-failure", "always")
_ARGUMENT: Form = {"type": ["string", "number", "boolean"]}
# Names of processes, which also name log files, and of environment variables.
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class ProgramArgument(Text):
    """Any scalar as it is spelled, since arguments of programs are text, even numbers."""

    def read(self, value: Value, context: Any) -> str:
        """Read a scalar."""
        node = value.node
        if not isinstance(node, Scalar) or (node.plain and node.text in NULL):
            value.error(f"a text is needed, found {value.found()}")
            return ""
        if "\0" in node.text:
            value.error("a program argument cannot contain a null character")
        return node.text


def _command(value: Value) -> tuple[str, ...]:
    """Read a list of words, or a text that is split as a shell would split it."""
    if isinstance(value.node, Sequence):
        words = tuple(ProgramArgument().read(item, None) for item in value.items())
    else:
        errors = len(value.report.errors)
        text = value.text()
        try:
            words = tuple(shlex.split(text))
        except ValueError as error:
            value.error(f"{quoted(text)} cannot be split into words: {error}")
        if len(value.report.errors) > errors:
            return ()
    if not words or not words[0]:
        value.error("is empty; a program name is needed")
    return words


def _environment(value: Value) -> tuple[tuple[str, str], ...]:
    variables = []
    for name, key, each in value.named("of environment variables to strings"):
        if not _VARIABLE.fullmatch(name):
            key.error("is not a name of an environment variable")
        variables.append((name, ProgramArgument().read(each, None)))
    return tuple(variables)


@declared
class Process:
    """A program that runs beside the simulation.

    It is started if the user starts the world's processes. Texts may contain ${VARIABLES}, which are expanded when the
    program starts.
    """

    name: str = given(None, "Unique in the world")
    command: tuple[str, ...] = given(
        Other(lambda about: one_or_each(about, _ARGUMENT), _command),
        "The program with its arguments: a list, or a text as for a shell",
    )
    cwd: str = given(ProgramArgument(), "The folder that it runs in, relative to this file", default="", omit=True)
    env: tuple[tuple[str, str], ...] = given(
        Other(lambda about: by_name(about, _ARGUMENT), _environment, writes=dict),
        "Environment variables",
        default=(),
        omit=True,
    )
    restart: str = given(Word(RESTARTS), "When it is started again after it has ended", default="never")
    log: str = given(ProgramArgument(), "The file that its output goes to", default="", omit=True)
    delay_s: float = given(Number(0.0, 3600.0), "Wait before it is started", "s", default=0.0, key="delay")
    place: Place = place_of(default=NO_PLACE)


@part("processes", Process)
class ProcessParts(Kind[Process]):
    """Programs to run beside the simulation."""

    starts_programs = True

    def write(self, world: World, sections: dict[str, Any], refer: Refer) -> None:
        """Add them as a mapping by name."""
        for process in self.parts(world):
            sections.setdefault(self.section, {})[process.name] = self.data(process, refer)

    def renamed(self, part: Process, rename: Rename) -> None:
        """Return None: programs of included worlds are not started."""


@section("processes", by_name("Programs that run beside the simulation, by name.", keys_of(Process)))
def read_processes(value: Value, context: Context) -> None:
    """Read a mapping of names to programs."""
    for name, key, entry in value.named("of names to programs"):
        process = read(Process, entry, context, name=name)
        if not _NAME.fullmatch(name):
            key.error("is not a process name; use letters, digits and, after the first character, _ . -")
        elif process is not BAD:
            context.add(process)
