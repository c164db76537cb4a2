"""Makes the helpers beside the tests importable, and the bags of the recording room's."""

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1] / "recording")]
