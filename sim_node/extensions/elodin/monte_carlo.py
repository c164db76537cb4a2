"""A script's interface to its campaign: parameters, ports and results; defaults if it runs without a campaign.

`sim_node sweep SCRIPT --campaign FILE` runs campaigns. An environment variable of each run names the file with these.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

# Environment variables of a run: its file, the prefix of its ports, and the folder of its recording.
CONTEXT, PORT, DB_PATH = "ELODIN_MONTE_CARLO_CONTEXT", "ELODIN_MC_PORT_", "ELODIN_DB_PATH"


@dataclass(frozen=True)
class Param:
    """A parameter.

    Attributes:
        type_: Its type, such as float.
        default: Its value without a campaign.
        min: Its minimum; not checked.
        max: Its maximum; not checked.
    """

    type_: Any
    default: Any = None
    min: Any = None
    max: Any = None


@dataclass(frozen=True)
class ParamsSpec:
    """The parameters of a script.

    Attributes:
        params: The parameters by name.
    """

    params: Mapping[str, Param]

    def to_json(self) -> str:
        """Return them as JSON."""
        rows = {name: asdict(each) for name, each in self.params.items()}
        for row in rows.values():
            row["type_name"] = getattr(kind := row.pop("type_"), "__name__", str(kind))
        return json.dumps({"params": rows}, indent=2)


@dataclass(frozen=True)
class Params:
    """The parameters of a run, and its other data from the campaign.

    Attributes:
        values: The values of the parameters by name.
        run_id: The name of the run; None without a campaign, like all below.
        seed: Its seed.
        db_path: The folder for its recording.
        db_addr: An address for this run alone, HOST:PORT.
        cache_dir: A folder that all runs share.
        run_dir: Its folder.
        meta: Further data of the run from the plan, by name.
        slot: The number of its worker, and its ports.
    """

    values: Mapping[str, Any]
    run_id: str | None = None
    seed: int | None = None
    db_path: str | None = None
    db_addr: str | None = None
    cache_dir: str | None = None
    run_dir: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    slot: Mapping[str, Any] = field(default_factory=dict)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a parameter.

        Args:
            key: Its name.
            default: What is returned if there is no such parameter.

        Returns:
            The value.
        """
        return self.values.get(key, default)

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def as_overrides_dict(self) -> dict[str, Any]:
        """Return all values by name."""
        return dict(self.values)

    def slots(self) -> dict[str, Any]:
        """Return the number of the worker, and the ports."""
        return dict(self.slot)

    def ports(self) -> dict[str, int]:
        """Return the ports by name."""
        return dict(self.slot.get("ports", {}))


# The last parameters that the script declared.
_declared = ParamsSpec({})


def params_spec(**given: Param) -> ParamsSpec:
    """Declare the parameters of a script.

    Args:
        **given: The parameters by name.

    Returns:
        The parameters.

    Raises:
        TypeError: One is not a Param.
    """
    global _declared
    for name, each in given.items():
        if not isinstance(each, Param):
            raise TypeError(f"params_spec: {name} is {each!r}; a monte_carlo.Param is needed")
    _declared = ParamsSpec(given)
    return _declared


def spec_json() -> str:
    """Return the declared parameters as JSON."""
    return _declared.to_json()


def params(spec: ParamsSpec | None = None) -> Params:
    """Return the parameters of this run.

    Args:
        spec: The parameters, with their defaults; if omitted, those declared last.

    Returns:
        The defaults, and the values of the campaign in place of them.

    Raises:
        RuntimeError: The file of the campaign cannot be read.
    """
    values = {name: each.default for name, each in (spec or _declared).params.items()}
    path = os.environ.get(CONTEXT)
    if not path:
        return Params(values)
    try:
        context = json.loads(Path(path).read_text(encoding="utf-8"))
        values.update(context.pop("params", {}))
        return Params(values, slot=context.pop("slots", {}), **context)
    except (OSError, ValueError, TypeError) as error:
        raise RuntimeError(f"{CONTEXT}={path}: {error}") from None


def port_variable(name: str) -> str:
    """Return the name of the environment variable of a port.

    Args:
        name: The name of the port.

    Returns:
        The name of the variable, such as ELODIN_MC_PORT_STATE.
    """
    return PORT + re.sub(r"[^A-Za-z0-9]", "_", name).upper()


def port(name: str, default: int | None = None) -> int:
    """Return a port of this run.

    Args:
        name: Its name in the campaign.
        default: The port without a campaign.

    Returns:
        The port.

    Raises:
        KeyError: The campaign has none of this name, and there is no default.
    """
    given = os.environ.get(port_variable(name)) or params().ports().get(name, default)
    if given is None:
        raise KeyError(name)
    return int(given)


def result(**values: Any) -> None:
    """Write the result of this run, for the scorer. It replaces an earlier result.

    Args:
        **values: Numbers, strings, lists and the like, by name.

    Raises:
        RuntimeError: There is no campaign.
    """
    folder = params().run_dir
    if folder is None:
        raise RuntimeError(f"result() needs a campaign, which sets {CONTEXT}")
    (Path(folder) / "result.json").write_text(json.dumps(values, indent=2, default=float), encoding="utf-8")


def export_db(
    db_path: str | Path,
    output: str | Path,
    *,
    format: str = "csv",
    flatten: bool = True,
    join: bool = True,
    mono_ns: bool = True,
    pattern: str | None = None,
    **without_effect: Any,
) -> Path:
    """Write the components of a recording to files, with the names and columns of `elodin-db export`.

    Components whose metadata has `private` are left out.

    Args:
        db_path: The folder of the recording.
        output: The folder for the files; it is made if it does not exist.
        format: `csv`, `parquet` or `arrow`.
        flatten: Whether each element has its own column, such as world_pos_x. In CSV files it always has.
        join: Whether there is one file per entity instead of one per component.
        mono_ns: Whether times are integers `time_ns` instead of dates `time`.
        pattern: Which components to export, such as "rocket.*"; by default all.
        **without_effect: csv_fast_floats, timeout and elodin_db, accepted without effect.

    Returns:
        The folder.

    Raises:
        BagError: The bag cannot be read, or is not of a world in Python.
        EcsError: The format is unknown.
        MissingExtra: Polars is not installed.
    """
    from sim_node.extensions.elodin.session.exec import flattened, write_frame
    from sim_node.extensions.elodin.session.recorded import open_recording

    output = Path(output)
    output.mkdir(parents=True, exist_ok=True)
    with open_recording(db_path) as recorded:
        tables, files = recorded.components, dict[str, list[str]]()
        for name in recorded.names:
            entity, _, component = name.rpartition(".")
            if not tables[component].private and (pattern is None or fnmatch(name, pattern)):
                files.setdefault(entity if join else name, []).append(name)

        def numbered(column: str, at: int) -> str:
            labels = tables[column.rpartition(".")[2]].labels
            return f"{column}_{labels[at] if labels else at}"

        for file, names in files.items():
            frame = recorded.history(names)
            if mono_ns:
                frame = frame.with_columns(time=frame["time"].to_physical() * 1000).rename({"time": "time_ns"})
            if flatten:
                frame = flattened(frame, numbered)
            if join:
                frame = frame.rename({column: column.removeprefix(f"{file}.") for column in frame.columns})
            write_frame(frame, file, output, format)
    return output
