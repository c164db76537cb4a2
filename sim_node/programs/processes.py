"""The processes of a world, from its file to programs with their environment."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

from sim_node.programs.program import Program, ProgramFault, state_folder
from sim_node.programs.supervisor import Supervisor
from sim_node.world import World, WorldError
from sim_node.world.problems import Problem
from sim_node.world.recipes import Recipe

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class VariableFault(ValueError):
    """A text whose variables cannot be filled in; says which and why."""


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text with the values of its variables; ~/ at its beginning, and a value's, is the home folder.

    A default takes the place of a variable that is not set or empty, and may have variables of its own. Raises
    VariableFault for a variable without a value or a default, and for a $ that begins none.
    """
    expanded, rest = _expand(text, values, inside=False)
    assert not rest, "only inside braces does the text end early"
    return _at_home(expanded)


def _expand(text: str, values: Mapping[str, str], inside: bool) -> tuple[str, str]:
    """The expanded text as far as it goes, and what follows: inside braces that is from the closing one on."""
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
    """The value of the variable that a text begins with, and what follows it."""
    name = _NAME.match(text, 2) if text.startswith("${") else None
    if name is None:
        raise VariableFault(f"{text[:20]!r} is no variable; ${{NAME}}, ${{NAME:-DEFAULT}} or $$ is needed")
    default, rest = None, text[name.end() :]
    if rest.startswith(":-"):
        default, rest = _expand(rest[2:], values, inside=True)
    if not rest.startswith("}"):
        raise VariableFault(f"${{{name[0]} is not closed; ${{NAME}} or ${{NAME:-DEFAULT}} is needed")
    value = values.get(name[0]) or default
    if value is None:
        raise VariableFault(f"{name[0]} is not set, and has no default; set it as in {name[0]}=... sim_node run ...")
    return _at_home(value), rest[1:]


def _at_home(text: str) -> str:
    return str(Path.home()) + text[1:] if text == "~" or text.startswith("~/") else text


def supervised(world: World, asked: bool, tell: Callable[[str], None]) -> Supervisor:
    """Starts the programs of a world's recipes where somebody asked for that; else one line tells that there are some.

    A world file is data, and starts nothing by itself. Raises WorldError, with nothing started, where one cannot be.
    """
    supervisor = Supervisor(tell)
    if not asked:
        if world.recipes:
            tell(f"not asked to start {', '.join(map(shown, world.recipes))} (--recipes, or recipes:=true, does)")
        return supervisor
    programs = programs_of(world)
    for recipe, program in zip(world.recipes, programs, strict=True):
        try:
            supervisor.start(program)
        except ProgramFault as fault:  # noqa: PERF203  the first ends it
            supervisor.stop()
            raise WorldError([_problem(recipe, str(fault))]) from None
    return supervisor


def programs_of(world: World) -> list[Program]:
    """The programs of a world's recipes. Raises WorldError with all that keeps them from being started."""
    programs, problems = [], []
    for recipe in world.recipes:
        try:
            program = _program(recipe, world)
            program.executable()
            programs.append(program)
        except (VariableFault, ProgramFault) as fault:  # noqa: PERF203  all are told
            problems.append(_problem(recipe, str(fault)))
    if problems:
        raise WorldError(problems)
    return programs


def shown(recipe: Recipe) -> str:
    """`NAME: COMMAND`, as a shell would take it."""
    return f"{recipe.name}: {' '.join(map(_word, recipe.command))}"


def _program(recipe: Recipe, world: World) -> Program:
    folder = Path(world.source).absolute().parent
    own = state_folder() / "run" / world.name / recipe.name
    values = {**os.environ, "WORLD_DIR": str(folder), "STATE_DIR": str(own)}

    def fill(text: str) -> str:
        return filled(text, values)

    cwd = folder / fill(recipe.cwd)
    if cwd.is_relative_to(own):
        try:
            cwd.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ProgramFault(f"cannot make the folder {cwd}: {error.strerror}") from None
    return Program(
        recipe.name,
        tuple(map(fill, recipe.command)),
        cwd,
        {name: fill(text) for name, text in recipe.env},
        recipe.restart,
        cwd / fill(recipe.log) if recipe.log else None,
        recipe.delay_s,
    )


def _problem(recipe: Recipe, message: str) -> Problem:
    return Problem(recipe.place.where, recipe.place.key, message)


def _word(word: str) -> str:
    """Quoted where a shell needs it, but for variables, which are meant to be read."""
    return word if "${" in word and " " not in word else shlex.quote(word)
