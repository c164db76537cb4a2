"""Read the section `processes` of a world file: programs to run beside the simulation."""

from __future__ import annotations

import re
import shlex

from sim_node.world.problems import quoted, shown_key
from sim_node.world.processes import MAX_DELAY_S, RESTARTS, Process
from sim_node.world.readers.keys import Keys, by_name, choice, number, one_or_each, text
from sim_node.world.readers.yaml_nodes import Mapping, Scalar, Sequence
from sim_node.world.readers.yaml_section import Context, section
from sim_node.world.readers.yaml_values import NULL, Value

_ARGUMENT = {"type": ["string", "number", "boolean"]}
PROCESS_KEYS = Keys(
    {
        "command": one_or_each("The program with its arguments: a list, or a text as for a shell.", _ARGUMENT),
        "cwd": text("The folder that it runs in, relative to this file."),
        "env": by_name("Environment variables.", _ARGUMENT),
        "restart": choice("When it is started again after it has ended.", RESTARTS),
        "log": text("The file that its output goes to."),
        "delay": number("Wait before it is started, s.", 0.0, MAX_DELAY_S),
    },
    required=("command",),
    about="A program that runs beside the simulation.",
)
# Names of processes, which also name log files, and of environment variables.
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@section("processes", by_name("Programs that run beside the simulation, by name.", PROCESS_KEYS))
def read_processes(value: Value, context: Context) -> None:
    """Read a mapping of names to programs."""
    if not isinstance(value.node, Mapping):
        value.error(f"a mapping of names to programs is needed, found {value.found()}")
        return
    for name, (key, node) in value.node.entries.items():
        errors = len(value.report.errors)
        if not _NAME.fullmatch(name):
            at = Value(key, value.report, shown_key(name), value)
            at.error("is not a process name; use letters, digits and, after the first character, _ . -")
        entry = Value(node, value.report, shown_key(name), value)
        process = _process(name, entry)
        if len(value.report.errors) == errors:
            context.add(process)


def _process(name: str, entry: Value) -> Process:
    table = entry.table(PROCESS_KEYS)
    command, cwd, env, log, delay = (table.get(key) for key in ("command", "cwd", "env", "log", "delay"))
    return Process(
        name,
        () if command is None else _command(command),
        "" if cwd is None else _word(cwd),
        () if env is None else _environment(env),
        table.choice("restart", RESTARTS, "never"),
        "" if log is None else _word(log),
        0.0 if delay is None else delay.number(0.0, MAX_DELAY_S),
        entry.place,
    )


def _command(value: Value) -> tuple[str, ...]:
    """Read a list of words, or a text that is split as a shell would split it."""
    if isinstance(value.node, Sequence):
        words = tuple(_word(item) for item in value.items())
    else:
        errors = len(value.report.errors)
        text = value.text()
        try:
            words = tuple(shlex.split(text))
        except ValueError as error:
            value.error(f"{quoted(text)} cannot be split into words: {error}")
            return ()
        if len(value.report.errors) > errors:
            return ()
    if not words or not words[0]:
        value.error("is empty; a program name is needed")
    return words


def _environment(value: Value) -> tuple[tuple[str, str], ...]:
    if not isinstance(value.node, Mapping):
        value.error(f"a mapping of environment variables to strings is needed, found {value.found()}")
        return ()
    variables = []
    for name, (key, node) in value.node.entries.items():
        if not _VARIABLE.fullmatch(name):
            Value(key, value.report, shown_key(name), value).error("is not a name of an environment variable")
        variables.append((name, _word(Value(node, value.report, shown_key(name), value))))
    return tuple(variables)


def _word(value: Value) -> str:
    """Read any scalar as it is spelled: arguments of programs are text, including numbers."""
    node = value.node
    if not isinstance(node, Scalar) or (node.plain and node.text in NULL):
        value.error(f"a text is needed, found {value.found()}")
        return ""
    if "\0" in node.text:
        value.error("a program argument cannot contain a null character")
    return node.text
