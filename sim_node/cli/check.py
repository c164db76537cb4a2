"""Check world files: report every fault with file, line and column."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from sim_node.assembly import assemble
from sim_node.cli.arguments import add_json
from sim_node.cli.colours import coloured, print_problems
from sim_node.cli.commands import command
from sim_node.cli.world_arguments import add_allow, add_network, add_randomised, drawn, needs_no_seed
from sim_node.messages.sensor_topics import lay_out_messages
from sim_node.session.graph_names import clashes
from sim_node.simulation import Simulation
from sim_node.simulation.programs.processes import shown
from sim_node.world import World, WorldError, lay_out, load
from sim_node.world.audit import AuditRow, audit
from sim_node.world.layout import Layout
from sim_node.world.network import refuse_network
from sim_node.world.part import PARTS, misfits_of
from sim_node.world.problems import Problem, Where, WorldWarning, counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare FILE..., --strict, --audit, --allow and --randomised."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="world files")
    parser.add_argument("--strict", action="store_true", help="warnings are errors, such as of what has no effect")
    help_audit = "list each element of SDF, URDF and MJCF files: used, approximated or without effect"
    parser.add_argument("--audit", action="store_true", help=help_audit)
    add_allow(parser)
    add_network(parser)
    add_randomised(parser)
    add_json(parser)


@command("check", add_arguments)
def run(arguments: argparse.Namespace) -> int:
    """Return 0 if all worlds are valid, 2 otherwise."""
    needs_no_seed(arguments)
    faults = 0
    rows: list[dict[str, Any]] = []
    for file in arguments.files:
        try:
            with _noted(strict=arguments.strict) as noted:
                loaded = load(file, allow=arguments.allow, fetch=arguments.allow_fetch)
                world, layout, sensors = _checked(loaded, arguments)
            if noted:
                raise WorldError([Problem(Where(), "", message) for message in noted])
        except WorldError as error:  # noqa: PERF203  each file separately
            faults += len(error.problems)
            rows.append({"file": file, "valid": False, "problems": [_as_dict(problem) for problem in error.problems]})
            if not arguments.json:
                print_problems(str(error))
        else:
            moving = int(np.count_nonzero(~layout.frames.static))
            counts = {"frames": len(layout.frames), "moving": moving, "sensors": sensors}
            found = audit(file, arguments.allow, fetch=arguments.allow_fetch) if arguments.audit else []
            listed = {"audit": [{**_placed(row.where), **_effect(row)} for row in found]} if arguments.audit else {}
            rows.append({"file": file, "valid": True, "problems": [], **counts, **listed})
            if arguments.json:
                continue
            reading = f", {counted(sensors, 'sensor')}" if sensors else ""
            print(f"{file}: valid, {counted(len(layout.frames), 'frame')}, {moving} moving{reading}")
            for row in found:
                print(f"{row.where}: {row.status}: {row.key}{f': {row.message}' if row.message else ''}")
            for process in world.processes:
                print(f"  process {shown(process)}")
    if arguments.json:
        print(json.dumps(rows, indent=2))
    elif faults:
        print(coloured(counted(faults, "error"), "red", sys.stderr), file=sys.stderr)
    return 2 if faults else 0


def _checked(loaded: World, arguments: argparse.Namespace) -> tuple[World, Layout, int]:
    """Return an assembled world, its layout and its number of sensors. Raises WorldError for whatever a run rejects."""
    problems: list[Problem] = []
    with _adding_to(problems):
        world = assemble(drawn(loaded, arguments))
        refuse_network(world, allowed=arguments.allow_network)
        layout = lay_out(world)
    with _adding_to(problems):  # to also report problems of other parts
        sensors = len(lay_out_messages(loaded))
    if not problems:
        problems += clashes(world)
        if any(kind.asks_run and kind.parts(world) for kind in PARTS.values()):
            problems += misfits_of(Simulation(world))
    if problems:
        raise WorldError(sorted(problems, key=lambda problem: problem.where))
    if world.schematic is not None:
        from sim_node.viewing.shown_signals import unknown_names  # few worlds have a schematic

        for problem in sorted(unknown_names(world, layout.frames), key=lambda problem: problem.where):
            warnings.warn(str(problem), WorldWarning, stacklevel=2)
    return world, layout, sensors


@contextlib.contextmanager
def _adding_to(problems: list[Problem]) -> Iterator[None]:
    try:
        yield
    except WorldError as error:
        problems += error.problems


@contextlib.contextmanager
def _noted(*, strict: bool) -> Iterator[list[str]]:
    """Collect warnings about a world in a block, if they count as errors; otherwise show them."""
    found: list[str] = []
    if not strict:
        yield found
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield found
    for each in caught:
        if issubclass(each.category, WorldWarning):
            found.append(str(each.message))
        else:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)


def _as_dict(problem: Problem) -> dict[str, Any]:
    return {**_placed(problem.where), "key": problem.key, "message": problem.message}


def _placed(where: Where) -> dict[str, Any]:
    return {"file": where.file, "line": where.line, "column": where.column}


def _effect(row: AuditRow) -> dict[str, Any]:
    return {"key": row.key, "status": row.status, "message": row.message}
