"""Compile the kernels of sim_node before several processes would each do so at the same time."""

import importlib
from pathlib import Path

import sim_node

ROOT = Path(sim_node.__file__).parent


def main() -> None:
    """Import every module that defines kernels; those without a signature are compiled where they are first called."""
    for path in sorted(ROOT.rglob("*.py")):
        if "\n@kernel(" in path.read_text(encoding="utf-8"):
            importlib.import_module(".".join(("sim_node", *path.relative_to(ROOT).with_suffix("").parts)))


if __name__ == "__main__":
    main()
