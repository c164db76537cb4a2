"""Assemble the systems of a world: print the poses from mates, and the remaining degrees of freedom."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sim_node.assembly import Assembly, assembly_of
from sim_node.assembly.assembly_log import as_json, shown
from sim_node.cli.arguments import UsageError
from sim_node.cli.commands import command
from sim_node.cli.world_arguments import add_world
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world import World, load
from sim_node.world.problems import counted, quoted
from sim_node.world.readers.registry import MODEL_READERS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare FILE, --model, --all, --trace and --json."""
    add_world(parser)
    parser.add_argument("--model", metavar="NAME", help="only this system; for an OpenPLX file, this model")
    parser.add_argument("--all", action="store_true", help="look for every way to close the loops, and list them")
    parser.add_argument("--trace", action="store_true", help="print every step: which mate gave which pose, and how")
    parser.add_argument("--loglevel", choices=("info", "trace"), default="info", help="trace is the same as --trace")
    parser.add_argument("--json", action="store_true", help="JSON, for programs")


@command("snap", add_arguments)
def run(arguments: argparse.Namespace) -> int:
    """Return 0 if all mates are satisfied, 1 if they contradict each other."""
    chosen = arguments.model if Path(arguments.world).suffix in MODEL_READERS else None
    world = load(arguments.world, allow=arguments.allow, model=chosen, fetch=arguments.allow_fetch)
    if not world.systems and not world.attachments:
        raise UsageError(f"{arguments.world} has no systems, and so nothing to assemble")
    part = _only(world, arguments.model) if arguments.model and not chosen else world
    assembly = assembly_of(part, every=arguments.all)
    if arguments.trace and "loglevel" in arguments.given and arguments.loglevel != "trace":
        raise UsageError(f"--trace and --loglevel {arguments.loglevel} exclude each other")
    trace = arguments.trace or arguments.loglevel == "trace"
    if arguments.json:
        print(json.dumps(_report(assembly, trace=trace), indent=1))
    else:
        _print(world.name, assembly, trace=trace)
    return 1 if assembly.conflicts else 0


def _only(world: World, name: str) -> World:
    """Return the world with only one of its systems, and whatever is mated to it."""
    systems = tuple(system for system in world.systems if system.name == name)
    if not systems:
        names = [system.name for system in world.systems]
        raise UsageError(f"no system {quoted(name)}{did_you_mean(name, names)} (known: {', '.join(names)})")
    attached = tuple(a for a in world.attachments if a.mate.connectors[0].startswith(f"{name}/"))
    return replace(world, systems=systems, attachments=attached)


def _print(name: str, assembly: Assembly, *, trace: bool) -> None:
    table = assembly.table
    solved = sorted(assembly.solved)
    left = assembly.degrees_of_freedom
    print(
        f"{name}: {counted(len(table.mates), 'mate')}, {counted(len(solved), 'pose')} solved, "
        f"{left} degree{'' if left == 1 else 's'} of freedom left"
    )
    if trace:
        print("steps:")
        for number, step in enumerate(assembly.steps, 1):
            print(f"  {number}. {step}")
    if solved:
        print("in their owners:")
        for row in solved:
            print(f"  {table.names[row]}  {shown(assembly.poses[row])}")
    for root, rows in _by_root(assembly).items():
        print(f"in {root}:")
        for row in rows:
            print(f"  {table.names[row]}  {shown(assembly.in_roots[row])}")
    for row in assembly.undefined:
        print(f"undefined: {table.names[row]}")
    for step in assembly.steps:
        if step.kind in ("others", "singular"):
            print(f"note: {step}")
    for number, other in enumerate(assembly.others, 2):
        print(f"assembly {number}{'' if other.is_within_limits else ', beyond limits'}:")
        for name, values in _named(assembly, other.values).items():
            print(f"  {name}  {', '.join(f'{value:.6g}' for value in values)}")
    for step in assembly.conflicts:
        print(f"conflict: {step}")


def _named(assembly: Assembly, values: Mapping[int, FloatArray]) -> dict[str, list[float]]:
    """Return the positions of the mates that have any, by name."""
    return {assembly.table.mate_names[m]: (q + 0.0).round(12).tolist() for m, q in values.items() if len(q)}


def _by_root(assembly: Assembly) -> dict[str, list[int]]:
    """Return the solved rows below each root: the fixed frame, and frames that move relative to it."""
    parents = assembly.table.parents.tolist()
    found: dict[str, list[int]] = {}
    for row in sorted(assembly.solved):
        root = row
        while parents[root] >= 0:
            root = parents[root]
        found.setdefault(assembly.table.names[root], []).append(row)
    return found


def _report(assembly: Assembly, *, trace: bool) -> dict[str, Any]:
    table = assembly.table
    free = {
        table.mate_names[m]: {
            "kind": table.mates[m].kind,
            "translations": table.mates[m].type.translations,
            "rotations": table.mates[m].type.rotations,
            "positions": assembly.values[m].tolist(),
        }
        for m in (*assembly.tree, *assembly.loops)
        if table.mates[m].type.parts
    }
    report: dict[str, Any] = {
        "transforms": {table.names[row]: as_json(assembly.poses[row]) for row in sorted(assembly.solved)},
        "in": {
            root: {table.names[row]: as_json(assembly.in_roots[row]) for row in rows}
            for root, rows in _by_root(assembly).items()
        },
        "degrees_of_freedom": {"left": assembly.degrees_of_freedom, "mates": free},
        "undefined": [table.names[row] for row in assembly.undefined],
        "conflicts": [step.as_json() for step in assembly.conflicts],
        "notes": [step.as_json() for step in assembly.steps if step.kind in ("others", "singular")],
        "others": [
            {
                "mates": _named(assembly, other.values),
                "within_limits": other.is_within_limits,
                "in_root": {table.names[row]: as_json(other.in_roots[row]) for row in sorted(assembly.solved)},
            }
            for other in assembly.others
        ],
    }
    return {**report, "trace": [step.as_json() for step in assembly.steps]} if trace else report
