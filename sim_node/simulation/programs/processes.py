"""The processes of a world as programs, with variables expanded, and started on demand."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sim_node.simulation.programs.program import Program, ProgramFault, state_folder
from sim_node.simulation.programs.supervisor import Supervisor
from sim_node.world import World, WorldError
from sim_node.world.problems import Problem, refuse_any
from sim_node.world.processes import Process

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class VariableFault(ValueError):
    """A text has variables that cannot be expanded. The message gives the variable and the reason."""


def expanded(text: str, values: Mapping[str, str]) -> str:
    """Expand the variables of a text, and `~/` at its beginning and at the beginning of a value.

    Args:
        text: May contain `${NAME}`, `${NAME:-DEFAULT}` and `$$`. The default replaces a variable that is unset or
            empty, and may contain variables itself.
        values: The values of the variables by name.

    Returns:
        The expanded text.

    Raises:
        VariableFault: A variable has neither a value nor a default, or a `$` does not begin a variable.
    """
    result, rest = _expand(text, values, inside=False)
    assert not rest, "the text ends early only inside braces"
    return _at_home(result)


def _expand(text: str, values: Mapping[str, str], inside: bool) -> tuple[str, str]:
    """Return the expanded text and the rest: inside braces, the rest begins with the closing brace."""
    parts = []
    while text:
        plain = re.match(r"[^$}]*" if inside else r"[^$]*", text)
        assert plain is not None
        parts.append(plain[0])
        text = text[plain.end() :]
        if text.startswith("$$"):
            parts.append("$")
            text = text[2:]
        elif text.startswith("$"):
            value, text = _variable(text, values)
            parts.append(value)
        elif text:
            break
    return "".join(parts), text


def _variable(text: str, values: Mapping[str, str]) -> tuple[str, str]:
    """Return the value of the variable at the beginning of a text, and the rest of the text."""
    name = _NAME.match(text, 2) if text.startswith("${") else None
    if name is None:
        raise VariableFault(f"{text[:20]!r} is not a variable; allowed: ${{NAME}}, ${{NAME:-DEFAULT}}, $$")
    default, rest = None, text[name.end() :]
    if rest.startswith(":-"):
        default, rest = _expand(rest[2:], values, inside=True)
    if not rest.startswith("}"):
        raise VariableFault(f"${{{name[0]} is not closed; allowed: ${{NAME}}, ${{NAME:-DEFAULT}}")
    value = values.get(name[0]) or default
    if value is None:
        raise VariableFault(f"{name[0]} is not set and has no default; set it, as in {name[0]}=... sim_node run ...")
    return _at_home(value), rest[1:]


def _at_home(text: str) -> str:
    return str(Path.home()) + text[1:] if text == "~" or text.startswith("~/") else text


def supervised(world: World, start: bool, report: Callable[[str], None]) -> Supervisor:
    """Start the processes of a world if the user wants that, or else report that there are some.

    A world file is data: it never starts a program by itself.

    Args:
        world: The world.
        start: Whether to start its processes.
        report: Called with one line of text when a process is not started, starts or ends.

    Returns:
        A supervisor of the started programs.

    Raises:
        WorldError: One of the processes cannot be started; none is left running then.
    """
    supervisor = Supervisor(report)
    if not start:
        if world.processes:
            names = ", ".join(map(shown, world.processes))
            report(f"not starting {names}; use --processes or processes:=true to start it")
        return supervisor
    programs = programs_of(world)
    for process, program in zip(world.processes, programs, strict=True):
        try:
            supervisor.start(program)
        except ProgramFault as fault:  # noqa: PERF203  stop at the first fault
            supervisor.stop()
            raise WorldError([_problem(process, str(fault))]) from None
    return supervisor


def follow(supervisor: Supervisor, before: World, world: World) -> None:
    """Start the processes that a change of the world has added, and end those that it has removed.

    Args:
        supervisor: The supervisor of the processes of the previous world.
        before: The previous world.
        world: The present world.

    Raises:
        WorldError: A process cannot be started, or differs from a running one with the same name; nothing has changed
            then.
    """
    known = {process.name: process for process in before.processes}
    message = "another process of this name is running; remove that one first, or give this one another name"
    if others := [each for each in world.processes if known.get(each.name, each) != each]:
        raise WorldError([_problem(process, message) for process in others])
    added = tuple(process for process in world.processes if process.name not in known)
    started: list[str] = []
    for process, program in zip(added, programs_of(world, added), strict=True):
        try:
            supervisor.start(program)
        except ProgramFault as fault:
            for name in started:
                supervisor.end(name)
            raise WorldError([_problem(process, str(fault))]) from None
        started.append(program.name)
    for name in known.keys() - {process.name for process in world.processes}:
        supervisor.end(name)


def programs_of(world: World, processes: Sequence[Process] | None = None) -> list[Program]:
    """Create programs from a world's processes without starting them.

    Args:
        world: The world.
        processes: The processes to create programs from; None for all.

    Returns:
        A program for each process, in their order.

    Raises:
        WorldError: Names every process that cannot be started, with the reason.
    """
    programs, problems = [], []
    for process in world.processes if processes is None else processes:
        try:
            program = _program(process, world)
            program.executable()
            programs.append(program)
        except (VariableFault, ProgramFault) as fault:  # noqa: PERF203  report all faults
            problems.append(_problem(process, str(fault)))
    refuse_any(problems)
    return programs


def shown(process: Process) -> str:
    """Return `NAME: COMMAND`, quoted for a shell."""
    return f"{process.name}: {' '.join(map(_word, process.command))}"


def _program(process: Process, world: World) -> Program:
    own = state_folder() / "run" / world.name / process.name
    values = {**os.environ, "WORLD_DIR": str(world.folder), "STATE_DIR": str(own)}

    def fill(text: str) -> str:
        return expanded(text, values)

    cwd = world.folder / fill(process.cwd)
    if cwd.is_relative_to(own):
        try:
            cwd.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ProgramFault(f"cannot create the folder {cwd}: {error.strerror}") from None
    return Program(
        process.name,
        tuple(map(fill, process.command)),
        cwd,
        {name: fill(text) for name, text in process.env},
        process.restart,
        cwd / fill(process.log) if process.log else None,
        process.delay_s,
    )


def _problem(process: Process, message: str) -> Problem:
    return Problem(process.place.where, process.place.key, message)


def _word(word: str) -> str:
    """Quote a word for a shell if necessary. Variables stay readable."""
    return word if "${" in word and " " not in word else shlex.quote(word)
