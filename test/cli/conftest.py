"""Makes the bags of the recording room's tests importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "recording"))
