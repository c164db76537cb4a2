"""What world files with mistakes are told: a corpus of them, and the differences between two versions of sim_node.

    python tools/error_corpus.py record before.json       in one checkout
    python tools/error_corpus.py record after.json        in the other
    python tools/error_corpus.py compare before.json after.json

The corpus is made of the worlds in config/, docs/ and test/: each of their values replaced by values of other kinds,
signs and sizes, each key misspelt, and each entry left out.
"""

from __future__ import annotations

import ast
import copy
import json
import os
import random
import re
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
WRONG = ("oops", -3.5, 1e30, 0, True, None, [1, 2], {"x": 1}, ".nan")
PER_TEXT = 60
_MARKERS = ("frames", "bodies", "vehicles", "bases", "motions", "forces", "physics", "actuators", "systems", "scene")


def texts() -> Iterator[tuple[str, str]]:
    """Yield the name and text of each world in the checkout that reads as a mapping."""
    for path in sorted((ROOT / "config/worlds").glob("*.yaml")):
        yield path.name, path.read_text()
    for path in sorted((ROOT / "docs").rglob("*.md")):
        for index, block in enumerate(re.findall(r"```yaml[^\n]*\n(.*?)```", path.read_text(), re.DOTALL)):
            yield f"{path.name}:{index}", block
    for path in sorted((ROOT / "test").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" in node.value:
                yield f"{path.name}:{node.lineno}", textwrap.dedent(node.value)


def worlds() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the data of each text that looks like a world, once."""
    seen: set[str] = set()
    for name, text in texts():
        try:
            data = yaml.safe_load(text)
        except yaml.YAMLError:
            continue
        if not isinstance(data, dict) or not any(key in data for key in _MARKERS):
            continue
        key = repr(data)
        if key not in seen:
            seen.add(key)
            yield name, data


def paths(data: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value below `data`."""
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in entries:
        yield (*at, key)
        yield from paths(value, (*at, key))


def mutated(data: dict[str, Any], at: tuple[Any, ...], how: int) -> dict[str, Any]:
    """Return a copy with one mistake: another value, or for the two last numbers a misspelt key or no entry."""
    changed: Any = copy.deepcopy(data)
    holder = changed
    for key in at[:-1]:
        holder = holder[key]
    if how < len(WRONG):
        holder[at[-1]] = WRONG[how]
    elif how == len(WRONG) and isinstance(holder, dict):
        holder[f"{at[-1]}x"] = holder.pop(at[-1])
    else:
        del holder[at[-1]]
    return changed  # type: ignore[no-any-return]


def cases() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each world with a mistake."""
    for name, data in worlds():
        chosen = random.Random(name)
        every = [(at, how) for at in paths(data) for how in range(len(WRONG) + 2)]
        for at, how in chosen.sample(every, min(PER_TEXT, len(every))):
            key = ".".join(map(str, at))
            yield f"{name} {key} #{how}", yaml.safe_dump(mutated(data, at, how), sort_keys=False)


def told(text: str, folder: Path) -> list[str]:
    """Return what a world with a text is told, in order of the alphabet."""
    from sim_node.world import WorldError, lay_out, load
    from sim_node.world.writers.yaml import to_yaml

    path = folder / "w.yaml"
    path.write_text(text)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            world = load(path)
            lay_out(world)
            found = ["valid"]
            try:
                found.append(to_yaml(world))
            except WorldError as error:
                found += error.lines()
        except WorldError as error:
            found = [str(problem) for problem in error.problems]
        except Exception as error:
            found = [f"{type(error).__name__}: {error}"]
    found += [f"warning: {each.message}" for each in caught]
    return sorted(
        re.sub(r"0x[0-9a-f]+", "", each.replace(str(folder), "DIR").replace(str(ROOT), "ROOT")) for each in found
    )


def record(out: Path) -> None:
    """Write what each case is told."""
    results: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for every in (ROOT / "config/worlds").iterdir():
            target = folder / every.name
            target.symlink_to(every)
        os.chdir(folder)
        for case, text in cases():
            results[case] = told(text, folder)
    out.write_text(json.dumps(results, indent=0))
    print(f"{len(results)} cases, {sum('valid' not in each for each in results.values())} with errors")


_KNOWN = re.compile(r"\((?:known: )?([a-z_0-9, ]+)\)")


def _regardless(line: str) -> str:
    """Return a line with its lists of keys in order of the alphabet, and a world's text with its keys so."""
    if line.startswith("world:"):
        return json.dumps(yaml.safe_load(line), sort_keys=True, default=str)
    return _KNOWN.sub(lambda found: f"({', '.join(sorted(found[1].split(', ')))})", line)


def compare(before: Path, after: Path) -> int:
    """Print each case that is told something else; return how many."""
    one, other = (json.loads(path.read_text()) for path in (before, after))
    differing = 0
    for case in one.keys() | other.keys():
        first, second = (sorted(map(_regardless, each.get(case, ["absent"]))) for each in (one, other))
        if first != second:
            differing += 1
            print(case)
            for line in sorted(set(first) ^ set(second)):
                print("  -" if line in first else "  +", line[:300])
    print(f"{len(one)} cases, {differing} differ")
    return differing


if __name__ == "__main__":
    if sys.argv[1] == "record":
        record(Path(sys.argv[2]).resolve())
    else:
        sys.exit(compare(Path(sys.argv[2]), Path(sys.argv[3])) > 0)
