"""Programs that may fetch packages, as tests by themselves may not; and the site, which is made by some of them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def environment_of_pip() -> dict[str, str]:
    """This environment without what set-up and make need for the tests' own."""
    without = ("PIP_NO_INDEX", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in os.environ.items() if name not in without}


def make_docs() -> Path:
    """Make the site, with an environment for its generator if none is there yet, and return its folder."""
    made = subprocess.run(
        ["make", "docs"], cwd=ROOT, env=environment_of_pip(), capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stdout + made.stderr
    return ROOT / "build" / "site"
