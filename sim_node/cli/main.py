"""The `sim_node` command: finds the subcommand, tells mistakes in one line each."""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from types import ModuleType

from sim_node.interrupt import Interrupt

# Nothing else of sim_node is imported up here: a signal that comes while it is must find `run` ready for it.

# A subcommand is a module here with `add_arguments(parser)` and `run(arguments) -> exit code`; its docstring's
# first line is its help. Only the one that is called is imported.
COMMANDS = (
    # what runs
    "run",
    "replay",
    "record",
    "bridge",
    "autopilot",
    # what looks at worlds, bags and graphs
    "view",
    "render",
    "rviz",
    "tree",
    "lookup",
    # what reads and writes world files
    "check",
    "snap",
    "convert",
    "urdf",
    # what reads and writes bags
    "info",
    "plot",
    "export",
    "diff",
    "repair",
    # and what to do where nothing works
    "doctor",
)
# These go on until a signal, which is a good end; they find it in arguments.interrupt.
UNTIL_INTERRUPTED = ("run", "view", "record", "replay", "bridge", "autopilot")
# These start a node, which --ros-args are for.
NODES = ("run", "record", "replay", "bridge")
FAILED = 1
USER_MISTAKE = 2
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code: 0 well, 1 failed, 2 the user's mistake."""
    from sim_node.cli.last_handler import guarded

    given = list(sys.argv[1:] if argv is None else argv)
    return guarded(_main, given, needs_output=not given or given[0] not in UNTIL_INTERRUPTED)


def _main(given: list[str]) -> int:
    try:
        if not given or given[0] not in UNTIL_INTERRUPTED:
            return _run(given, None)
        with Interrupt() as interrupt:
            code = _run(given, interrupt)
        # All that is left goes with the process: to look through it for cycles first takes half of a Ctrl-C's time.
        gc.freeze()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(given: list[str], interrupt: Interrupt | None) -> int:
    from sim_node.autopilot.ports import PortTaken
    from sim_node.cli.errors import UsageError
    from sim_node.cli.warn import print_warning
    from sim_node.recording.bag import BagError
    from sim_node.registry import PluginFault
    from sim_node.world.problems import Diverged, WorldError, counted

    try:
        with warnings.catch_warnings():
            warnings.showwarning = print_warning
            arguments = _parse(given)
            arguments.interrupt = interrupt
            code: int = arguments.module.run(arguments)
            sys.stdout.flush()
            return code
    except WorldError as error:
        print(f"{error}\n{counted(len(error.problems), 'error')}, nothing was started", file=sys.stderr)
    except (Diverged, PluginFault, PortTaken) as error:
        print(f"sim_node: {error}", file=sys.stderr)
        return FAILED
    except (UsageError, BagError) as error:
        print(f"sim_node: {error}", file=sys.stderr)
    except BrokenPipeError:  # `sim_node tree big.yaml | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return USER_MISTAKE


def _parse(given: list[str]) -> argparse.Namespace:
    """The arguments, with those after --ros-args kept whole for rclpy. Raises UsageError."""
    from sim_node.cli.errors import UsageError
    from sim_node.cli.parser import Parser
    from sim_node.text import did_you_mean

    own, ros_args = _divided(given)
    named = own[0] if own else ""
    if named not in COMMANDS and named[:1] not in ("", "-"):
        raise UsageError(f"no command {named!r}{did_you_mean(named, COMMANDS)} (commands: {', '.join(COMMANDS)})")
    if ros_args and named not in NODES:
        raise UsageError(f"--ros-args goes with {', '.join(NODES)}, which start a node")
    parser = Parser(
        prog="sim_node",
        description="Worlds from files, simulated and published on the TF tree.",
        epilog="`sim_node COMMAND --help` tells more of each. Shipped worlds: sim_node run orbit. "
        "Of a fault in sim_node, --debug shows the trace.",
    )
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for name in COMMANDS:
        if named == name or named not in COMMANDS:
            module = importlib.import_module(f"sim_node.cli.{name}")
            summary = _summary(module)
            subparser = subparsers.add_parser(name, help=summary, description=summary)
            module.add_arguments(subparser)
            subparser.set_defaults(module=module)
    arguments = parser.parse_args(own)
    arguments.ros_args = ros_args
    return arguments


def _divided(given: list[str]) -> tuple[list[str], list[str]]:
    """What is ours, and what is rclpy's: each --ros-args with all that follows, up to a -- that ends it."""
    own: list[str] = []
    ros_args: list[str] = []
    is_ros = False
    for word in given:
        if not is_ros and word == "--ros-args":
            is_ros = True
        elif is_ros and word == "--":
            is_ros = False
            ros_args.append(word)
            continue
        (ros_args if is_ros else own).append(word)
    return own, ros_args


def _summary(module: ModuleType) -> str:
    return (module.__doc__ or "").partition("\n")[0]


if __name__ == "__main__":
    sys.exit(main())
