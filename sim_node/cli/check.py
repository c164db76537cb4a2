"""Check world files: report every fault with file, line and column."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import numpy as np

from sim_node.assembly import assemble
from sim_node.cli.arguments import add_json
from sim_node.cli.commands import command
from sim_node.cli.world_arguments import add_allow, add_network, add_randomised, drawn, needs_no_seed
from sim_node.programs.processes import shown
from sim_node.session.graph_names import clashes
from sim_node.wire.sensor_topics import lay_out_messages
from sim_node.world import WorldError, lay_out, load
from sim_node.world.network import refuse_network
from sim_node.world.problems import Problem, counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare FILE..., --allow and --randomised."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="world files")
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
            world = assemble(drawn(load(file, allow=arguments.allow), arguments))
            refuse_network(world, allowed=arguments.allow_network)
            layout = lay_out(world)
            sensors = len(lay_out_messages(world))
            if problems := clashes(world):
                raise WorldError(problems)
        except WorldError as error:  # noqa: PERF203  each file on its own
            faults += len(error.problems)
            rows.append({"file": file, "valid": False, "problems": [_as_dict(problem) for problem in error.problems]})
            if not arguments.json:
                print(error, file=sys.stderr)
        else:
            moving = int(np.count_nonzero(~layout.frames.static))
            counts = {"frames": len(layout.frames), "moving": moving, "sensors": sensors}
            rows.append({"file": file, "valid": True, "problems": [], **counts})
            if arguments.json:
                continue
            reading = f", {counted(sensors, 'sensor')}" if sensors else ""
            print(f"{file}: valid, {counted(len(layout.frames), 'frame')}, {moving} moving{reading}")
            for process in world.processes:
                print(f"  process {shown(process)}")
    if arguments.json:
        print(json.dumps(rows, indent=2))
    elif faults:
        print(counted(faults, "error"), file=sys.stderr)
    return 2 if faults else 0


def _as_dict(problem: Problem) -> dict[str, Any]:
    where = problem.where
    return {
        "file": where.file,
        "line": where.line,
        "column": where.column,
        "key": problem.key,
        "message": problem.message,
    }
