"""Paired benchmarks; `make bench` runs them all."""

import faulthandler
import sys

# No benchmark takes longer than this, s: past it, its process says where it waited and ends.
LIMIT_S = 900.0
_words = sys.orig_argv
# What only imports it, as the tests of its parts do, is no benchmark.
if "-m" in _words and _words[_words.index("-m") + 1].partition(".")[0] == __name__:
    faulthandler.dump_traceback_later(LIMIT_S, exit=True)
