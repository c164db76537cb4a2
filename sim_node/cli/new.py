"""Make a world, a robot, a test or a plug-in of your own from a template that runs as it is."""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from string import Template

from sim_node.cli.arguments import UsageError
from sim_node.cli.commands import command

TEMPLATES = Path(__file__).parent / "templates"
# Next steps for each kind
NEXT = {
    "world": ("sim_node check $at.yaml", "sim_node run $at.yaml --view"),
    "robot": ("sim_node check $at.yaml", "sim_node run $at.yaml --view"),
    "test": ("sim_node test $at", "python -m pytest $at"),
    "plugin": ("pip install -e $at pytest", "sim_node check $at/weather.yaml", "python -m pytest $at"),
}
# Kinds that become a separate folder
FOLDERS = ("plugin", "test")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare KIND and NAME."""
    parser.add_argument("kind", metavar="KIND", choices=tuple(NEXT), help="world, robot, test or plugin")
    parser.add_argument("name", metavar="NAME", help="lower-case letters, digits and _; also that of a Python package")
    folder = "make it in DIR (default: the current folder)"
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, default=Path(), help=folder)


@command("new", add_arguments)
def run(arguments: argparse.Namespace) -> int:
    """Write the files, none of which may exist. Print them and the next steps."""
    name: str = arguments.name
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not a name; use lower-case letters, digits and _, with a letter first")
    if not arguments.output.is_dir():
        raise UsageError(f"--output {arguments.output}: no such folder")
    target: Path = arguments.output / name if arguments.kind in FOLDERS else arguments.output
    files = {target / _filled(path, name): text for path, text in _files(arguments.kind, name)}
    for path in (target, *files) if arguments.kind in FOLDERS else files:
        if path.exists():
            raise UsageError(f"{path} exists; nothing was written")
    try:
        _write(files, target)
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}") from None
    print("\n".join(map(str, files)))
    print(
        "next:", *(Template(step).substitute(at=arguments.output / name) for step in NEXT[arguments.kind]), sep="\n  "
    )
    return 0


def _files(kind: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield the path of each file below the target, and its content."""
    root = TEMPLATES / kind
    for path in sorted(path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        yield str(path.relative_to(root)), _filled(path.read_text(encoding="utf-8"), name)


def _filled(text: str, name: str) -> str:
    return Template(text).substitute(name=name)


def _write(files: dict[Path, str], target: Path) -> None:
    """Write all files or none, by first writing to a folder beside the target."""
    base = target.parent if not target.exists() else target
    with tempfile.TemporaryDirectory(dir=base, prefix=".new_") as folder:
        whole = Path(folder) / "whole"  # the temporary folder itself is only accessible to its creator
        made = {path: whole / path.relative_to(target) for path in files}
        for path, text in files.items():
            made[path].parent.mkdir(parents=True, exist_ok=True)
            made[path].write_text(text, encoding="utf-8")
        if target.exists():
            for path, source in made.items():
                source.rename(path)
        else:
            whole.rename(target)
