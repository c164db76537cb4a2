"""The reader of environment specs from YAML files, with file, line, column and key in error messages."""

from __future__ import annotations

from pathlib import Path

from sim_node.extensions.gym.shipped import find_spec
from sim_node.extensions.gym.spec import Spec
from sim_node.world.declared import read
from sim_node.world.problems import WorldError, refuse_any
from sim_node.world.readers.files import read_text
from sim_node.world.readers.report import Report
from sim_node.world.readers.yaml_nodes import compose
from sim_node.world.readers.yaml_values import Value


def load_spec(path: str | Path) -> Spec:
    """Load the spec of an environment.

    Args:
        path: A file, a package:// URI, or the name of a shipped environment.

    Returns:
        The spec, with its world loaded.

    Raises:
        WorldError: The spec is invalid. The error lists every problem with file, line and column.
    """
    file = find_spec(path)
    report = Report(str(file))
    text = read_text(file, report)
    root = compose(text, report) if text is not None else None
    if root is None:
        if not report.errors:
            report.error("is empty; an environment needs at least world, rate, actions, observation and reward")
        raise WorldError(report.errors)
    try:
        spec = read(Spec, Value(root, report))
    except WorldError as error:
        raise WorldError([*report.errors, *error.problems]) from None
    refuse_any(report.errors)
    return spec
