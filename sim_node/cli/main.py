"""The `sim_node` command: finds the subcommand, and reports user errors on one line each."""

from __future__ import annotations

import argparse
import gc
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from sim_node import command_signals
from sim_node.command_signals import INTERRUPTED
from sim_node.interrupt import Interrupt, StartEnded

# Nothing else of sim_node is imported here: a signal during such an import must be handled by `run`.
if TYPE_CHECKING:
    from sim_node.cli.commands import Command

FAILED = 1
USER_MISTAKE = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: The arguments; None for those of the process.

    Returns:
        The exit code: 0 for success, 1 for failure, 2 for a user error.
    """
    from sim_node.cli.last_handler import guarded

    given = list(sys.argv[1:] if argv is None else argv)
    try:
        return guarded(_main, given, ends=argv is None)
    finally:
        command_signals.end()


def _main(given: list[str]) -> tuple[int, bool]:
    """Return the exit code, and whether the command only prints."""
    try:
        with ExitStack() as signals:
            # Only the imported command knows whether a signal is its normal end.
            return _run(given, signals.enter_context(Interrupt()), signals)
    except KeyboardInterrupt:
        command_signals.end()
        return INTERRUPTED, False


def _run(given: list[str], interrupt: Interrupt, signals: ExitStack) -> tuple[int, bool]:
    from sim_node.cli.arguments import UsageError
    from sim_node.cli.colours import print_error, print_problems
    from sim_node.cli.terminal import print_warning
    from sim_node.limits import lack
    from sim_node.mavlink.ports import PortInUse
    from sim_node.packages import RosNotStarted, how_to_install, is_of_others
    from sim_node.plugins import blamed
    from sim_node.recording.bag import BagError
    from sim_node.start_up import collection_paused
    from sim_node.world.problems import RunFailed, WorldError, counted

    try:
        with warnings.catch_warnings():
            warnings.showwarning = print_warning
            with collection_paused():
                command, arguments = _parse(given)
            arguments.interrupt = interrupt if command.until_interrupted else None
            if not command.until_interrupted:
                signals.close()
                if interrupt.asked:
                    return INTERRUPTED, False
                command_signals.break_in()
            code = command.run(arguments)
            sys.stdout.flush()
            command_signals.end()
            if command_signals.came():  # where nothing can be raised, as in a destructor
                return INTERRUPTED, False
            if command.until_interrupted:
                # Everything else ends with the process: a search for cycles would double the time of a Ctrl-C.
                gc.freeze()
            return _checked(command, code), not command.until_interrupted
    except StartEnded:
        command, _ = _parse(given)  # it may have been read when the signal came
        return 0 if command.until_interrupted else INTERRUPTED, False
    except WorldError as error:
        print_problems(str(error), f"{counted(len(error.problems), 'error')}, nothing was started")
    except (RunFailed, PortInUse) as error:
        print_error(str(error))
        return FAILED, False
    except (UsageError, BagError, RosNotStarted) as error:
        print_error(str(error))
    except BrokenPipeError:  # `sim_node tree big.yaml | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0, False
    except Exception as error:
        if command_signals.came():
            return INTERRUPTED, False
        fault = blamed(error)
        if fault is not None:
            print_error(str(fault))
            return FAILED, False
        if lack(error) or not (isinstance(error, ImportError) and is_of_others(error)):
            raise
        print_error(f"{how_to_install(error)}; see `sim_node doctor`")
    return USER_MISTAKE, False


def _parse(given: list[str]) -> tuple[Command, argparse.Namespace]:
    """Return the command and its arguments; those after --ros-args are kept for rclpy. Raises UsageError."""
    from sim_node.cli.arguments import UsageError
    from sim_node.cli.commands import COMMANDS
    from sim_node.cli.parser import StrictParser
    from sim_node.text import did_you_mean

    own, ros_args = _divided(given)
    word = next((each for each in own if each != "--"), "")
    command = None if word[:1] in ("", "-") else COMMANDS.find(word)
    if command is None and word[:1] not in ("", "-"):
        hint = did_you_mean(word, COMMANDS.words())
        raise UsageError(f"no command {word!r}{hint or '; sim_node --help lists the commands'}")
    if ros_args and not (command and command.starts_node):
        nodes = [name for name, each in COMMANDS.items() if each.starts_node]
        raise UsageError(f"--ros-args goes with {', '.join(nodes)}, which start a node")
    if command is None:
        from sim_node.cli.overview import parse_without_command

        parse_without_command(own)
    parser = StrictParser(prog="sim_node")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    summary = command.summary.replace("%", "%%")  # in argparse, % starts a format
    command.add_arguments(subparsers.add_parser(word, help=summary, description=summary))
    arguments = parser.parse_args(own)
    arguments.ros_args = ros_args
    return command, arguments


def _divided(given: list[str]) -> tuple[list[str], list[str]]:
    """Split the arguments into ours and rclpy's: each --ros-args and everything after it, up to a closing --."""
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


def _checked(command: Command, code: object) -> int:
    """Return the exit code of a command. Raises PluginFault for anything else."""
    if not isinstance(code, int):
        from sim_node.cli.commands import COMMANDS

        COMMANDS.refuse(command.name, f"run returned {code!r:.60}; an exit code is needed", command.run)
    return code


if __name__ == "__main__":
    sys.exit(main())
