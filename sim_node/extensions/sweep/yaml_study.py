"""The reader of studies from YAML files with the key `sweep`, with file, line and column in error messages."""

from __future__ import annotations

import re
from pathlib import Path

from sim_node.extensions.sweep.study import Study
from sim_node.world import WorldError
from sim_node.world.declared import read
from sim_node.world.readers.files import read_text
from sim_node.world.readers.report import Report
from sim_node.world.readers.yaml_nodes import compose
from sim_node.world.readers.yaml_values import Value

SUFFIXES = (".yaml", ".yml")
KEY = "sweep"
_KEY = re.compile(rf"^{KEY}\s*:", re.MULTILINE)


def is_study(reference: str) -> bool:
    """Return whether a reference is a YAML file with the key `sweep`, rather than a world."""
    path = Path(reference)
    if path.suffix.lower() not in SUFFIXES or not path.is_file():
        return False
    text = read_text(path, Report(str(path)))
    # This also applies to invalid YAML, whose faults are then reported as those of a sweep.
    return text is not None and _KEY.search(text) is not None


def read_study(path: Path) -> Study:
    """Read a study.

    Args:
        path: A YAML file with the key `sweep`. Files that it names are relative to its folder.

    Returns:
        The study.

    Raises:
        WorldError: The study is invalid. The error lists every problem with file, line and column.
    """
    report = Report(str(path))
    text = read_text(path, report)
    root = None if text is None else compose(text, report)
    study = None
    if root is not None and not report.errors:
        inside = Value(root, report).table((KEY,), required=(KEY,)).get(KEY)
        if inside is not None:
            study = read(Study, inside)
    if report.errors or study is None:
        raise WorldError(report.errors)
    return study
