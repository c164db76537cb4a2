"""The file with the parameters of a run, for scripts of campaigns that do not use the parameter API."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sim_node.extensions.sweep.plans import PlanRow, refuse


def _as_toml(value: Any) -> str:
    """Convert a JSON value to TOML. Raises ValueError for null, which TOML does not have."""
    if value is None:
        raise ValueError('is null, for which TOML has no word; deliver the parameters with format = "json"')
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_as_toml(name)} = {_as_toml(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_as_toml, value))}]"
    if isinstance(value, float):
        return repr(value)  # TOML also has nan and inf
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


# Serializers of the parameters of a run, by format.
DELIVERED: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "json": lambda params: json.dumps(params, indent=2),
    "toml": lambda params: "".join(f"{_as_toml(name)} = {_as_toml(value)}\n" for name, value in params.items()),
}


@dataclass(frozen=True)
class ParamsDelivery:
    """A file with the parameters of a run.

    In strings, {seed}, {run_id}, {db_path} and {run_dir} are replaced by those of the run.

    Attributes:
        file: Its path relative to the folder of the run.
        format: One of DELIVERED.
        env_var: The environment variable with its path, or None.
        env: Further environment variables.
    """

    file: str = "params.json"
    format: str = "json"
    env_var: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)

    def refuse_undeliverable(self, path: Path, rows: Sequence[PlanRow]) -> None:
        """Refuse parameters of a plan that the format cannot represent. Raises WorldError."""
        for row in rows:
            for name, value in row.params.items():
                try:
                    DELIVERED[self.format]({name: value})
                except ValueError as error:  # noqa: PERF203  each parameter on its own
                    refuse(path, row.line, f"param.{name}", str(error))

    def deliver(self, row: PlanRow, folder: Path, database: Path) -> dict[str, str]:
        """Write the parameters of a run to the file in its folder. Return the environment variables that name it."""
        own = {"seed": row.seed, "run_id": row.run_id, "db_path": database.resolve(), "run_dir": folder.resolve()}

        def filled(text: str) -> str:
            for name, value in own.items():
                text = text.replace(f"{{{name}}}", "" if value is None else str(value))
            return text

        path = folder.resolve() / filled(self.file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(DELIVERED[self.format](row.params), encoding="utf-8")
        named = {} if self.env_var is None else {self.env_var: str(path)}
        return {**named, **{name: filled(value) for name, value in self.env.items()}}
