"""Paired benchmarks; `make bench` runs them all."""

import faulthandler

# No benchmark takes longer than this, s: past it, its process says where it waited and ends.
LIMIT_S = 900.0
faulthandler.dump_traceback_later(LIMIT_S, exit=True)
