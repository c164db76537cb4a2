"""sweep.json: the description of a sweep beside its results, to resume it and to repeat one of its cases."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sim_node.extensions.sweep.components import varied
from sim_node.extensions.sweep.dataset import DatasetFault, about_of, read
from sim_node.extensions.sweep.job import Keep, payload_of
from sim_node.extensions.sweep.study import Prepared, Study, files_of
from sim_node.extensions.sweep.variations import SEED, variation
from sim_node.world import World, load
from sim_node.world.declared import data_of
from sim_node.world.problems import refuse


def describe(study: Study, prepared: Prepared) -> dict[str, Any]:
    """Return the contents of sweep.json."""
    world = None if isinstance(study.world, World) else str(study.world)
    return {
        "world": os.path.abspath(world) if world and os.path.exists(world) else world,
        "allow": list(study.allow),
        "digest": prepared.digest,
        "functions": {file: hashlib.sha256(data).hexdigest() for file, data in files_of(prepared.job.measures)},
        "duration": study.duration,
        "runs": len(prepared.cases),
        "seed": study.seed,
        "sampling": study.sampling,
        "vary": {each.path: str(each) for each in study.vary},
        "measures": list(prepared.job.measures),
        "every": study.every,
        "keep": data_of(study.keep),
    }


def study_of(about: Mapping[str, Any]) -> Study:
    """Return the study that sweep.json describes.

    Args:
        about: The contents of sweep.json.

    Returns:
        The study.

    Raises:
        WorldError: The sweep was of a World created in Python.
    """
    if about["world"] is None:
        message = (
            "the sweep was of a World made in Python; go on with sim_node.extensions.sweep.run(world, ..., resume=True)"
        )
        refuse("world", message)
    fields: dict[str, Any] = {key: about[key] for key in ("world", "duration", "runs", "seed", "sampling", "every")}
    fields |= {key: tuple(about[key]) for key in ("measures", "allow")}
    vary = tuple(variation(path, text) for path, text in about["vary"].items())
    return Study(**fields, vary=vary, keep=Keep(**about["keep"]))


def repeated(folder: str | Path, number: int) -> tuple[World, int, float]:
    """Return what is needed to repeat a case of a sweep.

    Args:
        folder: The folder of the results.
        number: The case.

    Returns:
        The world with the numbers of the case, its seed, and its duration (s).

    Raises:
        DatasetFault: There is no such case, or the world has changed since the sweep.
        WorldError: The world cannot be loaded.
    """
    about = about_of(folder)
    rows = read(folder)
    found = rows.filter(rows["case"] == number)
    if not len(found):
        present = f"cases {rows['case'].min()} to {rows['case'].max()}" if len(rows) else "no case"
        raise DatasetFault(f"{folder} has no row of case {number}; it has {present}")
    row = found.row(0, named=True)
    world = load(study_of(about).world, about["allow"])  # type: ignore[arg-type]
    if payload_of(world).digest != about["digest"]:
        raise DatasetFault(
            f"{folder}: the world {about['world']} has changed since the sweep; case {number} would differ"
        )
    return varied(world, {path: row[path] for path in about["vary"] if path != SEED}), row["seed"], about["duration"]
