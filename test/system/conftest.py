"""Makes the helpers beside the tests importable."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "autopilot"), str(HERE.parent / "recording"), str(HERE.parent / "viewing")]
