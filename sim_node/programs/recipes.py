"""A world's recipes as programs to start: variables filled in, folders found, every fault told at its place."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path

from sim_node.programs.program import Program, ProgramFault
from sim_node.programs.state import state_folder
from sim_node.programs.supervisor import Supervisor
from sim_node.programs.variables import VariableFault, filled
from sim_node.world import World, WorldError
from sim_node.world.problems import Problem
from sim_node.world.recipes import Recipe


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
