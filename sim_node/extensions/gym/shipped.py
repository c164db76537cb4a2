"""The shipped environments: their files, and their ids in Gymnasium."""

from __future__ import annotations

from pathlib import Path

from sim_node.text import did_you_mean
from sim_node.world.locate import LocateError, package_path, share
from sim_node.world.problems import NOWHERE, Problem, WorldError, quoted_path, refuse

# Ids of the shipped environments by the names of their files.
SHIPPED = {"cart_pole": "sim_node/CartPole-v0", "hover": "sim_node/Hover-v0", "waypoints": "sim_node/Waypoints-v0"}
# The id for any spec: gymnasium.make("sim_node/Environment-v0", spec="my.yaml").
ANY = "sim_node/Environment-v0"
ENTRY_POINT = "sim_node.extensions.gym.environment:Environment"


def register() -> None:
    """Register the shipped environments with Gymnasium, without importing their dependencies."""
    import gymnasium

    for name, identifier in SHIPPED.items():
        if identifier not in gymnasium.registry:
            gymnasium.register(identifier, entry_point=ENTRY_POINT, kwargs={"spec": name})
    if ANY not in gymnasium.registry:
        gymnasium.register(ANY, entry_point=ENTRY_POINT)


def shipped_specs() -> dict[str, Path]:
    """Return the files of the shipped environments by name, sorted."""
    folder = share("sim_node")
    return (
        {} if folder is None else {each.stem: each for each in sorted((folder / "config/environments").glob("*.yaml"))}
    )


def find_spec(path: str | Path) -> Path:
    """Return the file of a path, a package:// URI or the name of a shipped environment. Raises WorldError."""
    text, shipped = str(path), shipped_specs()
    try:
        if text.startswith("package://"):
            file = package_path(text)
            if not file.is_file():
                raise LocateError(f"{quoted_path(text)} is not a file")
            return file
    except LocateError as error:
        raise WorldError([Problem(NOWHERE, "", str(error))]) from None
    file = Path(text).expanduser()
    if file.is_file():
        return file
    if text in shipped:
        return shipped[text]
    near = did_you_mean(text, shipped)
    message = (
        f"no environment {quoted_path(text)}{near} (a path, package://PACKAGE/PATH, or one of: {', '.join(shipped)})"
    )
    refuse("", message)
